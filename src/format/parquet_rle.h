/* parquet_rle: numbers by the RLE / bit-packing hybrid: levels and dictionary indices (Encodings.md, RLE =
 * 3). */
#ifndef FW_FORMAT_PARQUET_RLE_H
#define FW_FORMAT_PARQUET_RLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct parquet_rle {
	struct span in;    /* runs to come */
	unsigned width;    /* bits of a number, 0 … 32 */
	uint64_t left;     /* numbers left in this run */
	bool packed;
	uint32_t value;    /* of a repeated run */
	struct span bits;  /* of a packed run */
	uint64_t bit;
};

/* Reads from `in`, which holds runs only (no length before them). width <= 32. */
void parquet_rle_begin(struct parquet_rle *r, struct span in, unsigned width);

/* The next number; false when there is none or the run is malformed. A last packed run may be cut short, as
 * some writers do; numbers of no bits need no bytes at all. */
bool parquet_rle_next(struct parquet_rle *r, uint32_t *out);

#endif
