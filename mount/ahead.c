#include "mount/ahead.h"

#include <stdlib.h>

#include "base/checked.h"

#define STEP 65536 /* bytes that are gathered between two looks for a request */

struct reader {
	uint64_t inode, off; /* of what it will ask for next */
	size_t n;            /* bytes it will ask for */
	unsigned streak;     /* how often it was right */
	bool due;            /* there is something to gather */
	bool ended;          /* the file has no more than `have` */
	size_t have, room;
	uint8_t *buf;
	uint64_t used;
};

struct ahead {
	struct tree *tree;
	struct reader readers[AHEAD_READERS];
	struct reader *answering; /* whose read is being answered, for ahead_note */
	uint64_t clock;
	unsigned due;
};

struct ahead *ahead_new(struct tree *t)
{
	struct ahead *a = calloc(1, sizeof *a);
	if (a != NULL)
		a->tree = t;
	return a;
}

void ahead_free(struct ahead *a)
{
	if (a == NULL)
		return;
	for (size_t i = 0; i < AHEAD_READERS; i++)
		free(a->readers[i].buf);
	free(a);
}

static void set_due(struct ahead *a, struct reader *r, bool due)
{
	a->due += due;
	a->due -= r->due;
	r->due = due;
}

/* Gathers up to `end` bytes of what the reader will ask for. False when they are not at hand. */
static bool gather(struct ahead *a, struct reader *r, size_t end)
{
	struct tree_rest rest;
	while (r->have < end && !r->ended) {
		size_t part = (size_t)min_u64(end - r->have, STEP);
		int64_t n = tree_read(a->tree, r->inode, r->off + r->have, r->buf + r->have, part, &rest);
		if (n < 0)
			return false;
		r->have += (size_t)n;
		r->ended = (size_t)n < part;
	}
	return true;
}

const void *ahead_take(struct ahead *a, uint64_t inode, uint64_t off, size_t n, size_t *got)
{
	a->answering = NULL;
	for (struct reader *r = a->readers; r < a->readers + AHEAD_READERS; r++) {
		if (r->used == 0 || r->inode != inode || r->off != off)
			continue;
		a->answering = r;
		r->streak++;
		set_due(a, r, false);
		if (r->have == 0 || n > r->room || !gather(a, r, n))
			return NULL;
		*got = (size_t)min_u64(n, r->have);
		return r->buf;
	}
	return NULL;
}

static struct reader *oldest(struct ahead *a)
{
	struct reader *old = a->readers;
	for (struct reader *r = a->readers; r < a->readers + AHEAD_READERS; r++)
		if (r->used < old->used)
			old = r;
	set_due(a, old, false);
	old->streak = 0;
	return old;
}

void ahead_note(struct ahead *a, uint64_t inode, uint64_t off, size_t n)
{
	struct reader *r = a->answering != NULL ? a->answering : oldest(a);
	a->answering = NULL;
	r->used = ++a->clock;
	r->have = 0;
	r->ended = false;
	r->n = n;
	r->inode = inode;
	r->off = off + n;
	if (!tree_next(a->tree, &r->inode, &r->off)) {
		r->used = 0;
		return;
	}
	if (r->streak == 0)
		return;
	if (r->room < n) {
		free(r->buf);
		r->buf = malloc(n);
		r->room = r->buf == NULL ? 0 : n;
	}
	set_due(a, r, r->room >= n);
}

bool ahead_step(struct ahead *a)
{
	if (a->due == 0)
		return false;
	struct reader *newest = NULL;
	for (struct reader *r = a->readers; r < a->readers + AHEAD_READERS; r++)
		if (r->due && (newest == NULL || r->used > newest->used))
			newest = r;
	if (newest == NULL)
		return false;
	bool good = gather(a, newest, (size_t)min_u64(newest->n, newest->have + STEP));
	if (!good || newest->ended || newest->have >= newest->n)
		set_due(a, newest, false);
	return true;
}
