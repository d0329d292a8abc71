#include "token/words.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* No key has this: its length would be 255. */
#define BUSY UINT64_MAX

int words_make(struct words *w, size_t entries)
{
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
	atomic_init(w->left, entries / 4 * 3);
	return 0;
}

void words_free(struct words *w)
{
	if (w->at != NULL)
		munmap(w->at, (w->mask + 1) * sizeof *w->at);
	free(w->left);
	*w = (struct words){ 0 };
}

void words_add(const struct words *w, struct word_key key, size_t hash, const uint32_t *ids, unsigned n)
{
	uint32_t four[WORD_IDS] = { 0 };
	if (atomic_load_explicit(w->left, memory_order_relaxed) == 0)
		return;
	memcpy(four, ids, n * sizeof *ids);
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
		atomic_store_explicit(&e->ids[0], four[0] | n << 24 | (uint64_t)four[1] << 32, memory_order_relaxed);
		atomic_store_explicit(&e->ids[1], four[2] | (uint64_t)four[3] << 32, memory_order_relaxed);
		atomic_store_explicit(&e->hi, key.hi, memory_order_release);
		return;
	}
}
