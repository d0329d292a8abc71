#include "tree/page.h"

#include <errno.h>

#include "base/checked.h"

/* The first entries of every folder. */
#define DOTS 2

static struct inode parent_of(struct inode folder)
{
	if (folder.form == FORM_EPOCH_RANK_DIR)
		return (struct inode){ .form = FORM_EPOCH_DIR, .epoch = folder.epoch };
	if (folder.form == FORM_VAL_RANK_DIR)
		return (struct inode){ .form = FORM_FIXED, .number = FIXED_VAL };
	return (struct inode){ .form = FORM_FIXED, .number = FIXED_ROOT };
}

struct entry {
	enum name_kind kind;
	uint32_t number;
	struct inode inode;
};

static bool fixed_entry(struct entry *e, enum name_kind kind, enum fixed which)
{
	*e = (struct entry){ .kind = kind, .inode = { .form = FORM_FIXED, .number = (uint32_t)which } };
	return true;
}

static bool rank_entry(struct entry *e, enum form form, uint32_t epoch, uint64_t rank)
{
	*e = (struct entry){ .kind = NAME_RANK,
		             .number = (uint32_t)rank,
		             .inode = { .form = form, .epoch = epoch, .rank = (uint32_t)rank } };
	return true;
}

/* Entry i of the root, dots not counted. */
static bool root_entry(const struct page_scope *s, uint64_t i, struct entry *e)
{
	if (i == 0)
		return fixed_entry(e, NAME_README, FIXED_README);
	if (i == 1)
		return fixed_entry(e, NAME_DATASET, FIXED_DATASET);
	if (i == 2)
		return fixed_entry(e, NAME_STATS, FIXED_STATS);
	i -= 3;
	if (i < s->ranks)
		return rank_entry(e, FORM_RANK_DIR, 0, i);
	i -= s->ranks;
	if (i < s->epochs) {
		*e = (struct entry){ .kind = NAME_EPOCH,
			             .number = (uint32_t)i,
			             .inode = { .form = FORM_EPOCH_DIR, .epoch = (uint32_t)i } };
		return true;
	}
	i -= s->epochs;
	if (s->val && i-- == 0)
		return fixed_entry(e, NAME_VAL, FIXED_VAL);
	return i == 0 && fixed_entry(e, NAME_SHARDS, FIXED_SHARDS);
}

/* Entry i of a folder whose entries do not depend on what is counted. */
static bool plain_entry(const struct page_scope *s, struct inode folder, uint64_t i, struct entry *e)
{
	if (folder.form == FORM_FIXED && folder.number == FIXED_ROOT)
		return root_entry(s, i, e);
	if (i >= s->ranks)
		return false;
	if (folder.form == FORM_EPOCH_DIR)
		return rank_entry(e, FORM_EPOCH_RANK_DIR, folder.epoch, i);
	return rank_entry(e, FORM_VAL_RANK_DIR, 0, i);
}

static bool is_shards(struct inode folder)
{
	return folder.form == FORM_FIXED && folder.number == FIXED_SHARDS;
}

static bool is_rank(struct inode folder)
{
	return folder.form == FORM_RANK_DIR || folder.form == FORM_EPOCH_RANK_DIR ||
	       folder.form == FORM_VAL_RANK_DIR;
}

/* The files of a rank folder: those of the view it shows. */
static struct dataset_object view_of(const struct page_scope *s, struct inode folder)
{
	return (struct dataset_object){
		.kind = OBJECT_BATCH,
		.val = folder.form == FORM_VAL_RANK_DIR,
		.epoch = folder.form == FORM_RANK_DIR ? s->epoch : folder.epoch,
		.rank = folder.rank,
	};
}

static bool emit_dots(struct inode folder, uint64_t *off, tree_emit *emit, void *arg)
{
	if (*off == 0 && !emit(arg, ".", inode_pack(folder), true, ++*off))
		return false;
	return *off != 1 || emit(arg, "..", inode_pack(parent_of(folder)), true, ++*off);
}

static int list_batches(const struct page_scope *s, struct inode folder, uint64_t off, bool emitted,
                        tree_emit *emit, void *arg, struct tree_wait *wait)
{
	struct dataset_object o = view_of(s, folder);
	struct inode file = { .form = o.val ? FORM_VAL_BIN : FORM_BIN, .epoch = o.epoch, .rank = o.rank };
	uint64_t known, k = off - DOTS;
	bool final;
	int stopped;
	char name[NAME_SIZE];
	dataset_batches_now(s->d, o.val, o.epoch, &known, &final, &stopped);
	known = min_u64(known, INODE_NUMBERS);
	for (; k < known; k++, emitted = true) {
		file.number = (uint32_t)k;
		name_write(NAME_BIN, file.number, name);
		if (!emit(arg, name, inode_pack(file), false, k + DOTS + 1))
			return 0;
	}
	if (emitted || final || !s->list_all || k >= INODE_NUMBERS)
		return 0;
	if (stopped != 0)
		return stopped < 0 ? stopped : -stopped;
	o.number = k;
	*wait = (struct tree_wait){ .only_size = true, .object = o };
	return -EAGAIN;
}

static int list_shards(const struct page_scope *s, uint64_t off, bool emitted, tree_emit *emit, void *arg,
                       struct tree_wait *wait)
{
	uint64_t files;
	char name[NAME_SIZE];
	int r = dataset_shards_now(s->d, &files);
	if (r == -EAGAIN) {
		*wait = (struct tree_wait){ .object = { .kind = OBJECT_SHARD } };
		return emitted || !s->list_all ? 0 : -EAGAIN;
	}
	if (r != 0)
		return emitted || !s->list_all ? 0 : r;
	files = min_u64(files, INODE_NUMBERS);
	for (uint64_t k = off - DOTS; k < files; k++) {
		struct inode file = { .form = FORM_SHARD, .number = (uint32_t)k };
		if (dataset_shard_name(s->d, k, name) != 0 ||
		    !emit(arg, name, inode_pack(file), false, k + DOTS + 1))
			return 0;
	}
	return 0;
}

int page_list(const struct page_scope *s, struct inode folder, uint64_t off, tree_emit *emit, void *arg,
              struct tree_wait *wait)
{
	struct entry e;
	char name[NAME_SIZE];
	uint64_t at = off;
	if (!emit_dots(folder, &at, emit, arg))
		return 0;
	if (is_rank(folder))
		return list_batches(s, folder, at, at != off, emit, arg, wait);
	if (is_shards(folder))
		return list_shards(s, at, at != off, emit, arg, wait);
	for (; plain_entry(s, folder, at - DOTS, &e); at++) {
		name_write(e.kind, e.number, name);
		if (!emit(arg, name, inode_pack(e.inode), inode_is_directory(e.inode), at + 1))
			return 0;
	}
	return 0;
}

bool page_is_final(const struct page_scope *s, struct inode folder)
{
	uint64_t n;
	bool final;
	int stopped;
	if (is_shards(folder))
		return dataset_shards_now(s->d, &n) == 0;
	if (!is_rank(folder))
		return true;
	struct dataset_object o = view_of(s, folder);
	dataset_batches_now(s->d, o.val, o.epoch, &n, &final, &stopped);
	return final;
}
