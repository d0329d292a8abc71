#define _GNU_SOURCE
#include "unit/server.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/http.h"
#include "io/listing.h"
#include "io/split.h"

static const char *dir;

/* Makes dir/name and the folders above it. */
static void make(const char *name, const char *bytes)
{
	char path[600];
	int n = snprintf(path, sizeof path, "%s/", dir);
	for (const char *at = strchr(name, '/'); at != NULL; at = strchr(at + 1, '/')) {
		snprintf(path + n, sizeof path - (size_t)n, "%.*s", (int)(at - name), name);
		mkdir(path, 0755);
	}
	server_put(name, bytes, strlen(bytes), (off_t)strlen(bytes));
}

static void make_link(const char *to, const char *name)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	CU_ASSERT_EQUAL_FATAL(symlink(to, path), 0);
}

/* Path of a thing in the folder; some can be in use at once. */
static const char *in(const char *name)
{
	static char paths[8][600];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof paths[0], "%s/%s", dir, name);
	return path;
}

static int list(const char *const *sources, size_t n, const char *split, struct listing *out,
		struct error *err)
{
	struct listing_options options = { .split = split };
	return listing_make(sources, n, &options, out, err);
}

/* Whether a source is listed with exactly these names, one a line; what came instead is printed. */
static bool lists(const char *const *sources, size_t n, const char *split, const char *names)
{
	struct listing l = { 0 };
	struct error err = { 0 };
	char got[4000] = "";
	if (list(sources, n, split, &l, &err) != 0) {
		printf("# %s\n", err.text);
		return false;
	}
	for (size_t i = 0; i < l.n && strlen(got) + strlen(l.files[i].name) + 2 < sizeof got; i++)
		strcat(strcat(got, l.files[i].name), "\n");
	listing_free(&l);
	if (strcmp(got, names) == 0)
		return true;
	for (char *at = got; *at != '\0'; at++)
		*at = *at == '\n' ? '|' : *at;
	printf("# %s is listed as %s\n", sources[0], got);
	return false;
}

static bool lists_one(const char *source, const char *split, const char *names)
{
	return lists(&source, 1, split, names);
}

/* The errno of a source that cannot be listed, and whether its text holds a word. */
static int refuses(const char *source, const char *split, const char *word)
{
	struct listing l = { 0 };
	struct error err = { 0 };
	int r = list(&source, 1, split, &l, &err);
	if (r == 0)
		listing_free(&l);
	else if (strstr(err.text, word) == NULL)
		printf("# no %s in: %s\n", word, err.text);
	return r != 0 && strstr(err.text, word) == NULL ? 1 : r;
}

