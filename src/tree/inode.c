#include "tree/inode.h"

uint64_t inode_pack(struct inode i)
{
	return (uint64_t)i.form << 59 | (uint64_t)i.epoch << 47 | (uint64_t)i.rank << 31 | i.number;
}

/* Which parts a form has; the others are 0, so that each object has one number only. */
static const struct {
	bool epoch, rank, number;
} parts[FORMS] = {
	[FORM_FIXED] = { .number = true },
	[FORM_EPOCH_DIR] = { .epoch = true },
	[FORM_RANK_DIR] = { .rank = true },
	[FORM_EPOCH_RANK_DIR] = { .epoch = true, .rank = true },
	[FORM_VAL_RANK_DIR] = { .rank = true },
	[FORM_BIN] = { .epoch = true, .rank = true, .number = true },
	[FORM_NPY] = { .epoch = true, .rank = true, .number = true },
	[FORM_EPOCH_BIN] = { .epoch = true, .rank = true },
	[FORM_VAL_BIN] = { .rank = true, .number = true },
	[FORM_VAL_NPY] = { .rank = true, .number = true },
	[FORM_VAL_EPOCH_BIN] = { .rank = true },
	[FORM_SHARD] = { .number = true },
	[FORM_TEXT] = { .epoch = true, .rank = true, .number = true },
	[FORM_JSON] = { .epoch = true, .rank = true, .number = true },
	[FORM_VAL_TEXT] = { .rank = true, .number = true },
	[FORM_VAL_JSON] = { .rank = true, .number = true },
};

bool inode_unpack(uint64_t number, struct inode *out)
{
	unsigned form = (unsigned)(number >> 59);
	if (form >= FORMS)
		return false;
	*out = (struct inode){
		.form = (enum form)form,
		.epoch = (uint32_t)(number >> 47) & (INODE_EPOCHS - 1),
		.rank = (uint32_t)(number >> 31) & (INODE_RANKS - 1),
		.number = (uint32_t)(number & (INODE_NUMBERS - 1)),
	};
	if ((!parts[form].epoch && out->epoch != 0) || (!parts[form].rank && out->rank != 0) ||
	    (!parts[form].number && out->number != 0))
		return false;
	return form != FORM_FIXED || (out->number >= FIXED_ROOT && out->number < FIXED_END);
}
