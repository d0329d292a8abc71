#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "tree/inode.h"
#include "tree/name.h"
#include "tree/npy.h"
#include "tree/readable.h"
#include "tree/tree.h"
#include "unit/fake_dataset.h"
#include "unit/unit.h"

#define BATCH (8 * 17 * 2)

static struct options options;
static struct dataset *d;
static struct tree *t;

/* A mount of 3 ranks, batches of 8 x 17 tokens, epochs 0 and 1 listed, epoch 2 mounted, val. */
static void begin(struct fake f)
{
	fake = f;
	options_init(&options);
	options.seq_len = 16;
	options.batch_size = 8;
	options.world_size = 3;
	options.epoch = 2;
	options.epochs = 2;
	options.val_tokens = 100;
	CU_ASSERT_FATAL(dataset_open(&options, false, NULL, &d, NULL) == 0);
	CU_ASSERT_FATAL(tree_new(d, "/mnt/fw", &t, NULL) == 0);
}

static void end(void)
{
	tree_free(t);
	dataset_close(d);
	options_free(&options);
}

static const struct fake whole = { .batches = 40, .known = 40, .val = 2, .shards = 4 };
static const struct fake half = { .batches = 40, .known = 20, .val = 2, .shards = 4 };

/* Looks up a path of one to three parts; the inode number, or 0 with the error in *r. */
static uint64_t find(const char *path, int *r)
{
	char part[300];
	struct tree_attributes a = { .inode = FIXED_ROOT };
	struct tree_wait wait;
	*r = 0;
	while (*r == 0 && *path != 0) {
		size_t n = strcspn(path, "/");
		snprintf(part, sizeof part, "%.*s", (int)n, path);
		path += n + (path[n] == '/');
		*r = tree_lookup(t, a.inode, part, &a, &wait);
	}
	return *r == 0 ? a.inode : 0;
}

static int find_error(const char *path)
{
	int r;
	find(path, &r);
	return r;
}

static uint64_t must_find(const char *path)
{
	int r;
	uint64_t i = find(path, &r);
	CU_ASSERT_EQUAL(r, 0);
	return i;
}

static void test_inodes(void)
{
	/* form 5 bits | epoch 12 | rank 16 | batch 31, and the root is FUSE's 1. */
	struct inode i = { .form = FORM_BIN, .epoch = 4095, .rank = 65535, .number = 2147483647 }, back;
	CU_ASSERT_EQUAL(inode_fixed(FIXED_ROOT), 1);
	CU_ASSERT_EQUAL(inode_pack(i), (uint64_t)FORM_BIN << 59 | ((UINT64_C(1) << 59) - 1));
	CU_ASSERT_EQUAL(inode_pack((struct inode){ .form = FORM_NPY, .epoch = 1, .rank = 1, .number = 1 }),
	                (uint64_t)FORM_NPY << 59 | UINT64_C(1) << 47 | UINT64_C(1) << 31 | 1);
	CU_ASSERT(inode_unpack(inode_pack(i), &back));
	CU_ASSERT(back.form == i.form && back.epoch == i.epoch && back.rank == i.rank &&
	          back.number == i.number);
	CU_ASSERT_FALSE(inode_unpack(0, &back));
	CU_ASSERT_FALSE(inode_unpack(FIXED_END, &back));
	CU_ASSERT_FALSE(inode_unpack((uint64_t)FORMS << 59, &back));
	CU_ASSERT_FALSE(inode_unpack((uint64_t)FORM_EPOCH_DIR << 59 | 1, &back));
	CU_ASSERT_FALSE(inode_unpack((uint64_t)FORM_VAL_BIN << 59 | UINT64_C(1) << 47, &back));
	for (uint64_t form = 0, x = 88172645463325252u; form < 100000; form++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		if (inode_unpack(x, &back))
			CU_ASSERT_EQUAL(inode_pack(back), x);
	}
}

