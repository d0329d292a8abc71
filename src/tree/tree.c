#include "tree/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "tree/info.h"
#include "tree/inode.h"
#include "tree/npy.h"
#include "tree/page.h"
#include "tree/readable.h"
#include "tree/stats.h"

struct tree {
	struct dataset *d;
	struct dataset_facts facts;
	struct page_scope scope;
	uint8_t npy[NPY_HEADER];
	struct info *info;
	struct readables *readables;
	struct stats *stats;
};

int tree_new(struct dataset *d, const char *place, struct tree **out, struct error *err)
{
	uint64_t known;
	bool final;
	int stopped;
	struct tree *t = calloc(1, sizeof *t);
	if (t == NULL)
		return fail(err, ENOMEM, "no memory for the tree");
	t->d = d;
	dataset_facts(d, &t->facts);
	const struct options *o = t->facts.options;
	t->scope = (struct page_scope){
		.d = d,
		.ranks = o->world_size,
		.epoch = o->epoch,
		.epochs = o->epochs,
		.val = o->val_tokens > 0,
		.list_all = o->list != LIST_COUNTED,
	};
	npy_header(t->facts.width, o->batch_size, o->seq_len + 1, t->npy);
	dataset_batches_now(d, false, t->scope.epoch, &known, &final, &stopped);
	int r = 0;
	if (known > INODE_NUMBERS)
		r = fail(err, EINVAL,
		         "%" PRIu64 " batches of a rank: a mount has at most 2^31, use a larger batch_size",
		         known);
	if (r == 0)
		r = info_new(d, place, &t->info, err);
	if (r == 0)
		r = stats_new(d, place, &t->stats, err);
	if (r == 0)
		r = readables_new(d, &t->readables, err);
	if (r != 0) {
		tree_free(t);
		return r;
	}
	*out = t;
	return 0;
}

void tree_free(struct tree *t)
{
	if (t == NULL)
		return;
	info_free(t->info);
	readables_free(t->readables);
	stats_free(t->stats);
	free(t);
}

int tree_wait_facts(struct tree *t, struct error *err)
{
	return info_learn(t->info, err);
}

/* The object of the dataset behind an inode; false for folders and fixed files. */
static bool object_of(struct inode i, struct dataset_object *o)
{
	*o = (struct dataset_object){
		.kind = OBJECT_BATCH, .epoch = i.epoch, .rank = i.rank, .number = i.number
	};
	switch (i.form) {
	case FORM_VAL_BIN:
	case FORM_VAL_NPY:
	case FORM_VAL_TEXT:
	case FORM_VAL_JSON:
		o->val = true;
		return true;
	case FORM_BIN:
	case FORM_NPY:
	case FORM_TEXT:
	case FORM_JSON:
		return true;
	case FORM_VAL_EPOCH_BIN:
		o->val = true;
		o->kind = OBJECT_EPOCH;
		return true;
	case FORM_EPOCH_BIN:
		o->kind = OBJECT_EPOCH;
		return true;
	case FORM_SHARD:
		o->kind = OBJECT_SHARD;
		return true;
	default:
		return false;
	}
}

static bool is_npy(struct inode i)
{
	return i.form == FORM_NPY || i.form == FORM_VAL_NPY;
}

static bool is_json(struct inode i)
{
	return i.form == FORM_JSON || i.form == FORM_VAL_JSON;
}

static bool is_text(struct inode i)
{
	return i.form == FORM_TEXT || i.form == FORM_VAL_TEXT || is_json(i);
}

int tree_wait_text(struct tree *t, uint64_t inode, struct error *err)
{
	struct inode i;
	struct dataset_object o;
	if (!inode_unpack(inode, &i) || !is_text(i) || !object_of(i, &o))
		return fail(err, ENOENT, "no text of a batch");
	return readables_make(t->readables, inode, &o, is_json(i), err);
}

bool tree_text_at_hand(struct tree *t, uint64_t inode, void *page, size_t room)
{
	struct inode i;
	struct dataset_object o;
	uint64_t size, off = 0;
	/* Documents' names are read from where the text is. */
	if (!inode_unpack(inode, &i) || !is_text(i) || is_json(i) || !object_of(i, &o) ||
	    dataset_size_now(t->d, &o, &size) != 0)
		return false;
	for (size_t n; off < size; off += n) {
		n = (size_t)min_u64(room, size - off);
		if (dataset_read_now(t->d, &o, off, page, n) != 0)
			return false;
	}
	return true;
}

