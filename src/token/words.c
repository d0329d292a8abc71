#include "token/words.h"

#include <errno.h>
#include <stdlib.h>

#include "token/huge.h"

/* No key has this: its length would be 255. A word that is too long has another one. */
#define BUSY (UINT64_C(255) << 56)

/* Counters have a cache line each, or threads that add words would take them from those that only read. */
#define LINE 64

/* The largest power of two that is at most n, at least 8. */
static size_t power(size_t n)
{
	size_t p = 8;
	while (p <= n / 2)
		p *= 2;
	return p;
}

int words_make(struct words *w, size_t most)
{
	if (most > SIZE_MAX / 2)
		return -ENOMEM;
	size_t entries = power(most / 3 * 2 / sizeof *w->at), slots = power(most / 128), room = most / 4 + 8;
	size_t bytes = entries * sizeof *w->at + slots * sizeof *w->slot + 2 * LINE + room;
	uint8_t *at = huge_make(bytes);
	if (at == NULL)
		return -ENOMEM;
	*w = (struct words){ .at = (struct word *)(void *)at,
		             .mask = entries - 1,
		             .shift = 64 - (unsigned)__builtin_ctzll(entries),
		             .slots = slots,
		             .room = room,
		             .mapped = bytes };
	at += entries * sizeof *w->at;
	w->slot = (_Atomic uint64_t *)(void *)at;
	at += slots * sizeof *w->slot;
	w->left = (_Atomic size_t *)(void *)at;
	w->used = (_Atomic size_t *)(void *)(at + LINE);
	w->record = at + 2 * LINE;
	/* With this much empty, a search is short. A cache of no bytes has its few entries, and puts nothing
	 * into them. */
	atomic_init(w->left, most >= 4096 ? entries / 4 * 3 : 0);
	/* 0 is no record. */
	atomic_init(w->used, most >= 4096 ? 8 : room);
	return 0;
}

void words_free(struct words *w)
{
	huge_free(w->at, w->mapped);
	*w = (struct words){ 0 };
}

#define ONES(bytes) ((bytes) >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * ((bytes)&7)) - 1)
#define MASK(n)                                    \
	{                                          \
		ONES(n), ONES((n) > 8 ? (n)-8 : 0) \
	}

const struct word_key word_mask[WORD_BYTES + 1] = {
	MASK(0), MASK(1), MASK(2),  MASK(3),  MASK(4),  MASK(5),  MASK(6),  MASK(7),
	MASK(8), MASK(9), MASK(10), MASK(11), MASK(12), MASK(13), MASK(14), MASK(15),
};

/* A number of `width` bytes in place k of eight bytes in memory. */
static inline uint64_t place(uint64_t number, unsigned k, unsigned width)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	k = 8 / width - 1 - k;
#endif
	return number << 8 * width * k;
}

/* The ids as word_put wants them: put together in registers, for memory is slow to give back as a whole what
 * it got in parts. */
static inline void pack(const uint32_t *ids, unsigned n, unsigned width, uint64_t two[2])
{
	unsigned each = 8 / width;
	two[0] = 0;
	two[1] = place(n, each - 1, width);
	for (unsigned i = 0; i < n && i < word_most(width); i++)
		two[i / each] |= place(ids[i], i % each, width);
}

bool words_add(const struct words *w, struct word_key key, uint64_t hash, const uint32_t *ids, unsigned n,
               unsigned width)
{
	uint64_t two[2];
	if (atomic_load_explicit(w->left, memory_order_relaxed) == 0)
		return false;
	pack(ids, n, width, two);
	for (size_t i = 0; i < WORD_PLACES; i++) {
		struct word *e = &w->at[words_place(w, hash) ^ i];
		uint64_t hi = 0;
		if (!atomic_compare_exchange_strong_explicit(&e->hi, &hi, BUSY, memory_order_relaxed,
		                                             memory_order_relaxed)) {
			if (hi == key.hi && atomic_load_explicit(&e->lo, memory_order_relaxed) == key.lo)
				return true;
			continue;
		}
		atomic_fetch_sub_explicit(w->left, 1, memory_order_relaxed);
		atomic_store_explicit(&e->lo, key.lo, memory_order_relaxed);
		atomic_store_explicit(&e->ids[0], two[0], memory_order_relaxed);
		atomic_store_explicit(&e->ids[1], two[1], memory_order_relaxed);
		atomic_store_explicit(&e->hi, key.hi, memory_order_release);
		return true;
	}
	return false;
}