static void test_names(void)
{
	static const struct {
		const char *name;
		enum name_kind kind;
		uint32_t number;
	} cases[] = {
		{ "batch_0000.bin", NAME_BIN, 0 },
		{ "batch_0.bin", NAME_BIN, 0 },
		{ "batch_00000000000000000000000012.bin", NAME_BIN, 12 },
		{ "batch_12345678.npy", NAME_NPY, 12345678 },
		{ "batch_2147483647.bin", NAME_BIN, 2147483647 },
		{ "batch_2147483648.bin", NAME_OTHER, 0 },
		{ "batch_18446744073709551616.bin", NAME_OTHER, 0 },
		{ "batch_.bin", NAME_OTHER, 0 },
		{ "batch_-1.bin", NAME_OTHER, 0 },
		{ "batch_+1.bin", NAME_OTHER, 0 },
		{ "batch_ 1.bin", NAME_OTHER, 0 },
		{ "batch_0x1.bin", NAME_OTHER, 0 },
		{ "batch_1.bi", NAME_OTHER, 0 },
		{ "batch_1.bin2", NAME_OTHER, 0 },
		{ "batch_1.txt", NAME_TEXT, 1 },
		{ "batch_007.json", NAME_JSON, 7 },
		{ "stats.prom", NAME_PROM, 0 },
		{ "batch_1.txt.gz", NAME_OTHER, 0 },
		{ "batch_1", NAME_OTHER, 0 },
		{ "Batch_1.bin", NAME_OTHER, 0 },
		{ "rank_0", NAME_RANK, 0 },
		{ "rank_65535", NAME_RANK, 65535 },
		{ "rank_65536", NAME_OTHER, 0 },
		{ "rank_00", NAME_OTHER, 0 },
		{ "rank_01", NAME_OTHER, 0 },
		{ "rank_", NAME_OTHER, 0 },
		{ "rank_1x", NAME_OTHER, 0 },
		{ "epoch_4095", NAME_EPOCH, 4095 },
		{ "epoch_4096", NAME_OTHER, 0 },
		{ "epoch_00", NAME_OTHER, 0 },
		{ "epoch.bin", NAME_EPOCH_BIN, 0 },
		{ "README.txt", NAME_README, 0 },
		{ "dataset.json", NAME_DATASET, 0 },
		{ "stats.json", NAME_STATS, 0 },
		{ "val", NAME_VAL, 0 },
		{ "shards", NAME_SHARDS, 0 },
		{ "", NAME_OTHER, 0 },
		{ ".", NAME_OTHER, 0 },
	};
	char out[NAME_SIZE];
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint32_t number;
		enum name_kind kind = name_parse(cases[i].name, &number);
		if (kind != cases[i].kind || (kind != NAME_OTHER && number != cases[i].number)) {
			printf("# name '%s'\n", cases[i].name);
			CU_FAIL("a name is read wrong");
		}
	}
	name_write(NAME_BIN, 7, out);
	CU_ASSERT_STRING_EQUAL(out, "batch_0007.bin");
	name_write(NAME_BIN, 2147483647, out);
	CU_ASSERT_STRING_EQUAL(out, "batch_2147483647.bin");
	name_write(NAME_RANK, 12, out);
	CU_ASSERT_STRING_EQUAL(out, "rank_12");
	name_write(NAME_SHARDS, 0, out);
	CU_ASSERT_STRING_EQUAL(out, "shards");
}

/* The expected bytes are those that NumPy 2.4 writes for such an array. */
static void test_npy(void)
{
	static const struct {
		unsigned width;
		uint32_t rows, columns;
		const char *text;
	} cases[] = {
		{ 2, 32, 1025, "{'descr': '<u2', 'fortran_order': False, 'shape': (32, 1025), }" },
		{ 2, 1, 2, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2), }" },
		{ 4, 8, 2049, "{'descr': '<u4', 'fortran_order': False, 'shape': (8, 2049), }" },
		{ 4, 1048576, 1048577,
		  "{'descr': '<u4', 'fortran_order': False, 'shape': (1048576, 1048577), }" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t have[NPY_HEADER];
		char want[NPY_HEADER + 1];
		npy_header(cases[i].width, cases[i].rows, cases[i].columns, have);
		snprintf(want, sizeof want, "%-117s\n", cases[i].text);
		CU_ASSERT_EQUAL(memcmp(have, "\x93NUMPY\x01\x00v\x00", 10), 0);
		CU_ASSERT_EQUAL(memcmp(have + 10, want, 118), 0);
	}
}

