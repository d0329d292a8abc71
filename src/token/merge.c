#include "token/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"

/* Up to here looking at every pair for the lowest one is faster than a heap. */
#define SHORT 64

static int64_t merge_short(const struct vocab *v, const struct pairs *pairs, const uint8_t *p, uint32_t n,
                           uint32_t *ids)
{
	/* By the place of a part's first byte; rank is that of the part with the next one. Parts that are
	 * gone have none. */
	uint32_t rank[SHORT];
	uint8_t next[SHORT + 1], prev[SHORT + 1];
	for (uint32_t i = 0; i < n; i++) {
		ids[i] = v->byte[p[i]];
		next[i] = (uint8_t)(i + 1);
		prev[i + 1] = (uint8_t)i;
		rank[i] = i + 1 < n ? pairs->bytes[p[i] << 8 | p[i + 1]] : PAIRS_NONE;
	}
	for (;;) {
		uint64_t low = UINT64_MAX;
		for (uint32_t i = 0; i + 1 < n; i++) {
			uint64_t here = (uint64_t)rank[i] << 32 | i;
			low = here < low ? here : low;
		}
		uint32_t best = (uint32_t)(low >> 32), i = (uint32_t)low;
		if (best == PAIRS_NONE)
			break;
		uint32_t gone = next[i], after = next[gone];
		ids[i] = pairs_made(pairs, best);
		rank[gone] = PAIRS_NONE;
		next[i] = (uint8_t)after;
		prev[after] = (uint8_t)i;
		rank[i] = after < n ? pairs_find(pairs, ids[i], ids[after]) : PAIRS_NONE;
		if (i > 0)
			rank[prev[i]] = pairs_find(pairs, ids[prev[i]], ids[i]);
	}
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i = next[i])
		ids[count++] = ids[i];
	return count;
}

/* A heap of rank << 32 | start, the lowest first; entries that no longer hold are left in it and told by
 * rank[]. */
struct heap {
	uint64_t *at;
	size_t n;
};

static void heap_add(struct heap *h, uint64_t entry)
{
	size_t i = h->n++;
	for (; i > 0 && h->at[(i - 1) / 2] > entry; i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = entry;
}

static uint64_t heap_take(struct heap *h)
{
	uint64_t top = h->at[0], last = h->at[--h->n];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && h->at[child + 1] < h->at[child])
			child++;
		if (h->at[child] >= last)
			break;
		h->at[i] = h->at[child];
	}
	h->at[i] = last;
	return top;
}

struct chain {
	const struct pairs *pairs;
	uint32_t *ids;
	uint32_t n;
	uint32_t *next, *prev, *rank; /* by the start of a part; next of the last part is n */
	struct heap heap;
};

/* Notes the rank of the part at i with the one behind it. */
static void rate(struct chain *c, uint32_t i)
{
	c->rank[i] = c->next[i] < c->n ? pairs_find(c->pairs, c->ids[i], c->ids[c->next[i]]) : PAIRS_NONE;
	if (c->rank[i] != PAIRS_NONE)
		heap_add(&c->heap, (uint64_t)c->rank[i] << 32 | i);
}

static int reserve(struct merge *m, size_t n)
{
	/* Each byte: next, prev and rank, and at most 3 heap entries, for a merge takes one part away and
	 * adds two entries. */
	size_t need;
	if (!mul_size(n, 3 * sizeof(uint64_t) + 3 * sizeof(uint32_t), &need))
		return -ENOMEM;
	if (need <= m->room)
		return 0;
	free(m->at);
	m->at = malloc(need);
	m->room = m->at != NULL ? need : 0;
	return m->at != NULL ? 0 : -ENOMEM;
}

static int64_t merge_long(struct merge *m, const struct pairs *pairs, size_t n, uint32_t *ids)
{
	if (reserve(m, n) < 0)
		return -ENOMEM;
	uint64_t *heap = m->at;
	uint32_t *next = (uint32_t *)(heap + 3 * n);
	struct chain c = { .pairs = pairs,
		           .ids = ids,
		           .n = (uint32_t)n,
		           .next = next,
		           .prev = next + n,
		           .rank = next + 2 * n,
		           .heap = { .at = heap } };
	for (uint32_t i = 0; i < n; i++) {
		c.next[i] = i + 1;
		c.prev[i] = i - 1;
	}
	for (uint32_t i = 0; i < n; i++)
		rate(&c, i);
	while (c.heap.n > 0) {
		uint64_t entry = heap_take(&c.heap);
		uint32_t i = (uint32_t)entry;
		if (c.rank[i] != entry >> 32)
			continue;
		uint32_t gone = c.next[i];
		ids[i] = pairs_made(pairs, c.rank[i]);
		c.next[i] = c.next[gone];
		c.rank[gone] = PAIRS_NONE;
		if (c.next[i] < n)
			c.prev[c.next[i]] = i;
		rate(&c, i);
		if (i > 0)
			rate(&c, c.prev[i]);
	}
	int64_t count = 0;
	for (uint32_t i = 0; i < n; i = c.next[i])
		ids[count++] = ids[i];
	return count;
}

int64_t merge_word(struct merge *m, const struct vocab *v, const struct pairs *pairs, const uint8_t *p,
                   size_t n, uint32_t *ids)
{
	if (n <= SHORT)
		return merge_short(v, pairs, p, (uint32_t)n, ids);
	for (size_t i = 0; i < n; i++)
		ids[i] = v->byte[p[i]];
	return merge_long(m, pairs, n, ids);
}

int64_t merge_long_word(struct merge *m, const struct longest *l, const uint8_t *p, size_t n, uint32_t *ids)
{
	size_t need = n / 64 + 1;
	if (need > m->dead_room) {
		free(m->dead);
		m->dead = calloc(need, sizeof *m->dead);
		m->dead_room = m->dead != NULL ? need : 0;
		if (m->dead == NULL)
			return -ENOMEM;
	}
	return (int64_t)longest_encode(l, p, n, ids, m->dead);
}

void merge_free(struct merge *m)
{
	free(m->dead);
	free(m->at);
	*m = (struct merge){ 0 };
}
