/* words: the ids of words seen before, shared by all encoders of a tokenizer.
 *
 * A cache: a word may be missing at any time, and what is there never changes or goes. Bounded when it is
 * made; once it is full nothing more is learnt. Any number of threads may find and add at the same time.
 */
#ifndef FW_TOKEN_WORDS_H
#define FW_TOKEN_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words that are longer or have more ids than word_most do not fit into an entry. */
#define WORD_BYTES 15

/* The bytes of a word behind which are zeros, the last byte is their number: never all zero. */
struct word_key {
	uint64_t lo, hi;
};

/* By length: the bits of a key that are the word's. Little-endian. */
extern const struct word_key word_mask[WORD_BYTES + 1];

/* Two share a cache line. hi is written last and says that the others are there. */
struct word {
	_Atomic uint64_t lo, hi;
	_Atomic uint64_t ids[2]; /* as bytes: 7 ids of 2 bytes, or 3 of 4 bytes, and in the last one's place
	                            how many */
};

struct words {
	struct word *at;
	size_t mask;          /* entries - 1, a power of two less one */
	unsigned shift;       /* of a hash, to a place */
	_Atomic size_t *left; /* how many may be added */
	/* What does not fit into an entry: a slot has 32 bits of the hash and, in 8 bytes, where the record
	 * is; 0 is empty. A record is two bytes of length, two of how many ids, the ids and the word. */
	_Atomic uint64_t *slot;
	size_t slots; /* a power of two */
	uint8_t *record;
	size_t room; /* bytes of records */
	_Atomic size_t *used;
	size_t mapped; /* bytes of all this, which is one piece of memory */
};

/* Words of more bytes are encoded anew each time. */
#define WORD_LONGEST 256

/* Room for words in at most `bytes` of memory, two thirds of it for short ones; too few for any are as good
 * as none. 0 or -ENOMEM. */
int words_make(struct words *w, size_t bytes);
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

/* The key of the word of `length` bytes at p, of which 16 can be read; of a word that is too long, one that
 * no word has. */
static inline struct word_key word_key_in(const uint8_t *p, size_t length)
{
	if (__builtin_expect(length > WORD_BYTES, 0))
		return (struct word_key){ .hi = UINT64_MAX };
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	struct word_key key;
	memcpy(&key, p, sizeof key);
	key.lo &= word_mask[length].lo;
	key.hi = (key.hi & word_mask[length].hi) | (uint64_t)length << 56;
	return key;
#else
	return word_key(p, length);
#endif
}

/* The same of the word at i of a text of n bytes. */
static inline struct word_key word_key_at(const uint8_t *p, size_t n, size_t i, size_t length)
{
	return length > WORD_BYTES || n - i >= 16 ? word_key_in(p + i, length) : word_key(p + i, length);
}

/* Its upper bits are the best ones. */
static inline uint64_t word_hash(struct word_key key)
{
	return (key.lo + key.hi * UINT64_C(0xD6E8FEB86659FD93)) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The first place where a word with this hash may be. */
static inline size_t words_place(const struct words *w, uint64_t hash)
{
	return (size_t)(hash >> w->shift);
}

/* Entries are looked for in this many places, so that no text can make a search long. */
#define WORD_PLACES 8

static inline const struct word *words_find(const struct words *w, struct word_key key, uint64_t hash)
{
	for (size_t i = 0; i < WORD_PLACES; i++) {
		const struct word *e = &w->at[words_place(w, hash) ^ i];
		uint64_t hi = atomic_load_explicit(&e->hi, memory_order_acquire);
		if (hi == key.hi && atomic_load_explicit(&e->lo, memory_order_relaxed) == key.lo)
			return e;
		if (hi == 0)
			return NULL;
	}
	return NULL;
}

static inline bool word_is(const struct word *e, struct word_key key)
{
	uint64_t hi = atomic_load_explicit(&e->hi, memory_order_acquire);
	uint64_t lo = atomic_load_explicit(&e->lo, memory_order_relaxed);
	return ((hi ^ key.hi) | (lo ^ key.lo)) == 0;
}

/* Most ids that are kept of a word, when an id has `width` bytes. */
static inline unsigned word_most(unsigned width)
{
	return 16 / width - 1;
}

/* Writes the ids of a word behind the `done` first ones of ids, always 16 bytes, of which only the first ids
 * count. Returns how many do. */
static inline unsigned word_put(const struct word *e, void *ids, size_t done, unsigned width)
{
	uint64_t two[2] = { atomic_load_explicit(&e->ids[0], memory_order_relaxed),
		            atomic_load_explicit(&e->ids[1], memory_order_relaxed) };
	memcpy((uint8_t *)ids + done * width, two, sizeof two);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (unsigned)(two[1] >> (width == 2 ? 48 : 32));
#else
	return width == 2 ? (unsigned)(two[1] & 0xFFFF) : (unsigned)(two[1] & UINT32_MAX);
#endif
}

/* Keeps 1 ... word_most(width) ids of a word, where there is room: false when there is none. */
bool words_add(const struct words *w, struct word_key key, uint64_t hash, const uint32_t *ids, unsigned n,
               unsigned width);

/* The same before any other thread knows of w, for a word that is not there. */
bool words_seed(struct words *w, struct word_key key, uint64_t hash, const uint32_t *ids, unsigned n,
                unsigned width);

/* The hash of a word of more than 15 bytes. */
static inline uint64_t words_long_hash(const uint8_t *p, size_t n)
{
	uint64_t h = n;
	for (size_t i = 0;; i += 16) {
		/* The last 16 bytes overlap those before. */
		if (i + 16 > n)
			i = n - 16;
		uint64_t two[2];
		memcpy(two, p + i, sizeof two);
		__uint128_t m = (__uint128_t)(two[0] ^ h ^ UINT64_C(0x9E3779B97F4A7C15)) *
		                (two[1] ^ UINT64_C(0xD6E8FEB86659FD93));
		h = (uint64_t)m ^ (uint64_t)(m >> 64);
		if (i + 16 == n)
			return h;
	}
}

/* The ids, `width` bytes each, of a word with this hash, and their number; NULL: it is not there. */
const uint8_t *words_find_long(const struct words *w, const uint8_t *p, size_t n, uint64_t hash,
                               unsigned width, unsigned *count);

/* Keeps the ids of a word of at most WORD_LONGEST bytes, where there is room. */
void words_add_long(const struct words *w, const uint8_t *p, size_t n, uint64_t hash, const uint32_t *ids,
                    unsigned count, unsigned width);

#endif