static void test_lookups(void)
{
	begin(whole);
	CU_ASSERT_EQUAL(must_find("rank_1/batch_0007.bin"), must_find("rank_1/batch_7.bin"));
	CU_ASSERT_EQUAL(must_find("rank_1/batch_0007.bin"), must_find("rank_1/batch_00000007.bin"));
	CU_ASSERT_EQUAL(must_find("rank_1/batch_0007.bin"), must_find("epoch_2/rank_1/batch_0007.bin"));
	CU_ASSERT_NOT_EQUAL(must_find("rank_1"), must_find("epoch_2/rank_1"));
	CU_ASSERT_NOT_EQUAL(must_find("rank_1/batch_0001.bin"), must_find("epoch_0/rank_1/batch_0001.bin"));
	CU_ASSERT_NOT_EQUAL(must_find("rank_1/batch_0001.bin"), must_find("rank_1/batch_0001.npy"));
	CU_ASSERT_NOT_EQUAL(must_find("val/rank_0/batch_0001.bin"),
	                    must_find("epoch_0/rank_0/batch_0001.bin"));
	must_find("epoch_4095/rank_2/batch_0039.bin");
	must_find("val/rank_2/epoch.bin");
	must_find("shards/fineweb_train_000003.bin");
	static const char *const absent[] = {
		"rank_3",
		"rank_00",
		"epoch_4096",
		"epoch_0/rank_3",
		"epoch_0/val",
		"epoch_0/README.txt",
		"val/rank_3",
		"val/batch_0000.bin",
		"rank_0/batch_0040.bin",
		"rank_0/rank_0",
		"val/rank_0/batch_0002.bin",
		"batch_0000.bin",
		"shards/fineweb_train_000004.bin",
		"shards/rank_0",
		"shards/README.txt",
		"epoch.bin",
		"epoch_0/epoch.bin",
		"rank_0/batch_0000.text",
		"rank_0/batch_0000.jsonl",
		"x",
		"lost+found",
	};
	for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
		if (find_error(absent[i]) != -ENOENT) {
			printf("# %s\n", absent[i]);
			CU_FAIL("a name that is not there was found");
		}
	CU_ASSERT_EQUAL(find_error("README.txt/x"), -ENOTDIR);
	CU_ASSERT_EQUAL(find_error("rank_0/batch_0000.bin/x"), -ENOTDIR);
	end();
}

static void test_lookups_that_wait(void)
{
	struct tree_attributes a;
	struct tree_wait wait = { 0 };
	begin(half);
	uint64_t rank = must_find("epoch_7/rank_1");
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "batch_0019.bin", &a, &wait), 0);
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "batch_0020.npy", &a, &wait), -EAGAIN);
	CU_ASSERT(!wait.facts && wait.object.kind == OBJECT_BATCH && wait.object.epoch == 7 &&
	          wait.object.rank == 1 && wait.object.number == 20 && !wait.object.val);
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "epoch.bin", &a, &wait), -EAGAIN);
	CU_ASSERT_EQUAL(wait.object.kind, OBJECT_EPOCH);
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "batch_0040.txt", &a, &wait), -EAGAIN);
	CU_ASSERT(wait.text &&
	          inode_pack((struct inode){ .form = FORM_TEXT, .epoch = 7, .rank = 1, .number = 40 }) ==
	                  wait.inode);
	CU_ASSERT_EQUAL(tree_wait_text(t, wait.inode, NULL), -ENOENT);
	CU_ASSERT_EQUAL(tree_lookup(t, FIXED_SHARDS, "fineweb_train_000001.bin", &a, &wait), -EAGAIN);
	CU_ASSERT(wait.object.kind == OBJECT_SHARD && wait.object.number == 1);
	CU_ASSERT_EQUAL(tree_lookup(t, FIXED_ROOT, "dataset.json", &a, &wait), -EAGAIN);
	CU_ASSERT(wait.facts);
	CU_ASSERT_EQUAL(tree_wait_facts(t, NULL), 0);
	CU_ASSERT_EQUAL(tree_lookup(t, FIXED_ROOT, "dataset.json", &a, &wait), 0);
	fake.stopped = -EBADMSG;
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "batch_0020.bin", &a, &wait), -EBADMSG);
	end();
}

static void test_attributes(void)
{
	struct tree_attributes a;
	struct tree_wait wait;
	begin(whole);
	CU_ASSERT_EQUAL(tree_attributes(t, must_find("rank_0/batch_0003.bin"), &a, &wait), 0);
	CU_ASSERT(a.size == BATCH && !a.directory && a.constant && a.mtime.tv_sec == 1700000000);
	CU_ASSERT_EQUAL(tree_attributes(t, must_find("rank_0/batch_0003.npy"), &a, &wait), 0);
	CU_ASSERT_EQUAL(a.size, BATCH + 128);
	CU_ASSERT_EQUAL(tree_attributes(t, must_find("rank_2/epoch.bin"), &a, &wait), 0);
	CU_ASSERT_EQUAL(a.size, 40 * BATCH);
	CU_ASSERT_EQUAL(tree_attributes(t, must_find("val/rank_2/epoch.bin"), &a, &wait), 0);
	CU_ASSERT_EQUAL(a.size, 2 * BATCH);
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_ROOT, &a, &wait), 0);
	CU_ASSERT(a.directory && a.constant);
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_STATS, &a, &wait), 0);
	CU_ASSERT(a.size > 1000 && !a.constant && a.mtime.tv_sec > 1700000000);
	CU_ASSERT_EQUAL(tree_attributes(t, 0, &a, &wait), -ENOENT);
	CU_ASSERT_EQUAL(tree_attributes(t, UINT64_MAX, &a, &wait), -ENOENT);
	CU_ASSERT_EQUAL(
	        tree_attributes(t, inode_pack((struct inode){ .form = FORM_RANK_DIR, .rank = 3 }), &a, &wait),
	        -ENOENT);
	end();
}