static void walks_a_folder(void)
{
	struct listing l;
	struct error err;
	struct stat st;
	const char *source = in("walk");
	make("walk/b.parquet", "PAR1");
	make("walk/b/c.parquet", "");
	make("walk/B.PARQUET", "12");
	make("walk/a/b/c/d/e.parquet", "");
	make("walk/\xff\xfe.parquet", "");
	make("walk/two words.parquet", "");
	make("walk/_skipped.parquet", "");
	make("walk/.skipped.parquet", "");
	make("walk/_also/x.parquet", "");
	make("walk/.git/x.parquet", "");
	make("walk/README.md", "");
	make("walk/x.parquet.tmp", "");
	make("walk/.parquet", "");
	CU_ASSERT(lists_one(source, NULL, "B.PARQUET\na/b/c/d/e.parquet\nb.parquet\nb/c.parquet\n"
					  "two words.parquet\n\xff\xfe.parquet\n"));
	CU_ASSERT_EQUAL_FATAL(list(&source, 1, NULL, &l, &err), 0);
	CU_ASSERT_STRING_EQUAL(l.files[2].where, in("walk/b.parquet"));
	CU_ASSERT_EQUAL(l.files[2].kind, KIND_PARQUET);
	CU_ASSERT(!l.files[2].remote);
	CU_ASSERT_EQUAL(stat(l.files[2].where, &st), 0);
	CU_ASSERT_EQUAL(l.files[2].size, 4);
	CU_ASSERT_EQUAL(l.files[2].inode, st.st_ino);
	CU_ASSERT_EQUAL(l.files[2].device, st.st_dev);
	CU_ASSERT_EQUAL(l.files[2].mtime_ns, (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	listing_free(&l);
}

static void is_the_same_however_it_is_named(void)
{
	struct listing l;
	struct error err;
	const char *ways[] = { "walk", "./walk/", "walk//.", ".//walk/./", "walk/b/.." };
	char *old = getcwd(NULL, 0);
	CU_ASSERT_EQUAL_FATAL(chdir(dir), 0);
	for (size_t i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL_FATAL(list(&ways[i], 1, NULL, &l, &err), 0);
		CU_ASSERT_EQUAL(l.n, 6);
		CU_ASSERT_STRING_EQUAL(l.files[0].name, "B.PARQUET");
		CU_ASSERT_STRING_EQUAL(l.files[0].where,
				       in(i < 4 ? "walk/B.PARQUET" : "walk/b/../B.PARQUET"));
		listing_free(&l);
	}
	CU_ASSERT_EQUAL_FATAL(chdir("walk/b"), 0);
	CU_ASSERT(lists_one(".", NULL, "c.parquet\n"));
	CU_ASSERT(lists_one("c.parquet", NULL, "c.parquet\n"));
	CU_ASSERT(lists_one("*.parquet", NULL, "c.parquet\n"));
	CU_ASSERT(lists_one("../b.parquet", NULL, "b.parquet\n"));
	CU_ASSERT_EQUAL(chdir(old), 0);
	free(old);
}

static void takes_one_kind_of_a_folder(void)
{
	make("kinds/dataset.json", "{}");
	make("kinds/dataset_info.json", "{}");
	make("kinds/dataset_infos.json", "{}");
	make("kinds/config.json", "{}");
	make("kinds/tokenizer.json", "{}");
	make("kinds/tokenizer_config.json", "{}");
	make("kinds/list.txt", "x");
	CU_ASSERT_EQUAL(refuses(in("kinds"), NULL, ".parquet"), -ENOENT);
	make("kinds/rows.json", "{}");
	CU_ASSERT(lists_one(in("kinds"), NULL, "rows.json\n"));
	make("kinds/a.bin", "");
	make("kinds/b.npy", "");
	CU_ASSERT(lists_one(in("kinds"), NULL, "a.bin\nb.npy\n"));
	make("kinds/c.jsonl", "");
	make("kinds/d.ndjson", "");
	make("kinds/e.json.gz", "");
	make("kinds/f.json.zst", "");
	make("kinds/g.JSONL.GZ", "");
	make("kinds/h.ndjson.zst", "");
	make("kinds/i.gz", "");
	CU_ASSERT(lists_one(in("kinds"), NULL,
			    "c.jsonl\nd.ndjson\ne.json.gz\nf.json.zst\ng.JSONL.GZ\nh.ndjson.zst\n"));
	CU_ASSERT(lists_one(in("kinds/*"), NULL,
			    "c.jsonl\nd.ndjson\ne.json.gz\nf.json.zst\ng.JSONL.GZ\nh.ndjson.zst\n"));
	CU_ASSERT(lists_one(in("kinds/*.json"), NULL, "rows.json\n"));
	CU_ASSERT(lists_one(in("kinds/*.[bn][ip][ny]"), NULL, "a.bin\nb.npy\n"));
	make("kinds/sub/j.parquet", "");
	CU_ASSERT(lists_one(in("kinds"), NULL, "sub/j.parquet\n"));
}

static void tells_a_named_file_by_its_magic(void)
{
	static const struct {
		const char *name, *bytes;
		size_t n;
		int kind; /* or an errno, negative */
	} table[] = {
		{ "magic/parquet", "PAR1", 4, KIND_PARQUET },
		{ "magic/encrypted", "PARE", 4, KIND_PARQUET },
		{ "magic/array.data", "\x93NUMPY\1\0", 8, KIND_TOKENS_NPY },
		{ "magic/gpt2", "\x88\xd8\x34\x01\1\0\0\0", 8, KIND_TOKENS_BIN },
		{ "magic/llama", "\xa1\xd9\x34\x01\7\0\0\0", 8, KIND_TOKENS_BIN },
		{ "magic/lines.gz", "\x1f\x8b\x08", 3, KIND_JSONL_GZ },
		{ "magic/lines.zst", "\x28\xb5\x2f\xfd", 4, KIND_JSONL_ZST },
		{ "magic/lines", "{\"text\":1}", 10, KIND_JSONL },
		{ "magic/bom", "\xef\xbb\xbf{", 4, KIND_JSONL },
		{ "magic/text", "Once upon", 9, -ENOTSUP },
		{ "magic/nothing", "", 0, -ENOTSUP },
		{ "magic/dataset.json", "{}", 2, -ENOTSUP },
		{ "magic/config.json", "{}", 2, KIND_JSONL },
		{ "magic/_val_1.BIN", "", 0, KIND_TOKENS_BIN },
	};
	make("magic/x", "");
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct listing l = { 0 };
		struct error err;
		const char *path = in(table[i].name);
		server_put(table[i].name, table[i].bytes, table[i].n, (off_t)table[i].n);
		int r = list(&path, 1, NULL, &l, &err);
		CU_ASSERT_EQUAL(r == 0 ? (int)l.files[0].kind : r, table[i].kind);
		if (r == 0)
			CU_ASSERT_STRING_EQUAL(l.files[0].name, strchr(table[i].name, '/') + 1);
		listing_free(&l);
	}
}

/* What the patterns of datasets 4's data_files.py match, as fsspec's glob says. */
static void knows_words_of_splits(void)
{
	static const struct {
		const char *path;
		unsigned file, folders;
	} table[] = {
		{ "fineweb_train_000000.bin", SPLIT_TRAIN, 0 },
		{ "train.bin", SPLIT_TRAIN, 0 },
		{ "trains.bin", 0, 0 },
		{ "atrain.bin", 0, 0 },
		{ "pre-train.bin", SPLIT_TRAIN, 0 },
		{ "train2.bin", SPLIT_TRAIN, 0 },
		{ "2train.bin", SPLIT_TRAIN, 0 },
		{ "Train.bin", 0, 0 },
		{ "x_training.y.bin", SPLIT_TRAIN, 0 },
		{ "validate.bin", 0, 0 },
		{ "valid.bin", SPLIT_VALIDATION, 0 },
		{ "val-1.bin", SPLIT_VALIDATION, 0 },
		{ "dev.bin", SPLIT_VALIDATION, 0 },
		{ "developer.bin", 0, 0 },
		{ "my eval.bin", SPLIT_TEST, 0 },
		{ "evaluation_1.bin", SPLIT_TEST, 0 },
		{ "testing.bin", SPLIT_TEST, 0 },
		{ "latest.bin", 0, 0 },
		{ "train+test.bin", 0, 0 },
		{ "train_test.bin", SPLIT_TRAIN | SPLIT_TEST, 0 },
		{ "x+train.bin", 0, 0 },
		{ "a.train.b.bin", SPLIT_TRAIN, 0 },
		{ "000_00000.bin", 0, 0 },
		{ "(train).bin", 0, 0 },
		{ "train/x.bin", 0, SPLIT_TRAIN },
		{ "a/train-1/b/x.bin", 0, SPLIT_TRAIN },
		{ "my_train/x.bin", 0, SPLIT_TRAIN },
		{ "mytrain/x.bin", 0, 0 },
		{ "train/test.bin", SPLIT_TEST, SPLIT_TRAIN },
		{ "x.test/val.bin", SPLIT_VALIDATION, SPLIT_TEST },
		{ "2024train7/x.bin", 0, SPLIT_TRAIN },
		{ "a b train/x.bin", 0, SPLIT_TRAIN },
		{ "CC-MAIN-2013-20/x.bin", 0, 0 },
		{ "data/x.bin", 0, 0 },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		CU_ASSERT_EQUAL(split_of_file(table[i].path), table[i].file);
		CU_ASSERT_EQUAL(split_of_folders(table[i].path), table[i].folders);
	}
}

static void takes_one_split(void)
{
	make("split/fineweb_train_000000.bin", "");
	make("split/fineweb_train_000001.bin", "");
	make("split/fineweb_val_000000.bin", "");
	make("split/other.bin", "");
	CU_ASSERT(lists_one(in("split"), NULL, "fineweb_train_000000.bin\nfineweb_train_000001.bin\n"));
	CU_ASSERT(lists_one(in("split"), "train", "fineweb_train_000000.bin\nfineweb_train_000001.bin\n"));
	CU_ASSERT(lists_one(in("split"), "validation", "fineweb_val_000000.bin\n"));
	CU_ASSERT(lists_one(in("split/*.bin"), "dev", "fineweb_val_000000.bin\n"));
	CU_ASSERT_EQUAL(refuses(in("split"), "test", "train, validation"), -ENOENT);
	CU_ASSERT_EQUAL(refuses(in("split"), "nonsense", "nonsense"), -ENOENT);
	/* Without any word all of it is train; the words of the path to it are not looked at. */
	CU_ASSERT(lists_one(in("split/fineweb_val_*.bin"), "val", "fineweb_val_000000.bin\n"));
	make("train/raw/b.bin", "");
	CU_ASSERT(lists_one(in("train/raw"), NULL, "b.bin\n"));
	CU_ASSERT_EQUAL(refuses(in("train/raw"), "validation", "split=validation"), -ENOENT);
	/* A named file is taken whatever it is called. */
	CU_ASSERT(lists_one(in("split/fineweb_val_000000.bin"), NULL, "fineweb_val_000000.bin\n"));
	/* Folders that carry words leave nothing to file names. */
	make("folders/train/a.parquet", "");
	make("folders/train/b_test.parquet", "");
	make("folders/test/c_train.parquet", "");
	make("folders/d_train.parquet", "");
	CU_ASSERT(lists_one(in("folders"), NULL, "train/a.parquet\ntrain/b_test.parquet\n"));
	CU_ASSERT(lists_one(in("folders"), "test", "test/c_train.parquet\n"));
	/* Each source is looked at on its own. */
	const char *two[] = { in("train/raw"), in("split") };
	CU_ASSERT(lists(two, 2, NULL, "split/fineweb_train_000000.bin\nsplit/fineweb_train_000001.bin\n"
				      "train/raw/b.bin\n"));
}

static void matches_globs(void)
{
	make("glob/a1/x.bin", "");
	make("glob/a2/x.bin", "");
	make("glob/a2/y.npy", "");
	make("glob/b/x.bin", "");
	make("glob/[x].bin", "");
	CU_ASSERT(lists_one(in("glob/a*/*.bin"), NULL, "a1/x.bin\na2/x.bin\n"));
	CU_ASSERT(lists_one(in("glob/a*"), NULL, "a1/x.bin\na2/x.bin\na2/y.npy\n"));
	CU_ASSERT(lists_one(in("glob/?2/x.bin"), NULL, "a2/x.bin\n"));
	CU_ASSERT(lists_one(in("glob/[ab]/x.bin"), NULL, "b/x.bin\n"));
	/* What is there under just this name is no pattern. */
	CU_ASSERT(lists_one(in("glob/[x].bin"), NULL, "[x].bin\n"));
	CU_ASSERT_EQUAL(refuses(in("glob/c*"), NULL, "c*"), -ENOENT);
	CU_ASSERT_EQUAL(refuses(in("kinds/*.txt"), NULL, "*.txt"), -ENOENT);
}

static void reads_lists(void)
{
	char text[2000];
	make("lists/a/1.bin", "");
	make("lists/a/2_val.bin", "");
	make("lists/b c.bin", "");
	make("lists/lines", "{}");
	snprintf(text, sizeof text,
		 "\xef\xbb\xbf# files\r\n\r\n  a/2_val.bin \r\nb c.bin\n%s\n./a/1.bin\nlines",
		 in("lists/a/1.bin"));
	make("lists/list.TXT", text);
	CU_ASSERT(lists_one(in("lists/list.TXT"), NULL, "a/1.bin\na/2_val.bin\nb c.bin\nlines\n"));
	make("lists/folder.txt", "a\n");
	CU_ASSERT(lists_one(in("lists/folder.txt"), "val", "2_val.bin\n"));
	make("lists/glob.txt", "*.bin\na/1*\n");
	CU_ASSERT(lists_one(in("lists/glob.txt"), NULL, "a/1.bin\nb c.bin\n"));
	make("lists/gone.txt", "a/1.bin\na/3.bin\n");
	CU_ASSERT_EQUAL(refuses(in("lists/gone.txt"), NULL, "gone.txt: "), -ENOENT);
	CU_ASSERT_EQUAL(refuses(in("lists/gone.txt"), NULL, "a/3.bin"), -ENOENT);
	make("lists/itself.txt", "itself.txt\n");
	CU_ASSERT_EQUAL(refuses(in("lists/itself.txt"), NULL, "list"), -ENOTSUP);
	make("lists/empty.txt", "\n# nothing\n");
	CU_ASSERT_EQUAL(refuses(in("lists/empty.txt"), NULL, "empty.txt"), -ENOENT);
	server_put("lists/zero.txt", "a/1.bin\n", 8, 9);
	CU_ASSERT_EQUAL(refuses(in("lists/zero.txt"), NULL, "zero"), -EINVAL);
	make("lists/scheme.txt", "hf://datasets/x\n");
	CU_ASSERT_EQUAL(refuses(in("lists/scheme.txt"), NULL, "hf"), -EINVAL);
	make("lists/url.txt", "http://127.0.0.1/x.bin\n");
	CU_ASSERT_EQUAL(refuses(in("lists/url.txt"), NULL, "http"), -ENOTSUP);
}

static void joins_sources(void)
{
	const char *two[] = { in("glob/b"), in("lists/a/1.bin") };
	const char *same[] = { in("glob"), in("glob/a1"), in("glob/a1/x.bin"), in("glob/a2/../a1") };
	const char *bad[] = { in("glob"), in("nothing") };
	struct listing l;
	struct error err;
	CU_ASSERT(lists(two, 2, NULL, "glob/b/x.bin\nlists/a/1.bin\n"));
	CU_ASSERT(lists(same, 3, NULL, "[x].bin\na1/x.bin\na2/x.bin\na2/y.npy\nb/x.bin\n"));
	CU_ASSERT_EQUAL(list(bad, 2, NULL, &l, &err), -ENOENT);
	CU_ASSERT(strstr(err.text, "nothing") != NULL);
	CU_ASSERT_EQUAL(list(bad, 0, NULL, &l, &err), -ENOENT);
}

static void follows_links(void)
{
	make("links/real/a.bin", "abc");
	make("links/tree/b.bin", "");
	make_link("../real/a.bin", "links/tree/c.bin");
	make_link("../real", "links/tree/d");
	make_link("..", "links/real/up");
	make_link(".", "links/tree/self");
	make_link("nowhere", "links/tree/readme");
	CU_ASSERT(lists_one(in("links/tree"), NULL, "b.bin\nc.bin\nd/a.bin\n"));
	make_link("nowhere", "links/tree/e.bin");
	CU_ASSERT_EQUAL(refuses(in("links/tree"), NULL, "e.bin"), -ENOENT);
	make_link("loop", "links/loop");
	CU_ASSERT_EQUAL(refuses(in("links/loop"), NULL, "loop"), -ENOENT);
	make("pipes/a.bin", "");
	CU_ASSERT_EQUAL(mkfifo(in("pipes/b.bin"), 0644), 0);
	CU_ASSERT_EQUAL(refuses(in("pipes"), NULL, "b.bin"), -ENOTSUP);
	CU_ASSERT_EQUAL(refuses(in("pipes/b.bin"), NULL, "b.bin"), -ENOTSUP);
}

static void keeps_its_bounds(void)
{
	const char *source = in("glob");
	struct listing l;
	struct error err;
	struct listing_options options = { .limit = 4 };
	char name[600] = "deep";
	CU_ASSERT_EQUAL(listing_make(&source, 1, &options, &l, &err), -ENOTSUP);
	options.limit = 5;
	CU_ASSERT_EQUAL_FATAL(listing_make(&source, 1, &options, &l, &err), 0);
	CU_ASSERT_EQUAL(l.n, 5);
	listing_free(&l);
	for (int i = 0; i < 70; i++)
		strcat(name, "/d");
	strcat(name, "/x.bin");
	make(name, "");
	CU_ASSERT_EQUAL(refuses(in("deep"), NULL, "deep"), -ENOTSUP);
}

static void says_what_is_wrong(void)
{
	make("hollow/sub/readme", "");
	make("closed/a.bin", "");
	CU_ASSERT_EQUAL(refuses(in("nothing"), NULL, "nothing"), -ENOENT);
	CU_ASSERT_EQUAL(refuses(in("walk/b.parquet/x"), NULL, "x"), -ENOENT);
	CU_ASSERT_EQUAL(refuses(in("hollow"), NULL, "hollow"), -ENOENT);
	CU_ASSERT_EQUAL(refuses("", NULL, "empty"), -ENOENT);
	CU_ASSERT_EQUAL(refuses("gs://x/y", NULL, "gs"), -EINVAL);
	CU_ASSERT_EQUAL(refuses("s3://secret@x/y", NULL, "s3"), -EINVAL);
	CU_ASSERT_EQUAL(refuses("http://h/x.bin", NULL, "http"), -ENOTSUP);
	if (geteuid() != 0) {
		CU_ASSERT_EQUAL(chmod(in("closed"), 0), 0);
		CU_ASSERT_EQUAL(refuses(in("closed"), NULL, "closed"), -EACCES);
		CU_ASSERT_EQUAL(chmod(in("closed"), 0755), 0);
	}
}

/* The sources of expected/batches.json and their files, which name paths of the shared data. */
static void lists_the_test_data(void)
{
	static const struct {
		const char *sources[2];
		const char *files[6];
	} table[] = {
		{ { "example" },
		  { "example/0.parquet", "example/1.parquet", "example/2.parquet", "example/3.parquet" } },
		{ { "sample/10BT" },
		  { "sample/10BT/000_00000.parquet", "sample/10BT/000_00001.parquet",
		    "sample/10BT/000_00002.parquet", "sample/10BT/000_00003.parquet" } },
		{ { "jsonl/plain" },
		  { "jsonl/plain/000_00000.jsonl", "jsonl/plain/000_00001.jsonl",
		    "jsonl/plain/000_00002.jsonl", "jsonl/plain/000_00003.jsonl" } },
		{ { "tokens/llmc" }, { "tokens/llmc/fineweb_train_000001.bin" } },
		{ { "tokens/nanogpt" }, { "tokens/nanogpt/train.bin" } },
		{ { "shuffle" }, { "shuffle/shard_00000.parquet", "shuffle/shard_00001.parquet" } },
		{ { "edu", "multilingual" }, { "edu/000_00000.parquet", "multilingual/000_00000.parquet" } },
		{ { "redpajama2" }, { "redpajama2/en_middle.jsonl" } },
		{ { "sample/10BT", "data/CC-MAIN-2013-20" },
		  { "data/CC-MAIN-2013-20/train-00000-of-00001.parquet", "sample/10BT/000_00000.parquet",
		    "sample/10BT/000_00001.parquet", "sample/10BT/000_00002.parquet",
		    "sample/10BT/000_00003.parquet" } },
		{ { "split" }, { "split/fineweb_train_000000.bin", "split/fineweb_train_000001.bin" } },
		{ { "bad/good.parquet", "bad/page_damaged.parquet" },
		  { "bad/good.parquet", "bad/page_damaged.parquet" } },
		{ { "bad/id_out_of_range.bin" }, { "bad/id_out_of_range.bin" } },
		{ { "bad/line_3.jsonl", "jsonl/plain" },
		  { "bad/line_3.jsonl", "jsonl/plain/000_00000.jsonl", "jsonl/plain/000_00001.jsonl",
		    "jsonl/plain/000_00002.jsonl", "jsonl/plain/000_00003.jsonl" } },
	};
	unsigned compared = 0;
	for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
		char paths[2][4096];
		const char *sources[2] = { paths[0], paths[1] };
		struct listing l = { 0 };
		struct error err = { 0 };
		size_t n = 0;
		for (; n < 2 && table[t].sources[n] != NULL; n++) {
			const char *path = unit_data(table[t].sources[n]);
			if (path == NULL)
				break;
			strcpy(paths[n], path);
		}
		if (n < 2 && table[t].sources[n] != NULL)
			continue;
		CU_ASSERT_EQUAL_FATAL(list(sources, n, NULL, &l, &err), 0);
		size_t i = 0;
		for (; i < l.n && i < 6 && table[t].files[i] != NULL; i++) {
			size_t tail = strlen(table[t].files[i]), all = strlen(l.files[i].where);
			CU_ASSERT(all > tail && l.files[i].where[all - tail - 1] == '/');
			CU_ASSERT_STRING_EQUAL(l.files[i].where + all - tail, table[t].files[i]);
			tail = strlen(l.files[i].name);
			CU_ASSERT_STRING_EQUAL(l.files[i].where + all - tail, l.files[i].name);
		}
		CU_ASSERT_EQUAL(i, l.n);
		CU_ASSERT(i == 6 || table[t].files[i] == NULL);
		listing_free(&l);
		compared++;
	}
	if (compared == 0)
		unit_skip("the shared test data is not there");
}

