#include "mount/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define STEP 16384         /* bytes that are gathered between two looks for a request */
#define LARGE (256u << 10) /* bytes of a read from which on the thread gathers */
#define PART (64u << 10)   /* bytes of a large read that thread and loop take in turn, about */
#define PARTS_MOST 80

enum work { WORK_NONE, WORK_STEP, WORK_QUEUED, WORK_RUNNING, WORK_GATHERED };

struct reader {
	uint64_t inode, off; /* of what it will ask for next */
	size_t n;            /* bytes it will ask for */
	unsigned streak;     /* how often that was right */
	uint64_t used;
	bool ended; /* the file has no more than `have` */
	size_t have, room;
	uint8_t *buf;
	uint8_t *other; /* of large reads: what is being handed to the kernel */
	size_t other_room;
	size_t lead, each; /* bytes of the first part, which ends where a batch does, and of the others */
	atomic_uint taken; /* parts of a large read that somebody has begun */
	int64_t part[PARTS_MOST]; /* bytes of each, or -errno */
	_Atomic enum work work;   /* changed under the lock from WORK_QUEUED on; while it is WORK_RUNNING the
	                             reader is the thread's */
};

struct ahead {
	struct tree *tree;
	struct reader readers[AHEAD_READERS];
	struct reader *answering; /* whose read is being answered, for ahead_note */
	bool noted;               /* what comes next is being gathered already */
	uint64_t clock;
	pthread_mutex_t lock;
	pthread_cond_t queued, finished;
	pthread_t thread;
	bool started, stop;
};

/* Gathers up to `end` bytes of what the reader will ask for. False when they are not at hand. */
static bool gather(struct ahead *a, struct reader *r, size_t end, size_t step)
{
	struct tree_rest rest;
	while (r->have < end && !r->ended) {
		size_t part = (size_t)min_u64(end - r->have, step);
		int64_t n = tree_read(a->tree, r->inode, r->off + r->have, r->buf + r->have, part, &rest);
		if (n < 0)
			return false;
		tree_note_ahead(a->tree, (size_t)n);
		r->have += (size_t)n;
		r->ended = (size_t)n < part;
	}
	return true;
}

static size_t parts_of(const struct reader *r)
{
	return r->n <= r->lead ? 1 : 1 + (size_t)ceil_div(r->n - r->lead, r->each);
}

/* Where part k begins. */
static size_t part_at(const struct reader *r, size_t k)
{
	return k == 0 ? 0 : (size_t)min_u64(r->n, r->lead + (k - 1) * r->each);
}

/* Whole batches are found faster than the parts of two. */
static void set_parts(struct ahead *a, struct reader *r)
{
	size_t batch = tree_batch_bytes(a->tree);
	r->each = batch >= PART / 4 && batch <= 2 * PART ? batch : PART;
	r->lead = (size_t)min_u64(r->n, r->each - r->off % r->each);
	if (parts_of(r) > PARTS_MOST)
		r->each = r->lead = r->n;
}

/* Gathers one part of a large read, side by side with whoever else does. False when all are taken. */
static bool gather_part(struct ahead *a, struct reader *r)
{
	struct tree_rest rest;
	size_t k = atomic_fetch_add(&r->taken, 1);
	if (k >= parts_of(r))
		return false;
	size_t at = part_at(r, k), n = part_at(r, k + 1) - at;
	r->part[k] = tree_read(a->tree, r->inode, r->off + at, r->buf + at, n, &rest);
	if (r->part[k] > 0)
		tree_note_ahead(a->tree, (size_t)r->part[k]);
	return true;
}

static void gather_parts(struct ahead *a, struct reader *r)
{
	while (gather_part(a, r))
		;
}

/* What the parts come to: the bytes before the first that is short or failed. */
static void join_parts(struct reader *r)
{
	for (size_t k = 0, parts = parts_of(r); k < parts && !r->ended; k++) {
		size_t n = part_at(r, k + 1) - part_at(r, k);
		if (r->part[k] < 0)
			break;
		r->have += (size_t)r->part[k];
		r->ended = (size_t)r->part[k] < n;
	}
}

/* ---- the thread ---- */

static struct reader *newest(struct ahead *a, enum work work)
{
	struct reader *found = NULL;
	for (struct reader *r = a->readers; r < a->readers + AHEAD_READERS; r++)
		if (r->work == work && (found == NULL || r->used > found->used))
			found = r;
	return found;
}

