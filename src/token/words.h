/* words: the ids of words seen before, shared by all encoders of a tokenizer.
 *
 * A cache: a word may be missing at any time, and what is there never changes or goes. Bounded when it is made; once it is full nothing more is
 * learnt. Any number of threads may find and add at the same time.
 */
#ifndef FW_TOKEN_WORDS_H
#define FW_TOKEN_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Longer words and words of more ids are not kept. */
#define WORD_BYTES 15
#define WORD_IDS 4

/* The bytes of a word behind which are zeros, the last byte is their number: never all zero. */
struct word_key {
	uint64_t lo, hi;
};

/* Two share a cache line. hi is written last and says that the others are there. */
struct word {
	_Atomic uint64_t lo, hi;
	_Atomic uint64_t ids[2]; /* 24 bits an id, in 32; above the first: how many */
};

struct words {
	struct word *at;
	size_t mask; /* entries - 1 */
	_Atomic size_t *left; /* how many may be added */
};

/* Room for `entries` words of 32 bytes, a power of two, at least 8. 0 or -ENOMEM. */
int words_make(struct words *w, size_t entries);
void words_free(struct words *w);

/* 1 ... WORD_BYTES bytes. */
static inline struct word_key word_key(const uint8_t *p, size_t n)
{
	uint8_t b[16] = { 0 };
	struct word_key key;
	memcpy(b, p, n);
	b[15] = (uint8_t)n;
	memcpy(&key, b, sizeof key);
	return key;
}

static inline size_t word_hash(struct word_key key)
{
	__uint128_t m = (__uint128_t)(key.lo ^ UINT64_C(0x9E3779B97F4A7C15)) * (key.hi ^ UINT64_C(0xD6E8FEB86659FD93));
	return (size_t)((uint64_t)m ^ (uint64_t)(m >> 64));
}

/* Entries are looked for in this many places, so that no text can make a search long. */
#define WORD_PLACES 8

static inline const struct word *words_find(const struct words *w, struct word_key key, size_t hash)
{
	for (size_t i = 0; i < WORD_PLACES; i++) {
		const struct word *e = &w->at[(hash ^ i) & w->mask];
		uint64_t hi = atomic_load_explicit(&e->hi, memory_order_acquire);
		if (hi == key.hi && atomic_load_explicit(&e->lo, memory_order_relaxed) == key.lo)
			return e;
		if (hi == 0)
			return NULL;
	}
	return NULL;
}

/* Writes WORD_IDS ids, of which only the first ones count, and returns how many do. */
static inline unsigned word_ids(const struct word *e, uint32_t ids[WORD_IDS])
{
	uint64_t a = atomic_load_explicit(&e->ids[0], memory_order_relaxed);
	uint64_t b = atomic_load_explicit(&e->ids[1], memory_order_relaxed);
	ids[0] = (uint32_t)a & 0xFFFFFF;
	ids[1] = (uint32_t)(a >> 32);
	ids[2] = (uint32_t)b;
	ids[3] = (uint32_t)(b >> 32);
	return (uint32_t)a >> 24;
}

/* Keeps 1 ... WORD_IDS ids of a word, where there is room. */
void words_add(const struct words *w, struct word_key key, size_t hash, const uint32_t *ids, unsigned n);

#endif
