/* permute: keyed bijections on 0 ... n-1 that can be inverted, in constant memory.
 *
 * Source: design.md's reference order.py (`mix64`, `key`, `permute`, `unpermute`): alternating Feistel
 * rounds over the finalizer of SplitMix64 on a domain of the next power of two, walked until the result
 * is below n. All arithmetic mod 2^64. Pure, any thread.
 */
#ifndef FW_ORDER_PERMUTE_H
#define FW_ORDER_PERMUTE_H

#include <stdint.h>

enum { LEVEL_FILES = 1, LEVEL_PIECES = 2, LEVEL_BLOCK = 3, LEVEL_FULL = 4 };

uint64_t mix64(uint64_t x);
/* The 64-bit key of one permutation. */
uint64_t order_key(uint64_t seed, uint64_t epoch, uint64_t level, uint64_t a, uint64_t b);

/* A permutation, made ready; plain data, copy at will. */
struct permutation {
	uint64_t n;
	uint64_t round_key[16];
	uint64_t high_mask, low_mask;
	unsigned low_bits, rounds;
};
void permutation_init(struct permutation *p, uint64_t key, uint64_t n);
/* Position i < n, and its inverse; n <= 1 gives i. */
uint64_t permute(const struct permutation *p, uint64_t i);
uint64_t unpermute(const struct permutation *p, uint64_t y);
/* out[j] = permute(p, in[j]) for count positions; faster than one after another; the scalar twin is
 * permute. in may be out. */
void permute_many(const struct permutation *p, const uint64_t *in, uint64_t *out, unsigned count);

#endif
