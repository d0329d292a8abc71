/* parquet_delta: whole numbers by their differences, packed in blocks (Encodings.md, DELTA_BINARY_PACKED =
 * 5). */
#ifndef FW_FORMAT_PARQUET_DELTA_H
#define FW_FORMAT_PARQUET_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct parquet_delta {
	uint64_t left;       /* numbers to come */
	bool narrow;         /* differences wrap at 32 bits, not 64 */
	bool begun;
	struct span in;      /* blocks to come */
	uint32_t minis;      /* miniblocks in a block */
	uint32_t per_mini;   /* numbers in a miniblock */
	uint64_t last, min;
	struct span widths;  /* of the miniblocks to come in this block */
	struct span bits;    /* this miniblock */
	unsigned width;
	uint64_t bit;
	uint32_t in_mini;    /* numbers left in it */
};

/* Begins at the head of *in and moves *in behind the last miniblock, where lengths are followed by their
 * bytes. false: malformed, or the bytes end too early; then neither is of use. */
bool parquet_delta_begin(struct parquet_delta *d, struct span *in, bool narrow);

/* The next number; false when there is none. */
bool parquet_delta_next(struct parquet_delta *d, int64_t *out);

#endif