/* Every pread of a small file against the file put together here. */
static void test_reads(void)
{
	uint8_t want[NPY_HEADER + BATCH], have[NPY_HEADER + BATCH + 1];
	struct dataset_object o = { .kind = OBJECT_EPOCH, .epoch = 2, .rank = 1 };
	struct tree_rest rest;
	begin(whole);
	npy_header(2, 8, 17, want);
	for (unsigned k = 0; k < BATCH / 2; k++)
		store_u16(want + NPY_HEADER + 2 * k, fake_token(&o, 5 * (BATCH / 2) + k));
	uint64_t npy = must_find("rank_1/batch_5.npy"), bin = must_find("rank_1/batch_5.bin");
	unsigned wrong = 0;
	for (size_t off = 0; off < sizeof want + 2; off++)
		for (size_t n = 1; n <= sizeof have; n += 1 + n / 3) {
			int64_t expected = off >= sizeof want
			                           ? 0
			                           : (int64_t)(n < sizeof want - off ? n : sizeof want - off);
			wrong += tree_read(t, npy, off, have, n, &rest) != expected ||
			         (expected > 0 && memcmp(have, want + off, (size_t)expected) != 0);
		}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(tree_read(t, bin, 3, have, sizeof have, &rest), BATCH - 3);
	CU_ASSERT_EQUAL(memcmp(have, want + NPY_HEADER + 3, BATCH - 3), 0);
	CU_ASSERT_EQUAL(tree_read(t, must_find("rank_1/epoch.bin"), 5 * BATCH, have, BATCH, &rest), BATCH);
	CU_ASSERT_EQUAL(memcmp(have, want + NPY_HEADER, BATCH), 0);
	CU_ASSERT_EQUAL(tree_read(t, must_find("rank_1/epoch.bin"), 40 * BATCH - 1, have, BATCH, &rest), 1);
	CU_ASSERT_EQUAL(tree_read(t, must_find("rank_1"), 0, have, BATCH, &rest), -EISDIR);
	CU_ASSERT_EQUAL(tree_read(t, FIXED_ROOT, 0, have, BATCH, &rest), -EISDIR);
	end();
}

static void test_reads_that_wait(void)
{
	uint8_t have[256];
	struct tree_rest rest;
	struct fake f = whole;
	f.cold = 6;
	f.damaged = 8;
	begin(f);
	CU_ASSERT_EQUAL(tree_read(t, must_find("rank_1/batch_5.npy"), 100, have, 100, &rest), -EAGAIN);
	CU_ASSERT(rest.skip == 28 && rest.off == 0 && rest.n == 72 && rest.object.number == 5 &&
	          rest.object.rank == 1);
	CU_ASSERT_EQUAL(memcmp(have, "       ", 7), 0);
	CU_ASSERT_EQUAL(tree_read(t, must_find("rank_1/batch_5.npy"), 0, have, 128, &rest), 128);
	CU_ASSERT_EQUAL(tree_read(t, must_find("rank_1/batch_5.bin"), 10, have, 20, &rest), -EAGAIN);
	CU_ASSERT(rest.skip == 0 && rest.off == 10 && rest.n == 20);
	CU_ASSERT_EQUAL(tree_read(t, must_find("rank_1/batch_7.bin"), 0, have, 20, &rest), -EBADMSG);
	end();
}

struct listing {
	unsigned n, room;
	uint64_t next;
	char first[NAME_SIZE], last[NAME_SIZE];
	bool wrong;
};

static bool take(void *arg, const char *name, uint64_t inode, bool directory, uint64_t next)
{
	struct listing *l = arg;
	struct inode i;
	if (l->n == l->room)
		return false;
	l->wrong = l->wrong || next != l->next + 1 || !inode_unpack(inode, &i) ||
	           inode_is_directory(i) != directory;
	l->next = next;
	snprintf(l->n == 0 ? l->first : l->last, NAME_SIZE, "%.60s", name);
	l->n++;
	return true;
}

/* Lists a folder in pages of `room` entries; the number of entries, and the result of the last page. */
static unsigned list(uint64_t folder, unsigned room, struct listing *l, int *r, struct tree_wait *wait)
{
	unsigned all = 0;
	*l = (struct listing){ .room = room };
	do {
		l->n = 0;
		*r = tree_list(t, folder, l->next, take, l, wait);
		all += l->n;
	} while (*r == 0 && l->n > 0);
	return all;
}

