/* pairs: which two neighbours become one, and in what order.
 *
 * Filled once, then immutable: any number of threads may read it.
 */
#ifndef FW_TOKEN_PAIRS_H
#define FW_TOKEN_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "token/vocab.h"

/* Ranks are below PAIRS_MOST, and PAIRS_NONE is not a rank. */
#define PAIRS_MOST ((1u << 22) - 1)
#define PAIRS_NONE UINT32_MAX

struct pairs {
	uint64_t *at;  /* open addressing: left 21 bits, right 21 bits, rank + 1 in 22 bits; 0 is empty */
	uint32_t mask; /* entries - 1 */
	/* Bits, four an entry, one set for each pair: most neighbours are no pair, and this small table says
	 * so. */
	uint64_t *maybe;
	unsigned shift;  /* of the hash, to a bit */
	uint32_t *made;  /* by rank: the id that the pair becomes; NULL: the rank is that id */
	uint32_t *bytes; /* by two bytes, the first one high: the rank of their tokens */
};

/* Room for n pairs. *p is zeroed before. 0 or -ENOMEM. */
int pairs_make(struct pairs *p, size_t n);

/* Adds a pair; one that is there gets the new rank. */
void pairs_add(struct pairs *p, uint32_t left, uint32_t right, uint32_t rank);

/* Pairs of tokens whose bytes together are a token, ranked by that token's id, as tiktoken has it: every one,
 * or where cuts is not NULL only the one that leaves this many of each token's bytes to the left (0: none),
 * see vocab/mkcuts.py. 0 or -ENOMEM. */
int pairs_of_vocab(struct pairs *p, const struct vocab *v, const uint8_t *cuts);

/* Fills `bytes` when all pairs are there. 0 or -ENOMEM. */
int pairs_of_bytes(struct pairs *p, const struct vocab *v);

void pairs_free(struct pairs *p);

static inline uint64_t pairs_hash(uint64_t key)
{
	return key * UINT64_C(0x9E3779B97F4A7C15);
}

/* Fetches the place of a pair that is added next. */
static inline void pairs_fetch(const struct pairs *p, uint32_t left, uint32_t right)
{
	uint64_t hash = pairs_hash((uint64_t)left << 21 | right);
	__builtin_prefetch(&p->at[(uint32_t)(hash >> 32) & p->mask], 1);
}

/* The rank of two neighbours, or PAIRS_NONE. */
static inline uint32_t pairs_find(const struct pairs *p, uint32_t left, uint32_t right)
{
	uint64_t key = (uint64_t)left << 21 | right, hash = pairs_hash(key), bit = hash >> p->shift;
	if ((p->maybe[bit / 64] >> (bit % 64) & 1) == 0)
		return PAIRS_NONE;
	for (uint32_t s = (uint32_t)(hash >> 32) & p->mask;; s = (s + 1) & p->mask) {
		uint64_t entry = p->at[s];
		if (entry >> 22 == key && entry != 0)
			return ((uint32_t)entry & PAIRS_MOST) - 1;
		if (entry == 0)
			return PAIRS_NONE;
	}
}

/* The id that a pair of this rank becomes. */
static inline uint32_t pairs_made(const struct pairs *p, uint32_t rank)
{
	return p->made != NULL ? p->made[rank] : rank;
}

#endif