/* What is counted as a read: not the few pages of a mount itself. */
static enum stats_kind kind_of(struct inode i)
{
	if (is_text(i))
		return STATS_TEXT;
	switch (i.form) {
	case FORM_BIN:
	case FORM_NPY:
	case FORM_VAL_BIN:
	case FORM_VAL_NPY:
		return STATS_BATCH;
	case FORM_EPOCH_BIN:
	case FORM_VAL_EPOCH_BIN:
		return STATS_EPOCH;
	case FORM_SHARD:
		return STATS_SHARD;
	default:
		return STATS_KINDS;
	}
}

void tree_note_read(struct tree *t, uint64_t inode, int64_t n, int64_t ns, bool waited)
{
	struct inode i;
	enum stats_kind kind = inode_unpack(inode, &i) ? kind_of(i) : STATS_KINDS;
	if (n < 0)
		tree_note_error(t, (int)n);
	else if (kind != STATS_KINDS)
		stats_note_read(t->stats, kind, (size_t)n, ns, waited);
}

void tree_note_error(struct tree *t, int r)
{
	if (r != -ENOENT && r != -ENOTDIR && r != -EISDIR && r != -EINTR)
		stats_note_error(t->stats);
}

void tree_note_ahead(struct tree *t, size_t n)
{
	stats_note_ahead(t->stats, n);
}

void tree_note_ahead_read(struct tree *t)
{
	stats_note_ahead_read(t->stats);
}

/* Whether a folder or fixed file of this number is in this mount: others have numbers too. */
static bool is_here(const struct tree *t, struct inode i)
{
	if (i.rank >= t->scope.ranks)
		return false;
	if (i.form == FORM_FIXED && i.number == FIXED_VAL)
		return t->scope.val;
	return i.form != FORM_VAL_RANK_DIR || t->scope.val;
}

static int fixed_attributes(struct tree *t, uint32_t which, struct tree_attributes *out,
                            struct tree_wait *wait)
{
	size_t size = 0;
	int r = 0;
	switch (which) {
	case FIXED_README:
		out->size = info_readme_size(t->info);
		break;
	case FIXED_DATASET:
		out->constant = false;
		r = info_dataset_size(t->info, &size, &out->mtime);
		out->ctime = out->mtime;
		out->size = size;
		*wait = (struct tree_wait){ .facts = true };
		break;
	case FIXED_STATS:
	case FIXED_PROM:
		out->constant = false;
		out->size = which == FIXED_STATS ? stats_json_size(t->stats) : stats_prom_size(t->stats);
		clock_gettime(CLOCK_REALTIME, &out->mtime);
		break;
	default:
		break;
	}
	return r;
}

static int attributes_of(struct tree *t, struct inode i, struct tree_attributes *out, struct tree_wait *wait)
{
	*out = (struct tree_attributes){
		.inode = inode_pack(i),
		.directory = inode_is_directory(i),
		.constant = true,
		.mtime = { .tv_sec = (time_t)t->facts.date },
		.ctime = { .tv_sec = (time_t)t->facts.date },
	};
	if (!is_here(t, i))
		return -ENOENT;
	if (i.form == FORM_FIXED)
		return fixed_attributes(t, i.number, out, wait);
	struct dataset_object o;
	if (!object_of(i, &o))
		return 0;
	int r = dataset_size_now(t->d, &o, &out->size);
	if (is_text(i) && (r == 0 || r == -EAGAIN)) {
		r = readables_size_now(t->readables, out->inode, &out->size);
		if (r == -EAGAIN)
			*wait = (struct tree_wait){ .text = true, .inode = out->inode };
		return r;
	}
	if (r == -EAGAIN)
		*wait = (struct tree_wait){ .object = o };
	if (is_npy(i))
		out->size += NPY_HEADER;
	return r;
}

int tree_attributes(struct tree *t, uint64_t inode, struct tree_attributes *out, struct tree_wait *wait)
{
	struct inode i;
	return inode_unpack(inode, &i) ? attributes_of(t, i, out, wait) : -ENOENT;
}