static void *gather_thread(void *arg)
{
	struct ahead *a = arg;
	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		struct reader *r = newest(a, WORK_QUEUED);
		if (r == NULL) {
			pthread_cond_wait(&a->queued, &a->lock);
			continue;
		}
		r->work = WORK_RUNNING;
		pthread_mutex_unlock(&a->lock);
		gather_parts(a, r);
		pthread_mutex_lock(&a->lock);
		r->work = WORK_GATHERED;
		pthread_cond_signal(&a->finished);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Takes a reader back from the thread, with all that it was to gather where `whole` says so. */
static void settle(struct ahead *a, struct reader *r, bool whole)
{
	if (r->work == WORK_NONE || r->work == WORK_STEP) {
		r->work = WORK_NONE;
		return;
	}
	if (whole)
		gather_parts(a, r);
	pthread_mutex_lock(&a->lock);
	while (r->work == WORK_RUNNING)
		pthread_cond_wait(&a->finished, &a->lock);
	r->work = WORK_NONE;
	pthread_mutex_unlock(&a->lock);
	if (whole)
		join_parts(r);
}

/* ---- the loop thread ---- */

/* Sets up what the reader will ask for after it has read up to `off`. False: nothing is known to be there. */
static bool expect(struct ahead *a, struct reader *r, uint64_t inode, uint64_t off, size_t n)
{
	r->used = ++a->clock;
	r->have = 0;
	r->ended = false;
	r->n = n;
	r->inode = inode;
	r->off = off;
	if (!tree_next(a->tree, &r->inode, &r->off)) {
		r->used = 0;
		return false;
	}
	if (r->streak == 0)
		return false;
	if (r->room < n) {
		free(r->buf);
		r->buf = malloc(n);
		r->room = r->buf == NULL ? 0 : n;
	}
	return r->room >= n;
}

static void start_large(struct ahead *a, struct reader *r)
{
	set_parts(a, r);
	atomic_store(&r->taken, 0);
	pthread_mutex_lock(&a->lock);
	r->work = WORK_QUEUED;
	pthread_cond_signal(&a->queued);
	pthread_mutex_unlock(&a->lock);
}

const void *ahead_take(struct ahead *a, uint64_t inode, uint64_t off, size_t n, size_t *got)
{
	struct reader *r = a->readers;
	a->answering = NULL;
	a->noted = false;
	while (r < a->readers + AHEAD_READERS && (r->used == 0 || r->inode != inode || r->off != off))
		r++;
	if (r == a->readers + AHEAD_READERS)
		return NULL;
	a->answering = r;
	settle(a, r, true);
	r->streak++;
	if (r->have == 0 || n > r->room || !gather(a, r, n, n))
		return NULL;
	*got = (size_t)min_u64(n, r->have);
	const uint8_t *answer = r->buf;
	if (n >= LARGE) {
		size_t room = r->other_room;
		r->other_room = r->room;
		r->buf = r->other;
		r->room = room;
		r->other = (uint8_t *)(uintptr_t)answer;
		a->noted = true;
		if (expect(a, r, inode, off + n, n))
			start_large(a, r);
	}
	return answer;
}

static struct reader *oldest(struct ahead *a)
{
	struct reader *old = a->readers;
	for (struct reader *r = a->readers; r < a->readers + AHEAD_READERS; r++)
		if (r->used < old->used)
			old = r;
	settle(a, old, false);
	old->streak = 0;
	return old;
}

void ahead_note(struct ahead *a, uint64_t inode, uint64_t off, size_t n)
{
	if (a->noted)
		return;
	struct reader *r = a->answering != NULL ? a->answering : oldest(a);
	a->answering = NULL;
	if (!expect(a, r, inode, off + n, n))
		return;
	if (n >= LARGE)
		start_large(a, r);
	else
		r->work = WORK_STEP;
}

int ahead_step(struct ahead *a)
{
	struct reader *r = newest(a, WORK_STEP);
	if (r == NULL)
		return newest(a, WORK_RUNNING) != NULL || newest(a, WORK_QUEUED) != NULL ? -1 : 0;
	bool good = gather(a, r, (size_t)min_u64(r->n, r->have + STEP), STEP);
	if (!good || r->ended || r->have >= r->n)
		r->work = WORK_NONE;
	return 1;
}

/* ---- life ---- */

int ahead_new(struct tree *t, struct ahead **out, struct error *err)
{
	struct ahead *a = calloc(1, sizeof *a);
	if (a == NULL)
		return fail(err, ENOMEM, "no memory for the mount");
	a->tree = t;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->queued, NULL);
	pthread_cond_init(&a->finished, NULL);
	int r = pthread_create(&a->thread, NULL, gather_thread, a);
	a->started = r == 0;
	if (r != 0) {
		ahead_free(a);
		return fail(err, r, "thread: %s", strerror(r));
	}
	*out = a;
	return 0;
}

void ahead_free(struct ahead *a)
{
	if (a == NULL)
		return;
	if (a->started) {
		pthread_mutex_lock(&a->lock);
		a->stop = true;
		pthread_cond_signal(&a->queued);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	for (size_t i = 0; i < AHEAD_READERS; i++) {
		free(a->readers[i].buf);
		free(a->readers[i].other);
	}
	pthread_cond_destroy(&a->finished);
	pthread_cond_destroy(&a->queued);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
