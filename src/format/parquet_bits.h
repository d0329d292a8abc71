/* parquet_bits: numbers of a few bits each, packed from the lowest bit of each byte (Encodings.md, RLE and
 * DELTA). */
#ifndef FW_FORMAT_PARQUET_BITS_H
#define FW_FORMAT_PARQUET_BITS_H

#include <stdint.h>

#include "base/span.h"

/* The `width` (0 … 64) bits from bit `bit` on; what lies behind the span counts as zero. */
static inline uint64_t parquet_bits(struct span s, uint64_t bit, unsigned width)
{
	uint64_t byte = bit / 8, v = 0;
	unsigned shift = (unsigned)(bit % 8);
	if (width == 0)
		return 0;
	if (byte < s.n && s.n - byte >= 9) {
		v = load_u64(s.at + byte) >> shift;
		if (shift + width > 64)
			v |= (uint64_t)s.at[byte + 8] << (64 - shift);
	} else {
		for (unsigned i = 0; 8 * i < shift + width && byte + i < s.n; i++) {
			uint64_t b = s.at[byte + i];
			v |= i == 0 ? b >> shift : b << (8 * i - shift);
		}
	}
	return width == 64 ? v : v & (((uint64_t)1 << width) - 1);
}

#endif