static void test_pages(void)
{
	struct listing l;
	struct tree_wait wait;
	int r;
	begin(whole);
	for (unsigned room = 1; room < 60; room++) {
		/* . .. README.txt dataset.json stats.json rank_0-2 epoch_0-1 val shards */
		CU_ASSERT_EQUAL(list(FIXED_ROOT, room, &l, &r, &wait), 12);
		CU_ASSERT(r == 0 && !l.wrong);
		CU_ASSERT_EQUAL(list(must_find("rank_1"), room, &l, &r, &wait), 42);
		CU_ASSERT(r == 0 && !l.wrong);
		CU_ASSERT_EQUAL(list(must_find("val/rank_1"), room, &l, &r, &wait), 4);
		CU_ASSERT_EQUAL(list(must_find("epoch_9"), room, &l, &r, &wait), 5);
		CU_ASSERT_EQUAL(list(FIXED_VAL, room, &l, &r, &wait), 5);
		CU_ASSERT_EQUAL(list(FIXED_SHARDS, room, &l, &r, &wait), 6);
	}
	list(must_find("epoch_1/rank_1"), 100, &l, &r, &wait);
	CU_ASSERT_EQUAL(tree_list(t, must_find("rank_1"), 41, take,
	                          &(struct listing){ .room = 9, .next = 41 }, &wait),
	                0);
	struct listing one = { .room = 1, .next = 2 };
	CU_ASSERT_EQUAL(tree_list(t, must_find("rank_1"), 2, take, &one, &wait), 0);
	CU_ASSERT_STRING_EQUAL(one.first, "batch_0000.bin");
	CU_ASSERT(tree_list_is_final(t, must_find("rank_1")) && tree_list_is_final(t, FIXED_SHARDS));
	CU_ASSERT_EQUAL(tree_list(t, FIXED_README, 0, take, &one, &wait), -ENOTDIR);
	CU_ASSERT_EQUAL(tree_list(t, 0, 0, take, &one, &wait), -ENOENT);
	end();
}

static void test_pages_that_wait(void)
{
	struct listing l;
	struct tree_wait wait = { 0 };
	int r;
	begin(half);
	uint64_t rank = must_find("epoch_7/rank_1");
	CU_ASSERT_EQUAL(list(rank, 7, &l, &r, &wait), 22);
	CU_ASSERT_EQUAL(r, -EAGAIN);
	CU_ASSERT(wait.object.kind == OBJECT_BATCH && wait.object.number == 20 && wait.object.epoch == 7);
	CU_ASSERT_FALSE(tree_list_is_final(t, rank));
	fake.known = 30;
	l.n = 0;
	CU_ASSERT_EQUAL(tree_list(t, rank, l.next, take, &l, &wait), 0);
	CU_ASSERT_STRING_EQUAL(l.first, "batch_0020.bin");
	CU_ASSERT_EQUAL(list(FIXED_SHARDS, 7, &l, &r, &wait), 2);
	CU_ASSERT(r == -EAGAIN && wait.object.kind == OBJECT_SHARD);
	fake.stopped = -EBADMSG;
	CU_ASSERT_EQUAL(list(rank, 7, &l, &r, &wait), 32);
	CU_ASSERT_EQUAL(r, -EBADMSG);
	CU_ASSERT_FALSE(tree_list_is_final(t, rank));
	end();
}

static void test_counted_pages_end(void)
{
	struct listing l;
	struct tree_wait wait;
	int r;
	begin(half);
	tree_free(t);
	dataset_close(d);
	options.list = LIST_COUNTED;
	CU_ASSERT_FATAL(dataset_open(&options, false, NULL, &d, NULL) == 0);
	CU_ASSERT_FATAL(tree_new(d, "/mnt/fw", &t, NULL) == 0);
	CU_ASSERT_EQUAL(list(must_find("rank_1"), 7, &l, &r, &wait), 22);
	CU_ASSERT_EQUAL(r, 0);
	CU_ASSERT_EQUAL(list(FIXED_SHARDS, 7, &l, &r, &wait), 2);
	CU_ASSERT_EQUAL(r, 0);
	fake.stopped = -EBADMSG;
	CU_ASSERT_EQUAL(list(must_find("rank_1"), 7, &l, &r, &wait), 22);
	CU_ASSERT_EQUAL(r, 0);
	end();
}