bool words_seed(struct words *w, struct word_key key, uint64_t hash, const uint32_t *ids, unsigned n,
                unsigned width)
{
	uint64_t two[2];
	size_t left = atomic_load_explicit(w->left, memory_order_relaxed);
	pack(ids, n, width, two);
	for (size_t i = 0; left > 0 && i < WORD_PLACES; i++) {
		struct word *e = &w->at[words_place(w, hash) ^ i];
		if (atomic_load_explicit(&e->hi, memory_order_relaxed) != 0)
			continue;
		atomic_store_explicit(w->left, left - 1, memory_order_relaxed);
		atomic_store_explicit(&e->lo, key.lo, memory_order_relaxed);
		atomic_store_explicit(&e->ids[0], two[0], memory_order_relaxed);
		atomic_store_explicit(&e->ids[1], two[1], memory_order_relaxed);
		atomic_store_explicit(&e->hi, key.hi, memory_order_relaxed);
		return true;
	}
	return false;
}

#define HEAD 4

const uint8_t *words_find_long(const struct words *w, const uint8_t *p, size_t n, uint64_t hash,
                               unsigned width, unsigned *count)
{
	for (size_t i = 0; i < WORD_PLACES; i++) {
		uint64_t slot =
		        atomic_load_explicit(&w->slot[(hash + i) & (w->slots - 1)], memory_order_acquire);
		if (slot == 0)
			return NULL;
		if (slot >> 32 != hash >> 32)
			continue;
		const uint8_t *record = w->record + 8 * (slot & UINT32_MAX);
		uint16_t head[2];
		memcpy(head, record, HEAD);
		if (head[0] == n && memcmp(record + HEAD + (size_t)head[1] * width, p, n) == 0) {
			*count = head[1];
			return record + HEAD;
		}
	}
	return NULL;
}

void words_add_long(const struct words *w, const uint8_t *p, size_t n, uint64_t hash, const uint32_t *ids,
                    unsigned count, unsigned width)
{
	size_t size = (HEAD + (size_t)count * width + n + 7) & ~(size_t)7;
	/* Once it is full nothing is tried any more, so that the counter stays where it is. */
	size_t at = atomic_load_explicit(w->used, memory_order_relaxed);
	do {
		if (n > WORD_LONGEST || size > w->room || at > w->room - size || at / 8 > UINT32_MAX)
			return;
	} while (!atomic_compare_exchange_weak_explicit(w->used, &at, at + size, memory_order_relaxed,
	                                                memory_order_relaxed));
	uint8_t *record = w->record + at, *o = record + HEAD;
	memcpy(record, (uint16_t[]){ (uint16_t)n, (uint16_t)count }, HEAD);
	for (unsigned i = 0; i < count; i++, o += width) {
		uint16_t narrow = (uint16_t)ids[i];
		memcpy(o, width == 2 ? (const void *)&narrow : &ids[i], width);
	}
	memcpy(o, p, n);
	for (size_t i = 0; i < WORD_PLACES; i++) {
		uint64_t empty = 0;
		if (atomic_compare_exchange_strong_explicit(&w->slot[(hash + i) & (w->slots - 1)], &empty,
		                                            hash >> 32 << 32 | at / 8, memory_order_release,
		                                            memory_order_relaxed))
			return;
	}
}
