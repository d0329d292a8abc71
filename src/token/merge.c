#include "token/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"

/* Up to here looking at every pair for the lowest one is faster than a heap. */
#define SHORT 64

static int64_t merge_short(const struct vocab *v, const uint8_t *p, size_t n, uint32_t *ids)
{
	/* Part i is the bytes start[i] ... start[i + 1] - 1; rank[i] is that of parts i and i + 1 together. */
	uint32_t start[SHORT + 2], rank[SHORT + 1];
	uint32_t parts = (uint32_t)n;
	for (uint32_t i = 0; i < parts; i++)
		start[i] = i;
	start[parts] = parts;
	for (uint32_t i = 0; i + 1 < parts; i++)
		rank[i] = vocab_find(v, p + i, 2);
	while (parts > 1) {
		uint32_t low = 0;
		for (uint32_t i = 1; i + 1 < parts; i++)
			if (rank[i] < rank[low])
				low = i;
		if (rank[low] == VOCAB_NONE)
			break;
		parts--;
		for (uint32_t i = low + 1; i < parts; i++) {
			start[i] = start[i + 1];
			rank[i] = rank[i + 1];
		}
		start[parts] = start[parts + 1];
		if (low + 1 < parts)
			rank[low] = vocab_find(v, p + start[low], start[low + 2] - start[low]);
		if (low > 0)
			rank[low - 1] = vocab_find(v, p + start[low - 1], start[low + 1] - start[low - 1]);
	}
	for (uint32_t i = 0; i < parts; i++)
		ids[i] = vocab_find(v, p + start[i], start[i + 1] - start[i]);
	return parts;
}

/* A heap of rank << 32 | start, the lowest first; entries that no longer hold are left in it and told by rank[]. */
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
	const struct vocab *v;
	const uint8_t *p;
	uint32_t n;
	uint32_t *next, *prev, *rank; /* by the start of a part; next of the last part is n */
	struct heap heap;
};

/* Notes the rank of the part at i with the one behind it. */
static void rate(struct chain *c, uint32_t i)
{
	uint32_t second = c->next[i];
	c->rank[i] = second < c->n ? vocab_find(c->v, c->p + i, c->next[second] - i) : VOCAB_NONE;
	if (c->rank[i] != VOCAB_NONE)
		heap_add(&c->heap, (uint64_t)c->rank[i] << 32 | i);
}

static int reserve(struct merge *m, size_t n)
{
	/* Each byte: next, prev and rank, and at most 3 heap entries, for a merge takes one part away and adds two entries. */
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

int64_t merge_word(struct merge *m, const struct vocab *v, const uint8_t *p, size_t n, uint32_t *ids)
{
	if (n <= SHORT)
		return merge_short(v, p, n, ids);
	if (reserve(m, n) < 0)
		return -ENOMEM;
	uint64_t *heap = m->at;
	uint32_t *next = (uint32_t *)(heap + 3 * n);
	struct chain c = { .v = v, .p = p, .n = (uint32_t)n, .next = next, .prev = next + n, .rank = next + 2 * n,
			   .heap = { .at = heap } };
	for (uint32_t i = 0; i < n; i++) {
		c.next[i] = i + 1;
		c.prev[i] = i - 1;
		c.rank[i] = VOCAB_NONE;
	}
	for (uint32_t i = 0; i + 1 < n; i++) {
		c.rank[i] = vocab_find(v, p + i, 2);
		if (c.rank[i] != VOCAB_NONE)
			heap_add(&c.heap, (uint64_t)c.rank[i] << 32 | i);
	}
	while (c.heap.n > 0) {
		uint64_t entry = heap_take(&c.heap);
		uint32_t i = (uint32_t)entry;
		if (c.rank[i] != entry >> 32)
			continue;
		uint32_t gone = c.next[i];
		c.next[i] = c.next[gone];
		c.rank[gone] = VOCAB_NONE;
		if (c.next[i] < n)
			c.prev[c.next[i]] = i;
		rate(&c, i);
		if (i > 0)
			rate(&c, c.prev[i]);
	}
	int64_t count = 0;
	for (uint32_t i = 0; i < n; i = c.next[i])
		ids[count++] = vocab_find(v, p + i, c.next[i] - i);
	return count;
}

void merge_free(struct merge *m)
{
	free(m->at);
	*m = (struct merge){ 0 };
}