static int list_remote(struct http *h, const char *source, struct listing *l, struct error *err)
{
	struct listing_options options = { .http = h, .patience_s = 1 };
	return listing_make(&source, 1, &options, l, err);
}

static void lists_urls(void)
{
	struct http_options options = { 0 };
	struct http *h = NULL;
	struct http_counters c;
	struct listing l = { 0 };
	struct error err = { 0 };
	char text[1000];
	if (!server_start_faults()) {
		unit_skip("no python3, which runs the server");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(http_new(&options, &h, NULL), 0);
	/* An ending says enough: nothing is asked, and the name has no secrets. */
	CU_ASSERT_EQUAL_FATAL(list_remote(h, "http://a:b@127.0.0.1:1/d/x.Parquet?sig=1", &l, &err), 0);
	CU_ASSERT_EQUAL(l.n, 1);
	CU_ASSERT(l.files[0].remote);
	CU_ASSERT_EQUAL(l.files[0].kind, KIND_PARQUET);
	CU_ASSERT_EQUAL(l.files[0].size, 0);
	CU_ASSERT_STRING_EQUAL(l.files[0].name, "x.Parquet");
	CU_ASSERT_STRING_EQUAL(l.files[0].where, "http://a:b@127.0.0.1:1/d/x.Parquet?sig=1");
	listing_free(&l);
	http_counters(h, &c);
	CU_ASSERT_EQUAL(c.requests, 0);
	CU_ASSERT_EQUAL_FATAL(list_remote(h, server_url("", "magic/parquet"), &l, &err), 0);
	CU_ASSERT_EQUAL(l.files[0].kind, KIND_PARQUET);
	listing_free(&l);
	CU_ASSERT_EQUAL(list_remote(h, server_url("", "magic/text"), &l, &err), -ENOTSUP);
	CU_ASSERT_EQUAL(list_remote(h, server_url("", "magic/gone"), &l, &err), -ENOENT);
	/* A list on a server: its lines are URLs, whatever they look like. */
	snprintf(text, sizeof text, "a/1.bin\n/lists/b c.bin\nhttp://127.0.0.1:1/z.npy\n");
	make("lists/remote.txt", text);
	CU_ASSERT_EQUAL_FATAL(list_remote(h, server_url("", "lists/remote.txt"), &l, &err), 0);
	CU_ASSERT_EQUAL_FATAL(l.n, 3);
	CU_ASSERT_STRING_EQUAL(l.files[0].where, "http://127.0.0.1:1/z.npy");
	CU_ASSERT_STRING_EQUAL(l.files[1].where, server_url("", "lists/a/1.bin"));
	CU_ASSERT_STRING_EQUAL(l.files[2].where, server_url("", "lists/b%20c.bin"));
	CU_ASSERT(l.files[1].remote && strcmp(l.files[0].name, "127.0.0.1:1/z.npy") == 0);
	listing_free(&l);
	CU_ASSERT_EQUAL_FATAL(list_remote(h, server_url("~status;code=503;first=1", "lists/remote.txt"), &l, &err), 0);
	CU_ASSERT_EQUAL(l.n, 3);
	listing_free(&l);
	make("lists/local.txt", "file:///etc/passwd\n");
	CU_ASSERT_EQUAL(list_remote(h, server_url("", "lists/local.txt"), &l, &err), -EINVAL);
	CU_ASSERT_EQUAL(list_remote(h, server_url("~status;code=503", "lists/remote.txt"), &l, &err), -EIO);
	CU_ASSERT(err.again);
	/* A list on disk may name both. */
	snprintf(text, sizeof text, "a/1.bin\n%s\n", server_url("", "lists/a/1.bin"));
	make("lists/both.txt", text);
	CU_ASSERT_EQUAL_FATAL(list_remote(h, in("lists/both.txt"), &l, &err), 0);
	CU_ASSERT_EQUAL(l.n, 2);
	CU_ASSERT(!l.files[0].remote && l.files[1].remote);
	CU_ASSERT_STRING_EQUAL(l.files[1].name, server_url("", "lists/a/1.bin"));
	listing_free(&l);
	http_free(h);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "walks a folder in order of names", walks_a_folder },
		{ "lists a folder the same however it is named", is_the_same_however_it_is_named },
		{ "takes one kind of file of a folder", takes_one_kind_of_a_folder },
		{ "tells a named file by ending or magic", tells_a_named_file_by_its_magic },
		{ "knows the words of splits as datasets does", knows_words_of_splits },
		{ "takes the files of one split", takes_one_split },
		{ "matches globs", matches_globs },
		{ "reads lists of paths", reads_lists },
		{ "makes several sources one list", joins_sources },
		{ "follows links, but not in circles", follows_links },
		{ "keeps its bounds", keeps_its_bounds },
		{ "says what is wrong with a source", says_what_is_wrong },
		{ "lists the test data as expected", lists_the_test_data },
		{ "lists URLs and lists on servers", lists_urls },
		CU_TEST_INFO_NULL,
	};
	dir = server_folder();
	int r = unit_main("listing", tests);
	server_end();
	return r;
}
