#include "token/words.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* No key has this: its length would be 255. A word that is too long has another one. */
#define BUSY (UINT64_C(255) << 56)

int words_make(struct words *w, size_t most)
{
	size_t entries = WORD_PLACES;
	while (entries * 2 * sizeof *w->at <= most && entries < SIZE_MAX / 4 / sizeof *w->at)
		entries *= 2;
	size_t bytes = entries * sizeof *w->at;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	w->left = malloc(sizeof *w->left);
	if (w->left == NULL) {
		munmap(at, bytes);
		return -ENOMEM;
	}
	/* A search is a random access: with huge pages it does not miss the TLB too. */
	madvise(at, bytes, MADV_HUGEPAGE);
	w->at = at;
	w->mask = entries - 1;
	atomic_init(w->left, bytes <= most ? entries / 4 * 3 : 0);
	return 0;
}

void words_free(struct words *w)
{
	if (w->at != NULL)
		munmap(w->at, (w->mask + 1) * sizeof *w->at);
	free(w->left);
	*w = (struct words){ 0 };
}

#define ONES(bytes) ((bytes) >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * ((bytes) & 7)) - 1)
#define MASK(n) { ONES(n), ONES((n) > 8 ? (n) - 8 : 0) }

const struct word_key word_mask[WORD_BYTES + 1] = {
	MASK(0), MASK(1), MASK(2), MASK(3), MASK(4), MASK(5), MASK(6), MASK(7),
	MASK(8), MASK(9), MASK(10), MASK(11), MASK(12), MASK(13), MASK(14), MASK(15),
};

/* The ids as word_put wants them. */
static void pack(const uint32_t *ids, unsigned n, unsigned width, uint64_t two[2])
{
	uint16_t narrow[8] = { [7] = (uint16_t)n };
	uint32_t wide[4] = { [3] = n };
	for (unsigned i = 0; i < n && i < word_most(width); i++) {
		if (width == 2)
			narrow[i] = (uint16_t)ids[i];
		else
			wide[i] = ids[i];
	}
	memcpy(two, width == 2 ? (const void *)narrow : wide, 16);
}

void words_add(const struct words *w, struct word_key key, size_t hash, const uint32_t *ids, unsigned n, unsigned width)
{
	uint64_t two[2];
	if (atomic_load_explicit(w->left, memory_order_relaxed) == 0)
		return;
	pack(ids, n, width, two);
	for (size_t i = 0; i < WORD_PLACES; i++) {
		struct word *e = &w->at[(hash ^ i) & w->mask];
		uint64_t hi = 0;
		if (!atomic_compare_exchange_strong_explicit(&e->hi, &hi, BUSY, memory_order_relaxed,
							     memory_order_relaxed)) {
			if (hi == key.hi && atomic_load_explicit(&e->lo, memory_order_relaxed) == key.lo)
				return;
			continue;
		}
		atomic_fetch_sub_explicit(w->left, 1, memory_order_relaxed);
		atomic_store_explicit(&e->lo, key.lo, memory_order_relaxed);
		atomic_store_explicit(&e->ids[0], two[0], memory_order_relaxed);
		atomic_store_explicit(&e->ids[1], two[1], memory_order_relaxed);
		atomic_store_explicit(&e->hi, key.hi, memory_order_release);
		return;
	}
}