static bool child_of_root(enum name_kind kind, uint32_t number, struct inode *out)
{
	static const uint32_t fixed[] = {
		[NAME_README] = FIXED_README, [NAME_DATASET] = FIXED_DATASET, [NAME_STATS] = FIXED_STATS,
		[NAME_VAL] = FIXED_VAL,       [NAME_SHARDS] = FIXED_SHARDS,   [NAME_PROM] = FIXED_PROM,
	};
	*out = (struct inode){ .form = FORM_FIXED };
	if (kind == NAME_RANK)
		*out = (struct inode){ .form = FORM_RANK_DIR, .rank = number };
	else if (kind == NAME_EPOCH)
		*out = (struct inode){ .form = FORM_EPOCH_DIR, .epoch = number };
	else if (kind != NAME_OTHER && kind < sizeof fixed / sizeof fixed[0])
		out->number = fixed[kind];
	else
		return false;
	return true;
}

static bool child_of_rank(struct inode folder, bool val, enum name_kind kind, uint32_t number,
                          struct inode *out)
{
	*out = (struct inode){ .epoch = folder.epoch, .rank = folder.rank, .number = number };
	switch (kind) {
	case NAME_BIN:
		out->form = val ? FORM_VAL_BIN : FORM_BIN;
		return true;
	case NAME_NPY:
		out->form = val ? FORM_VAL_NPY : FORM_NPY;
		return true;
	case NAME_TEXT:
		out->form = val ? FORM_VAL_TEXT : FORM_TEXT;
		return true;
	case NAME_JSON:
		out->form = val ? FORM_VAL_JSON : FORM_JSON;
		return true;
	case NAME_EPOCH_BIN:
		out->form = val ? FORM_VAL_EPOCH_BIN : FORM_EPOCH_BIN;
		return true;
	default:
		return false;
	}
}

static int shard_of(struct tree *t, const char *name, struct inode *out, struct tree_wait *wait)
{
	uint64_t number;
	int r = dataset_shard_number(t->d, name, &number);
	if (r == -EAGAIN)
		*wait = (struct tree_wait){ .object = { .kind = OBJECT_SHARD } };
	if (r == 0 && number >= INODE_NUMBERS)
		r = -ENOENT;
	if (r == 0)
		*out = (struct inode){ .form = FORM_SHARD, .number = (uint32_t)number };
	return r;
}

int tree_lookup(struct tree *t, uint64_t folder, const char *name, struct tree_attributes *out,
                struct tree_wait *wait)
{
	struct inode in, child = { 0 };
	uint32_t number;
	bool found = false;
	if (!inode_unpack(folder, &in))
		return -ENOENT;
	if (!inode_is_directory(in))
		return -ENOTDIR;
	if (in.form == FORM_FIXED && in.number == FIXED_SHARDS) {
		int r = shard_of(t, name, &child, wait);
		return r == 0 ? attributes_of(t, child, out, wait) : r;
	}
	enum name_kind kind = name_parse(name, &number);
	switch (in.form) {
	case FORM_FIXED:
		if (in.number == FIXED_ROOT)
			found = child_of_root(kind, number, &child);
		else
			found = kind == NAME_RANK;
		if (in.number == FIXED_VAL)
			child = (struct inode){ .form = FORM_VAL_RANK_DIR, .rank = number };
		break;
	case FORM_EPOCH_DIR:
		found = kind == NAME_RANK;
		child = (struct inode){ .form = FORM_EPOCH_RANK_DIR, .epoch = in.epoch, .rank = number };
		break;
	case FORM_RANK_DIR:
		in.epoch = t->scope.epoch;
		found = child_of_rank(in, false, kind, number, &child);
		break;
	default:
		found = child_of_rank(in, in.form == FORM_VAL_RANK_DIR, kind, number, &child);
		break;
	}
	return found ? attributes_of(t, child, out, wait) : -ENOENT;
}

static int64_t read_fixed(struct tree *t, uint32_t which, uint64_t off, void *buf, size_t n)
{
	int64_t r = -EISDIR;
	if (which == FIXED_README)
		r = info_read_readme(t->info, off, buf, n);
	else if (which == FIXED_DATASET)
		r = info_read_dataset(t->info, off, buf, n);
	else if (which == FIXED_STATS)
		r = stats_read_json(t->stats, off, buf, n);
	else if (which == FIXED_PROM)
		r = stats_read_prom(t->stats, off, buf, n);
	/* Who reads has asked for the attributes before, which wait for the text. */
	return r == -EAGAIN ? -EIO : r;
}

