#include "format/parquet_delta.h"

#include "base/checked.h"
#include "format/parquet_bits.h"

/* Far more than any writer uses (128 … 2048), and products of it fit. */
#define BLOCK_MOST ((uint64_t)1 << 30)

static bool read_zigzag(struct span *in, uint64_t *out)
{
	uint64_t v;
	if (!span_uleb(in, &v))
		return false;
	*out = v >> 1 ^ (0 - (v & 1));
	return true;
}

static bool begin_block(struct parquet_delta *d)
{
	return read_zigzag(&d->in, &d->min) && span_take(&d->in, d->minis, &d->widths);
}

static bool begin_mini(struct parquet_delta *d)
{
	uint8_t width;
	if (d->widths.n == 0 && !begin_block(d))
		return false;
	if (!span_u8(&d->widths, &width) || width > 64)
		return false;
	d->width = width;
	d->bit = 0;
	d->in_mini = d->per_mini;
	return span_take(&d->in, (size_t)d->per_mini / 8 * width, &d->bits);
}

/* Passes over every miniblock that has numbers: only so is it known where they end. */
static bool find_end(struct parquet_delta d, struct span *end)
{
	uint64_t left = d.left > 0 ? d.left - 1 : 0;
	while (left > 0) {
		if (!begin_mini(&d))
			return false;
		left -= min_u64(left, d.per_mini);
	}
	*end = d.in;
	return true;
}

bool parquet_delta_begin(struct parquet_delta *d, struct span *in, bool narrow)
{
	uint64_t block, minis;
	*d = (struct parquet_delta){ .in = *in, .narrow = narrow };
	if (!span_uleb(&d->in, &block) || !span_uleb(&d->in, &minis) || !span_uleb(&d->in, &d->left) ||
	    !read_zigzag(&d->in, &d->last))
		return false;
	if (block == 0 || block > BLOCK_MOST || block % 128 != 0 || minis == 0 || block % minis != 0 ||
	    block / minis % 32 != 0)
		return false;
	d->minis = (uint32_t)minis;
	d->per_mini = (uint32_t)(block / minis);
	return find_end(*d, in);
}

bool parquet_delta_next(struct parquet_delta *d, int64_t *out)
{
	if (d->left == 0)
		return false;
	if (d->begun) {
		if (d->in_mini == 0 && !begin_mini(d))
			return false;
		d->in_mini--;
		d->last += d->min + parquet_bits(d->bits, d->bit, d->width);
		d->bit += d->width;
	}
	d->begun = true;
	d->left--;
	*out = d->narrow ? (int64_t)(int32_t)(uint32_t)d->last : (int64_t)d->last;
	return true;
}
