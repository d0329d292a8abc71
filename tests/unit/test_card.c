#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/card.h"
#include "io/pattern.h"
#include "io/split.h"

/* The card of a data set like FineWeb-Edu, with each form of data_files. */
static const char card[] = "---\n"
			   "license: odc-by\n"
			   "size_categories:\n- n>1T\n"
			   "dataset_info:\n  features: [{name: text, dtype: string}]\n"
			   "configs:\n"
			   "- config_name: default\n"
			   "  features:\n  - name: text\n    dtype: string\n"
			   "  data_files:\n  - split: train\n    path: data/*/*\n"
			   "- config_name: sample-10BT\n"
			   "  data_files:\n    - split: train\n      path: ./sample/10BT/*\n"
			   "- config_name: \"CC-MAIN-2024-10\"\n"
			   "  data_files:\n  - {split: train, path: [data/CC-MAIN-2024-10/*, 'more/**/x.parquet']}\n"
			   "  - {split: test, path: test.parquet}\n"
			   "- config_name: text\n  data_files: a.jsonl # one\n"
			   "- config_name: list\n  data_files: &l\n  - a/*.parquet\n  - b/*.parquet\n"
			   "- config_name: again\n  data_files: *l\n"
			   "- config_name: mapping\n  data_files: {train: x/*, test: [y/*, z/*]}\n"
			   "- config_name: folder\n  data_dir: some/where/\n"
			   "- config_name: both\n  data_dir: some\n  data_files: '*.parquet'\n"
			   "- config_name: nothing\n  data_files: ~\n"
			   "- config_name: 2024\n  data_files: numbers/*\n"
			   "- config_name: away\n  data_files: https://example.com/x.parquet\n"
			   "- config_name: up\n  data_files: a/../../b.parquet\n"
			   "- config_name: zip\n  data_files: zip://a.jsonl::b.zip\n"
			   "- config_name: twice\n  data_files: one\n  data_files: two\n"
			   "---\n# A data set\n---\nconfigs: no\n";

/* The patterns of a choice, one a line; "-errno" for an error whose text has `word`. */
static const char *chosen(const char *text, const char *name, const char *split, const char *word)
{
	static char out[ERROR_TEXT];
	struct card_files f;
	struct error err = { 0 };
	int r = card_choose(span_text(text), name, split, &f, &err);
	out[0] = '\0';
	if (r != 0) {
		snprintf(out, sizeof out, "%s", strstr(err.text, word) != NULL ? errno_name(-r) : err.text);
		return out;
	}
	if (!f.configured)
		return "none";
	for (size_t i = 0; i < f.n; i++)
		strcat(strcat(out, f.patterns[i]), "\n");
	if (f.n == 0)
		snprintf(out, sizeof out, "all of '%s'", f.data_dir);
	card_free(&f);
	return out;
}