static void test_xattrs(void)
{
	char value[NAME_SIZE];
	size_t n;
	begin(whole);
	uint64_t i = must_find("epoch_7/rank_2/batch_0031.npy");
	CU_ASSERT(tree_xattr(t, i, "user.fineweb.epoch", value) == 1 && memcmp(value, "7", 1) == 0);
	CU_ASSERT(tree_xattr(t, i, "user.fineweb.rank", value) == 1 && memcmp(value, "2", 1) == 0);
	CU_ASSERT(tree_xattr(t, i, "user.fineweb.batch", value) == 2 && memcmp(value, "31", 2) == 0);
	CU_ASSERT(tree_xattr(t, i, "user.fineweb.dtype", value) == 6 && memcmp(value, "uint16", 6) == 0);
	CU_ASSERT(tree_xattr(t, i, "user.fineweb.shape", value) == 4 && memcmp(value, "8,17", 4) == 0);
	CU_ASSERT_EQUAL(tree_xattr(t, i, "user.fineweb.x", value), -ENODATA);
	CU_ASSERT_EQUAL(tree_xattr(t, i, "security.selinux", value), -ENODATA);
	CU_ASSERT_EQUAL(tree_xattr(t, FIXED_README, "user.fineweb.rank", value), -ENODATA);
	const char *names = tree_xattrs(i, &n);
	CU_ASSERT(n == 94 && strcmp(names, "user.fineweb.epoch") == 0 && names[n - 1] == 0);
	tree_xattrs(FIXED_ROOT, &n);
	CU_ASSERT_EQUAL(n, 0);
	end();
}

static void read_text(uint64_t inode, char *text, size_t room)
{
	struct tree_rest rest;
	int64_t n = tree_read(t, inode, 0, text, room - 1, &rest);
	CU_ASSERT_FATAL(n >= 0);
	text[n] = 0;
}

static void test_texts(void)
{
	static char text[32768];
	struct tree_attributes a, b;
	struct tree_wait wait;
	begin(half);
	CU_ASSERT_EQUAL(tree_wait_facts(t, NULL), 0);
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_DATASET, &a, &wait), 0);
	read_text(FIXED_DATASET, text, sizeof text);
	CU_ASSERT_EQUAL(strlen(text), a.size);
	CU_ASSERT(strstr(text, "\"batches\": null") != NULL && strstr(text, "\"batches_known\": 20") != NULL);
	CU_ASSERT(strstr(text, "\"batch_size\": 8") != NULL &&
	          strstr(text, "\"tokenizer_sha256\": \"00ff\"") != NULL);
	fake.known = 40;
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_DATASET, &b, &wait), 0);
	CU_ASSERT(b.mtime.tv_sec > a.mtime.tv_sec ||
	          (b.mtime.tv_sec == a.mtime.tv_sec && b.mtime.tv_nsec > a.mtime.tv_nsec));
	read_text(FIXED_DATASET, text, sizeof text);
	CU_ASSERT(strstr(text, "\"batches\": 40") != NULL);
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_DATASET, &a, &wait), 0);
	CU_ASSERT(a.mtime.tv_sec == b.mtime.tv_sec && a.mtime.tv_nsec == b.mtime.tv_nsec);
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_STATS, &a, &wait), 0);
	read_text(FIXED_STATS, text, sizeof text);
	CU_ASSERT(strlen(text) == a.size && text[0] == '{' && strcmp(text + a.size - 3, "\n}\n") == 0);
	/* Numbers of all lengths have the same room. */
	for (int64_t ns = 1; ns < INT64_MAX / 10; ns *= 10)
		tree_note_read(t, must_find("rank_0/batch_0001.bin"), ns, ns, true);
	read_text(FIXED_STATS, text, sizeof text);
	CU_ASSERT(strlen(text) == a.size);
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_PROM, &a, &wait), 0);
	read_text(FIXED_PROM, text, sizeof text);
	CU_ASSERT(strlen(text) == a.size && strstr(text, "\n\n") == NULL);
	CU_ASSERT_EQUAL(tree_attributes(t, FIXED_README, &a, &wait), 0);
	read_text(FIXED_README, text, sizeof text);
	CU_ASSERT_EQUAL(strlen(text), a.size);
	CU_ASSERT(strstr(text, "/mnt/fw/rank_0/batch_0000.bin") != NULL &&
	          strstr(text, "reshape(8, 17)") != NULL);
	end();
}

