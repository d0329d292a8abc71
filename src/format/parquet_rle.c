#include "format/parquet_rle.h"

#include "base/checked.h"
#include "format/parquet_bits.h"

void parquet_rle_begin(struct parquet_rle *r, struct span in, unsigned width)
{
	*r = (struct parquet_rle){ .in = in, .width = width };
	if (width == 0)
		r->left = UINT64_MAX;
}

static bool begin_run(struct parquet_rle *r)
{
	uint64_t header;
	if (!span_uleb(&r->in, &header) || header >> 1 > UINT32_MAX)
		return false;
	uint64_t n = header >> 1;
	r->packed = (header & 1) != 0;
	if (r->packed) {
		uint64_t bytes = min_u64(n * r->width, r->in.n);
		r->left = bytes * 8 / r->width;
		r->bit = 0;
		return span_take(&r->in, (size_t)bytes, &r->bits);
	}
	struct span value;
	if (!span_take(&r->in, (r->width + 7) / 8, &value))
		return false;
	r->left = n;
	r->value = (uint32_t)parquet_bits(value, 0, 32);
	return (uint64_t)r->value >> r->width == 0;
}

bool parquet_rle_next(struct parquet_rle *r, uint32_t *out)
{
	while (r->left == 0)
		if (!begin_run(r))
			return false;
	r->left--;
	if (r->packed) {
		*out = (uint32_t)parquet_bits(r->bits, r->bit, r->width);
		r->bit += r->width;
	} else {
		*out = r->value;
	}
	return true;
}
