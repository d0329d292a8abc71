#include "token/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What a window became. */
struct part {
	uint32_t *ids;
	uint32_t n;
	uint32_t kept, end; /* of the ids those that end before what may still change, and where */
};

/* The lowest of eight. */
static inline uint32_t low8(const uint32_t *k)
{
	uint32_t a = k[0] < k[1] ? k[0] : k[1], b = k[2] < k[3] ? k[2] : k[3];
	uint32_t c = k[4] < k[5] ? k[4] : k[5], d = k[6] < k[7] ? k[6] : k[7];
	a = a < b ? a : b;
	c = c < d ? c : d;
	return a < c ? a : c;
}

#define PLACE 7 /* bits of a place in a short word; a rank has 22 */
#define NOTHING (UINT32_MAX << PLACE)

/* The rank of the parts at i and j, as a key that is ordered by rank and then by place. */
static inline uint32_t key_of(const struct pairs *pairs, const uint32_t *ids, uint32_t i, uint32_t j)
{
	return pairs_find(pairs, ids[i], ids[j]) << PLACE | i;
}

/* Of at most MERGE_SHORT bytes, whose ids end before `limit`. Looking at every pair for the lowest one is
 * faster than a heap, more so with the lowest of eight at hand. */
static void merge_short(const struct vocab *v, const struct pairs *pairs, const uint8_t *p, uint32_t n,
                        uint32_t limit, struct part *out)
{
	/* By the place of a part's first byte; the key is that of the part with the next one. Parts that are
	 * gone have none. */
	uint32_t key[MERGE_SHORT], lowest[MERGE_SHORT / 8], *ids = out->ids, groups = (n + 7) / 8;
	uint8_t next[MERGE_SHORT + 1], prev[MERGE_SHORT + 1];
	for (uint32_t i = 0; i + 1 < n; i++) {
		ids[i] = v->byte[p[i]];
		next[i] = (uint8_t)(i + 1);
		prev[i + 1] = (uint8_t)i;
		key[i] = pairs->bytes[p[i] << 8 | p[i + 1]] << PLACE | i;
	}
	ids[n - 1] = v->byte[p[n - 1]];
	next[n - 1] = (uint8_t)n;
	for (uint32_t i = n - 1; i < 8 * groups; i++)
		key[i] = NOTHING;
	for (uint32_t g = 0; g < groups; g++)
		lowest[g] = low8(key + 8 * g);
	for (;;) {
		uint32_t low = lowest[0];
		for (uint32_t g = 1; g < groups; g++)
			low = lowest[g] < low ? lowest[g] : low;
		if (low >= NOTHING)
			break;
		uint32_t i = low & (MERGE_SHORT - 1), gone = next[i], after = next[gone], before = i;
		ids[i] = pairs_made(pairs, low >> PLACE);
		key[gone] = key[i] = NOTHING;
		next[i] = (uint8_t)after;
		if (after < n) {
			prev[after] = (uint8_t)i;
			key[i] = key_of(pairs, ids, i, after);
		}
		if (i > 0) {
			before = prev[i];
			key[before] = key_of(pairs, ids, before, i);
		}
		lowest[i / 8] = low8(key + i / 8 * 8);
		if (before / 8 != i / 8)
			lowest[before / 8] = low8(key + before / 8 * 8);
		if (gone / 8 != i / 8)
			lowest[gone / 8] = low8(key + gone / 8 * 8);
	}
	out->n = out->kept = out->end = 0;
	for (uint32_t i = 0; i < n; i = next[i]) {
		ids[out->n++] = ids[i];
		if (next[i] <= limit) {
			out->kept = out->n;
			out->end = next[i];
		}
	}
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

/* At most 3 heap entries a byte, for a merge takes one part away and adds two entries. */
#define HEAP 3

/* Of at most MERGE_WINDOW bytes. */
static int merge_heap(struct merge_room *room, const struct vocab *v, const struct pairs *pairs,
                      const uint8_t *p, uint32_t n, uint32_t limit, struct part *out)
{
	if (n > room->n) {
		free(room->at);
		room->at = malloc(n * (HEAP * sizeof(uint64_t) + 4 * sizeof(uint32_t)));
		room->n = room->at != NULL ? n : 0;
		if (room->at == NULL)
			return -ENOMEM;
	}
	uint64_t *heap = room->at;
	uint32_t *ids = (uint32_t *)(heap + HEAP * (size_t)n);
	struct chain c = { .pairs = pairs,
		           .ids = ids,
		           .n = n,
		           .next = ids + n,
		           .prev = ids + 2 * (size_t)n,
		           .rank = ids + 3 * (size_t)n,
		           .heap = { .at = heap } };
	for (uint32_t i = 0; i < n; i++) {
		ids[i] = v->byte[p[i]];
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
	*out = (struct part){ .ids = ids };
	for (uint32_t i = 0; i < n; i = c.next[i]) {
		ids[out->n++] = ids[i];
		if (c.next[i] <= limit) {
			out->kept = out->n;
			out->end = c.next[i];
		}
	}
	return 0;
}

unsigned merge_short_word(const struct vocab *v, const struct pairs *pairs, const uint8_t *p, size_t n,
                          uint32_t ids[MERGE_SHORT])
{
	struct part part = { .ids = ids };
	merge_short(v, pairs, p, (uint32_t)n, 0, &part);
	return part.n;
}

/* A long word on its way: the first `count` ids are those of its first `at` bytes, every two neighbours of
 * them the encoding of their bytes, and so is the last one with `expect` behind it. */
struct row {
	struct merge *m;
	const struct vocab *v;
	const struct pairs *pairs;
	const uint8_t *p;
	size_t n, at, count;
	void *ids;
	unsigned width;
	uint32_t expect;
	uint32_t few[2][MERGE_SHORT];
};

static inline uint32_t row_id(const struct row *r, size_t i)
{
	return r->width == 2 ? ((const uint16_t *)r->ids)[i] : ((const uint32_t *)r->ids)[i];
}

static inline void row_add(struct row *r, uint32_t id)
{
	if (r->width == 2)
		((uint16_t *)r->ids)[r->count++] = (uint16_t)id;
	else
		((uint32_t *)r->ids)[r->count++] = id;
}

static inline uint32_t length_of(const struct row *r, uint32_t id)
{
	return (uint32_t)vocab_bytes(r->v, id).n;
}

static int merge_window(struct row *r, unsigned which, size_t at, size_t n, size_t limit, struct part *out)
{
	out->ids = r->few[which];
	if (n > MERGE_SHORT)
		return merge_heap(&r->m->room[which], r->v, r->pairs, r->p + at, (uint32_t)n, (uint32_t)limit,
		                  out);
	merge_short(r->v, r->pairs, r->p + at, (uint32_t)n, (uint32_t)limit, out);
	return 0;
}

/* Whether a window that begins with this id can stand behind the row. 1, 0, -ENOMEM. */
static int can_join(struct row *r, uint32_t id)
{
	struct part two;
	if (r->count == 0 || id == r->expect)
		return 1;
	uint32_t last = row_id(r, r->count - 1), n = length_of(r, last), more = length_of(r, id);
	if (n + more > MERGE_WINDOW)
		return 0;
	int e = merge_window(r, 1, r->at - n, n + more, 0, &two);
	return e < 0 ? e : two.n == 2 && two.ids[0] == last;
}

/* Takes back ids of so many bytes or more. */
static void take_back(struct row *r, size_t bytes)
{
	for (size_t to = r->at > bytes ? r->at - bytes : 0; r->at > to;) {
		r->expect = row_id(r, --r->count);
		r->at -= length_of(r, r->expect);
	}
}

/* The row goes on with the ids that it ended with twice while the text does, as in a run of one character:
 * all neighbours in that have been neighbours before. */
static void repeat(struct row *r)
{
	enum { MOST = 8 };
	size_t ids = 1, period = 0, bytes = 0;
	for (;; ids++) {
		bool same = true;
		if (ids > MOST || 2 * ids > r->count)
			return;
		for (size_t i = 1; i <= ids && same; i++)
			same = row_id(r, r->count - i) == row_id(r, r->count - i - ids);
		if (same)
			break;
	}
	for (size_t i = 1; i <= ids; i++)
		period += length_of(r, row_id(r, r->count - i));
	const uint8_t *p = r->p + r->at;
	while (r->at + bytes < r->n && p[bytes] == p[bytes - period])
		bytes++;
	/* How it ends is left to a window. */
	size_t times = bytes / period, left = MERGE_SHORT / 2 / period + 1;
	if (times <= left)
		return;
	times -= left;
	r->at += times * period;
	for (size_t i = times * ids; i > 0; i--)
		row_add(r, row_id(r, r->count - ids));
	r->expect = row_id(r, r->count - ids);
}

int64_t merge_word(struct merge *m, const struct vocab *v, const struct pairs *pairs, const uint8_t *p,
                   size_t n, void *ids, unsigned width)
{
	struct row r = { .m = m, .v = v, .pairs = pairs, .p = p, .n = n, .ids = ids, .width = width };
	for (size_t window = MERGE_SHORT; r.at < n;) {
		size_t left = n - r.at, size = left < window ? left : window;
		struct part part;
		int e = merge_window(&r, 0, r.at, size, size - size / 4, &part);
		if (e == 0)
			e = can_join(&r, part.ids[0]);
		if (e < 0)
			return e;
		uint32_t keep = size == left ? part.n : part.kept;
		if (e == 0 || keep == 0) {
			if (size == MERGE_WINDOW)
				return -ENOTSUP;
			if (window < MERGE_WINDOW)
				window *= 2;
			if (e == 0)
				take_back(&r, window / 4);
			continue;
		}
		for (uint32_t i = 0; i < keep; i++)
			row_add(&r, part.ids[i]);
		r.at += size == left ? size : part.end;
		window = MERGE_SHORT;
		if (r.at < n) {
			r.expect = part.ids[keep];
			repeat(&r);
		}
	}
	return (int64_t)r.count;
}

void merge_free(struct merge *m)
{
	free(m->room[0].at);
	free(m->room[1].at);
	*m = (struct merge){ 0 };
}