static void test_readables(void)
{
	static char text[65536], again[65536];
	struct tree_attributes a;
	struct tree_wait wait;
	struct tree_rest rest;
	begin(whole);
	uint64_t rank = must_find("rank_1");
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "batch_0003.txt", &a, &wait), -EAGAIN);
	CU_ASSERT_FATAL(wait.text);
	CU_ASSERT_EQUAL(tree_read(t, wait.inode, 0, text, 10, &rest), -EAGAIN);
	CU_ASSERT(rest.text);
	CU_ASSERT_EQUAL(tree_wait_text(t, wait.inode, NULL), 0);
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "batch_3.txt", &a, &wait), 0);
	CU_ASSERT(a.constant && a.size > 8 * 20 && a.inode == wait.inode);
	read_text(a.inode, text, sizeof text);
	CU_ASSERT_EQUAL(strlen(text), a.size);
	CU_ASSERT(strncmp(text, "=== rank 1, row 0: made-up, piece 0, sequence 3\n", 48) == 0);
	CU_ASSERT(strstr(text, "\n=== rank 1, row 7: made-up, piece 7, sequence 3\n") != NULL);
	CU_ASSERT_EQUAL(tree_read(t, a.inode, a.size, again, 10, &rest), 0);
	uint64_t inode = a.inode, off = 0;
	CU_ASSERT_FALSE(tree_next(t, &inode, &off));
	/* The others push it out; made anew it is the same. */
	for (uint32_t k = 0; k < READABLE_KEPT; k++) {
		struct inode i = { .form = FORM_JSON, .epoch = 2, .rank = 2, .number = k };
		CU_ASSERT_EQUAL(tree_wait_text(t, inode_pack(i), NULL), 0);
		read_text(inode_pack(i), again, sizeof again);
		CU_ASSERT(strncmp(again, "{\n \"rows\": [", 12) == 0);
	}
	CU_ASSERT_EQUAL(tree_read(t, a.inode, 0, again, sizeof again, &rest), -EAGAIN);
	CU_ASSERT_EQUAL(tree_wait_text(t, a.inode, NULL), 0);
	read_text(a.inode, again, sizeof again);
	CU_ASSERT_STRING_EQUAL(text, again);
	CU_ASSERT(tree_text_at_hand(t, a.inode, again, 100));
	fake.cold = 4; /* batches 3, 7, ... are not at hand */
	CU_ASSERT_FALSE(tree_text_at_hand(t, a.inode, again, 100));
	fake.cold = 0;
	/* For .json the source is read; a .bin is no text. */
	CU_ASSERT_FALSE(tree_text_at_hand(
	        t, inode_pack((struct inode){ .form = FORM_JSON, .epoch = 2, .rank = 1, .number = 3 }), again,
	        100));
	CU_ASSERT_FALSE(tree_text_at_hand(t, must_find("rank_1/batch_0003.bin"), again, 100));
	CU_ASSERT_EQUAL(find_error("rank_1/batch_0040.txt"), -ENOENT);
	CU_ASSERT_EQUAL(find_error("val/rank_1/batch_0002.json"), -ENOENT);
	CU_ASSERT_EQUAL(find_error("val/rank_1/batch_0001.json"), -EAGAIN);
	fake.damaged = 5;
	CU_ASSERT_EQUAL(tree_lookup(t, rank, "batch_0004.txt", &a, &wait), -EAGAIN);
	CU_ASSERT_EQUAL(tree_wait_text(t, wait.inode, NULL), -EBADMSG);
	CU_ASSERT_EQUAL(tree_wait_text(t, must_find("rank_1/batch_0004.bin"), NULL), -ENOENT);
	end();
}

static json_int_t number_in(const json_t *j, const char *kind, const char *key)
{
	return json_integer_value(
	        json_object_get(kind == NULL ? j : json_object_get(json_object_get(j, "kinds"), kind), key));
}