static void chooses_files(void)
{
	static const struct {
		const char *name, *split, *patterns;
	} table[] = {
		{ NULL, "train", "data/*/*\n" },
		{ "default", "train", "data/*/*\n" },
		{ "sample-10BT", "train", "sample/10BT/*\n" },
		{ "CC-MAIN-2024-10", "train", "data/CC-MAIN-2024-10/*\nmore/**/x.parquet\n" },
		{ "CC-MAIN-2024-10", "test", "test.parquet\n" },
		{ "text", "train", "a.jsonl\n" },
		{ "list", "train", "a/*.parquet\nb/*.parquet\n" },
		{ "again", "train", "a/*.parquet\nb/*.parquet\n" },
		{ "mapping", "train", "x/*\n" },
		{ "mapping", "test", "y/*\nz/*\n" },
		{ "folder", "train", "all of 'some/where'" },
		{ "folder", "test", "all of 'some/where'" },
		{ "both", "train", "some/*.parquet\n" },
		{ "nothing", "train", "all of ''" },
		{ "2024", "train", "numbers/*\n" },
		{ "twice", "train", "two\n" },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		CU_ASSERT_STRING_EQUAL(chosen(card, table[i].name, table[i].split, ""), table[i].patterns);
}

static void says_what_there_is(void)
{
	CU_ASSERT_STRING_EQUAL(chosen(card, "sample-1BT", "train", "default, sample-10BT, CC-MAIN-2024-10"), "ENOENT");
	CU_ASSERT_STRING_EQUAL(chosen(card, "CC-MAIN-2024-10", "validation", "train, test"), "ENOENT");
	CU_ASSERT_STRING_EQUAL(chosen(card, "text", "test", "train"), "ENOENT");
	CU_ASSERT_STRING_EQUAL(chosen(card, "away", "train", "example.com"), "ENOTSUP");
	CU_ASSERT_STRING_EQUAL(chosen(card, "up", "train", "a/../"), "ENOTSUP");
	CU_ASSERT_STRING_EQUAL(chosen(card, "zip", "train", "zip:"), "ENOTSUP");
}

static void finds_the_default(void)
{
	const char *one = "---\nconfigs:\n- config_name: en\n  data_files: en/*\n---\n";
	const char *two = "---\nconfigs:\n- config_name: en\n  data_files: en/*\n- config_name: de\n  data_files: de/*\n---\n";
	const char *marked = "\xef\xbb\xbf---\r\nconfigs:\r\n- config_name: en\r\n  data_files: en/*\r\n"
			     "- config_name: de\r\n  default: true\r\n  data_files: de/*\r\n---\r\n";
	const char *both = "---\nconfigs:\n- config_name: en\n  default: true\n- config_name: default\n---";
	CU_ASSERT_STRING_EQUAL(chosen(one, NULL, "train", ""), "en/*\n");
	CU_ASSERT_STRING_EQUAL(chosen(two, NULL, "train", "en, de"), "ENOENT");
	CU_ASSERT_STRING_EQUAL(chosen(marked, NULL, "train", ""), "de/*\n");
	CU_ASSERT_STRING_EQUAL(chosen(both, NULL, "train", "default"), "EBADMSG");
	CU_ASSERT_STRING_EQUAL(chosen("", NULL, "train", ""), "none");
	CU_ASSERT_STRING_EQUAL(chosen("# no front matter\n---\nconfigs: x\n---\n", NULL, "train", ""), "none");
	CU_ASSERT_STRING_EQUAL(chosen("---\nlicense: mit\n---\n", NULL, "train", ""), "none");
	CU_ASSERT_STRING_EQUAL(chosen("---\nlicense: mit\n", NULL, "train", ""), "none");
	CU_ASSERT_STRING_EQUAL(chosen("---\nconfigs:\n---\n", NULL, "train", ""), "none");
	CU_ASSERT_STRING_EQUAL(chosen("---\nconfigs: []\n---\n", NULL, "train", ""), "none");
	CU_ASSERT_STRING_EQUAL(chosen("---\n---\n", NULL, "train", ""), "none");
}

static void refuses_what_is_no_card(void)
{
	static const char *const bad[] = {
		"---\nconfigs: {a: b}\n---\n",
		"---\nconfigs: text\n---\n",
		"---\nconfigs:\n- data_files: x\n---\n",
		"---\nconfigs:\n- config_name: [a]\n---\n",
		"---\nconfigs:\n- just text\n---\n",
		"---\nconfigs:\n- config_name: a\n  data_files: [{split: train}]\n---\n",
		"---\nconfigs:\n- config_name: a\n  data_files: [{split: train, path: {a: b}}]\n---\n",
		"---\nconfigs:\n- config_name: a\n  data_files: ['']\n---\n",
		"---\nconfigs:\n- config_name: \"a\\0b\"\n---\n",
		"---\na: [b\n---\n",
		"---\na: *none\n---\n",
		"---\n\tx: y\n---\n",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *r = chosen(bad[i], NULL, "train", "card");
		CU_ASSERT_STRING_EQUAL(r, "EBADMSG");
		if (strcmp(r, "EBADMSG") != 0)
			printf("# %zu: %s\n", i, r);
	}
}

static void matches_as_fsspec_does(void)
{
	const char *path = unit_data("patterns.tsv");
	if (path == NULL) {
		unit_skip("no patterns.tsv");
		return;
	}
	char line[1000], pattern[400], name[400];
	unsigned n = 0, wrong = 0;
	int want;
	FILE *f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (fgets(line, sizeof line, f) != NULL)
		if (line[0] != '#' && sscanf(line, "%399[^\t]\t%399[^\t]\t%d", pattern, name, &want) == 3) {
			n++;
			wrong += pattern_matches(pattern, name) != (want == 1);
		}
	fclose(f);
	CU_ASSERT(n > 300);
	CU_ASSERT_EQUAL(wrong, 0);
}

static void finds_folders(void)
{
	static const struct {
		const char *pattern, *folder;
	} table[] = {
		{ "a/b/*", "a/b" }, { "a/b?/c", "a" }, { "*", "" }, { "a*", "" }, { "a/[b]/c", "a" }, { "/x*", "" },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		CU_ASSERT(span_is(span_of(table[i].pattern, pattern_folder(table[i].pattern)), table[i].folder));
	CU_ASSERT(pattern_is("a/*") && pattern_is("?") && pattern_is("[") && !pattern_is("a/b.c"));
}

static void takes_shards_apart(void)
{
	static const struct {
		const char *path, *split;
	} table[] = {
		{ "data/train-00000-of-00001.parquet", "train" },
		{ "data/train_sft-00012-of-00013-0123456789abcdef.parquet", "train_sft" },
		{ "data/a-00000-of-00001-00000-of-00001.parquet", "a-00000-of-00001" },
		{ "data/-00000-of-00001.parquet", NULL },
		{ "data/train-0000-of-00001.parquet", NULL },
		{ "data/train-00000-of-00001", NULL },
		{ "data/x/train-00000-of-00001.parquet", NULL },
		{ "train-00000-of-00001.parquet", NULL },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct span split;
		bool found = split_of_shard(table[i].path, &split);
		CU_ASSERT_EQUAL(found, table[i].split != NULL);
		CU_ASSERT(!found || table[i].split == NULL || span_is(split, table[i].split));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "chooses the files of a configuration", chooses_files },
		{ "says which names and splits there are", says_what_there_is },
		{ "finds the default configuration", finds_the_default },
		{ "refuses what is no card", refuses_what_is_no_card },
		{ "matches patterns as fsspec and datasets do", matches_as_fsspec_does },
		{ "finds the folder of a pattern", finds_folders },
		{ "takes the split from a shard's name", takes_shards_apart },
		CU_TEST_INFO_NULL,
	};
	return unit_main("card", tests);
}
