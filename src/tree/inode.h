/* inode: what a 64-bit inode number says: form 5 bits | epoch 12 | rank 16 | batch 31.
 *
 * Form 0 holds the root and the fixed files, so that the root is FUSE's number 1. A number tells all about
 * its object; there is no table, and nothing to forget. Pure functions.
 */
#ifndef FW_TREE_INODE_H
#define FW_TREE_INODE_H

#include <stdbool.h>
#include <stdint.h>

#define INODE_EPOCHS 4096                /* epochs are below it */
#define INODE_RANKS 65536                /* ranks are below it */
#define INODE_NUMBERS (INT64_C(1) << 31) /* batches, and files of shards/, are below it */

enum form {
	FORM_FIXED,          /* number: enum fixed */
	FORM_EPOCH_DIR,      /* epoch_E/ */
	FORM_RANK_DIR,       /* rank_N/ of the root */
	FORM_EPOCH_RANK_DIR, /* epoch_E/rank_N/ */
	FORM_VAL_RANK_DIR,   /* val/rank_N/ */
	FORM_BIN,            /* batch_XXXX.bin; rank_N/ and epoch_E/rank_N/ share these */
	FORM_NPY,
	FORM_EPOCH_BIN, /* epoch.bin of a rank */
	FORM_VAL_BIN,
	FORM_VAL_NPY,
	FORM_VAL_EPOCH_BIN,
	FORM_SHARD, /* file `number` of shards/ */
	FORM_TEXT,
	FORM_JSON,
	FORM_VAL_TEXT,
	FORM_VAL_JSON,
	FORMS
};

enum fixed {
	FIXED_ROOT = 1,
	FIXED_README,
	FIXED_DATASET,
	FIXED_STATS,
	FIXED_VAL,
	FIXED_SHARDS,
	FIXED_PROM,
	FIXED_END
};

struct inode {
	enum form form;
	uint32_t epoch, rank, number;
};

/* The number of an inode whose parts are within the bounds above. */
uint64_t inode_pack(struct inode i);
/* The parts of a number; false for one that inode_pack never makes. */
bool inode_unpack(uint64_t number, struct inode *out);

static inline uint64_t inode_fixed(enum fixed which)
{
	return inode_pack((struct inode){ .form = FORM_FIXED, .number = (uint32_t)which });
}

static inline bool inode_is_directory(struct inode i)
{
	if (i.form == FORM_FIXED)
		return i.number == FIXED_ROOT || i.number == FIXED_VAL || i.number == FIXED_SHARDS;
	return i.form <= FORM_VAL_RANK_DIR;
}

#endif