static void test_stats(void)
{
	static char text[32768];
	begin(whole);
	uint64_t batch = must_find("rank_0/batch_0001.bin"), npy = must_find("rank_2/batch_0001.npy"),
	         epoch = must_find("rank_0/epoch.bin"), shard = must_find("shards/fineweb_train_000000.bin");
	for (int64_t us = 1; us <= 1000; us++)
		tree_note_read(t, batch, 100, us * 1000, us == 700);
	tree_note_read(t, npy, 0, 1000, false);
	tree_note_read(t, epoch, 1 << 20, 7000, false);
	tree_note_read(t, shard, 5, 9000000, true);
	tree_note_read(t, FIXED_README, 50, 1000, false);
	static const int failures[] = { -EBADMSG, -EIO, -ENOENT, -EINTR };
	for (size_t i = 0; i < 4; i++) {
		tree_note_read(t, batch, failures[i], 1000, true);
		tree_note_error(t, failures[i]);
	}
	tree_note_ahead(t, 300);
	tree_note_ahead(t, 400);
	tree_note_ahead_read(t);
	/* Reading is no read of a reader: who answers says what was asked for. */
	struct tree_rest rest;
	CU_ASSERT_EQUAL(tree_read(t, batch, 0, text, 10, &rest), 10);
	read_text(FIXED_STATS, text, sizeof text);
	json_t *j = json_loads(text, 0, NULL);
	CU_ASSERT_FATAL(j != NULL);
	CU_ASSERT_EQUAL(number_in(j, NULL, "reads"), 1003);
	CU_ASSERT_EQUAL(number_in(j, NULL, "bytes_read"), 100000 + (1 << 20) + 5);
	CU_ASSERT_EQUAL(number_in(j, NULL, "errors"), 4);
	CU_ASSERT_EQUAL(number_in(j, NULL, "ahead_bytes"), 700);
	CU_ASSERT_EQUAL(number_in(j, NULL, "ahead_reads"), 1);
	json_int_t p50 = number_in(j, "batch", "p50_us"), p90 = number_in(j, "batch", "p90_us"),
	           p99 = number_in(j, "batch", "p99_us");
	CU_ASSERT(p50 >= 500 && p50 <= 625 && p90 >= 900 && p90 <= 1125 && p99 >= 990 && p99 <= 1238);
	CU_ASSERT_EQUAL(number_in(j, "batch", "max_us"), 1000);
	CU_ASSERT_EQUAL(number_in(j, "batch", "reads"), 1001);
	CU_ASSERT_EQUAL(number_in(j, "batch", "bytes"), 100000);
	CU_ASSERT_EQUAL(number_in(j, "epoch", "max_us"), 7);
	CU_ASSERT_EQUAL(number_in(j, "epoch", "bytes"), 1 << 20);
	CU_ASSERT_EQUAL(number_in(j, "shard", "max_us"), 9000);
	CU_ASSERT_EQUAL(number_in(j, "text", "reads"), 0);
	CU_ASSERT_EQUAL(number_in(j, "waited", "reads"), 2);
	CU_ASSERT_EQUAL(number_in(j, "waited", "bytes"), 105);
	p50 = number_in(j, NULL, "read_p50_us");
	CU_ASSERT(p50 >= 500 && p50 <= 625 && number_in(j, NULL, "read_max_us") == 9000);
	json_decref(j);
	read_text(FIXED_PROM, text, sizeof text);
	for (char *blank; (blank = strstr(text, "  ")) != NULL;)
		memmove(blank, blank + 1, strlen(blank));
	CU_ASSERT(strstr(text, "\nfineweb_read_seconds_count{mount=\"/mnt/fw\",kind=\"batch\"} 1001\n") !=
	          NULL);
	CU_ASSERT(strstr(text, "\nfineweb_read_seconds_sum{mount=\"/mnt/fw\",kind=\"batch\"} 0.500501\n") !=
	          NULL);
	CU_ASSERT(strstr(text, "\nfineweb_read_seconds{mount=\"/mnt/fw\",kind=\"shard\",quantile=\"1\"} "
	                       "0.009000\n") != NULL);
	CU_ASSERT(strstr(text, "\nfineweb_waited_read_seconds_count{mount=\"/mnt/fw\"} 2\n") != NULL);
	CU_ASSERT(
	        strstr(text,
	               "# TYPE fineweb_reads_total counter\nfineweb_reads_total{mount=\"/mnt/fw\"} 1003\n") !=
	        NULL);
	end();
}

/* Any folder has a label that Prometheus takes, and all of the text has room. */
static void test_prom_labels(void)
{
	static char text[32768];
	char place[2048] = "/mnt/\"quoted\\ \n\xff \xc3\xa9 ";
	for (size_t n = strlen(place); n < 2000; n += 2)
		memcpy(place + n, "\xc3\xa9", 3);
	for (unsigned cut = 0; cut < 3; cut++) {
		begin(whole);
		tree_free(t);
		CU_ASSERT_FATAL(tree_new(d, place, &t, NULL) == 0);
		read_text(FIXED_PROM, text, sizeof text);
		json_t *j = json_string(text);
		CU_ASSERT(j != NULL); /* it is UTF-8 */
		json_decref(j);
		CU_ASSERT(strstr(text, cut == 0 ? "{mount=\"/mnt/\\\"quoted\\\\ \\n\xef\xbf\xbd \xc3\xa9 "
		                                : "{mount=\"") != NULL);
		end();
		memmove(place + 1, place, strlen(place));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "inode numbers are form, epoch, rank, batch", test_inodes },
		{ "names to numbers and back", test_names },
		{ "the .npy header is NumPy's", test_npy },
		{ "look-ups", test_lookups },
		{ "look-ups beyond what is counted", test_lookups_that_wait },
		{ "attributes", test_attributes },
		{ "reads at every offset", test_reads },
		{ "reads that wait", test_reads_that_wait },
		{ "directory pages of every size", test_pages },
		{ "directory pages beyond what is counted", test_pages_that_wait },
		{ "list=counted ends there", test_counted_pages_end },
		{ "extended attributes", test_xattrs },
		{ "README.txt, dataset.json, stats.json", test_texts },
		{ "batches for eyes", test_readables },
		{ "stats.json and stats.prom: what readers asked for", test_stats },
		{ "stats.prom of any folder", test_prom_labels },
		CU_TEST_INFO_NULL,
	};
	return unit_main("tree", tests);
}