int64_t tree_read(struct tree *t, uint64_t inode, uint64_t off, void *buf, size_t n, struct tree_rest *rest)
{
	struct inode i;
	uint64_t size = t->facts.batch_bytes, head = 0;
	if (!inode_unpack(inode, &i))
		return -ENOENT;
	if (i.form == FORM_FIXED)
		return read_fixed(t, i.number, off, buf, n);
	if (!object_of(i, &rest->object))
		return -EISDIR;
	rest->text = is_text(i);
	if (rest->text)
		return readables_read_now(t->readables, inode, off, buf, n);
	int r = rest->object.kind == OBJECT_BATCH ? 0 : dataset_size_now(t->d, &rest->object, &size);
	if (r != 0)
		return r == -EAGAIN ? -ENOENT : r;
	if (is_npy(i))
		head = NPY_HEADER;
	if (off >= head + size)
		return 0;
	n = (size_t)min_u64(n, head + size - off);
	rest->skip = 0;
	if (off < head) {
		rest->skip = (size_t)min_u64(n, head - off);
		memcpy(buf, t->npy + off, rest->skip);
	}
	rest->off = off + rest->skip - head;
	rest->n = n - rest->skip;
	r = rest->n == 0
	            ? 0
	            : dataset_read_now(t->d, &rest->object, rest->off, (char *)buf + rest->skip, rest->n);
	return r == 0 ? (int64_t)n : r;
}

size_t tree_batch_bytes(const struct tree *t)
{
	return (size_t)t->facts.batch_bytes;
}

bool tree_next(struct tree *t, uint64_t *inode, uint64_t *off)
{
	struct inode i;
	struct dataset_object o;
	uint64_t size;
	if (!inode_unpack(*inode, &i) || is_text(i) || !object_of(i, &o) ||
	    dataset_size_now(t->d, &o, &size) != 0)
		return false;
	if (*off < size + (is_npy(i) ? NPY_HEADER : 0))
		return true;
	if (o.kind != OBJECT_BATCH)
		return false;
	o.number = ++i.number;
	*inode = inode_pack(i);
	*off = 0;
	return i.number < INODE_NUMBERS && dataset_size_now(t->d, &o, &size) == 0;
}

int tree_list(struct tree *t, uint64_t folder, uint64_t off, tree_emit *emit, void *arg,
              struct tree_wait *wait)
{
	struct inode i;
	if (!inode_unpack(folder, &i) || !is_here(t, i))
		return -ENOENT;
	if (!inode_is_directory(i))
		return -ENOTDIR;
	return page_list(&t->scope, i, off, emit, arg, wait);
}

bool tree_list_is_final(struct tree *t, uint64_t folder)
{
	struct inode i;
	return inode_unpack(folder, &i) && page_is_final(&t->scope, i);
}

static const char xattr_names[] =
        "user.fineweb.epoch\0user.fineweb.rank\0user.fineweb.batch\0user.fineweb.dtype\0"
        "user.fineweb.shape";

const char *tree_xattrs(uint64_t inode, size_t *n)
{
	struct inode i;
	struct dataset_object o;
	bool batch = inode_unpack(inode, &i) && object_of(i, &o) && o.kind == OBJECT_BATCH;
	*n = batch ? sizeof xattr_names : 0;
	return xattr_names;
}

int tree_xattr(struct tree *t, uint64_t inode, const char *name, char out[NAME_SIZE])
{
	static const char prefix[] = "user.fineweb.";
	struct inode i;
	struct dataset_object o;
	if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !inode_unpack(inode, &i) || !object_of(i, &o) ||
	    o.kind != OBJECT_BATCH)
		return -ENODATA;
	name += sizeof prefix - 1;
	if (strcmp(name, "epoch") == 0)
		return snprintf(out, NAME_SIZE, "%" PRIu32, i.epoch);
	if (strcmp(name, "rank") == 0)
		return snprintf(out, NAME_SIZE, "%" PRIu32, i.rank);
	if (strcmp(name, "batch") == 0)
		return snprintf(out, NAME_SIZE, "%" PRIu32, i.number);
	if (strcmp(name, "dtype") == 0)
		return snprintf(out, NAME_SIZE, "%s", t->facts.dtype);
	if (strcmp(name, "shape") == 0)
		return snprintf(out, NAME_SIZE, "%" PRIu32 ",%" PRIu32, t->facts.options->batch_size,
		                t->facts.options->seq_len + 1);
	return -ENODATA;
}

void tree_size(struct tree *t, uint64_t *bytes, uint64_t *files)
{
	struct dataset_counts train, val;
	dataset_counts(t->d, false, &train);
	dataset_counts(t->d, true, &val);
	*bytes = (train.tokens + val.tokens) * t->facts.width;
	*files = (train.batches_known + val.batches_known) * t->scope.ranks;
}
