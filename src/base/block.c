#include "base/block.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* A sanitizer sees the use of a freed block only if it really is freed. */
#ifdef __SANITIZE_ADDRESS__
#define KEEPS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS false
#endif
#endif
#ifndef KEEPS
#define KEEPS true
#endif

struct block {
	size_t room; /* bytes behind this */
	alignas(max_align_t) unsigned char at[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *kept[BLOCKS_KEPT]; /* the one unused for longest is the first */
static size_t count, bytes, bound = BLOCK_BOUND;

static struct block *of(void *at)
{
	return (struct block *)(void *)((unsigned char *)at - offsetof(struct block, at));
}

/* Under the lock. */
static struct block *take_out(size_t i)
{
	struct block *b = kept[i];
	count--;
	bytes -= b->room;
	memmove(&kept[i], &kept[i + 1], (count - i) * sizeof *kept);
	return b;
}

/* A kept block that is little larger than n, or NULL. */
static struct block *find(size_t n)
{
	struct block *b = NULL;
	pthread_mutex_lock(&lock);
	for (size_t i = count; b == NULL && i-- > 0;)
		if (kept[i]->room >= n && kept[i]->room - n <= n / 4)
			b = take_out(i);
	pthread_mutex_unlock(&lock);
	return b;
}

static void *make(struct block *old, size_t n)
{
	size_t size;
	struct block *b = add_size(n, sizeof *b, &size) ? realloc(old, size) : NULL;
	if (b == NULL)
		return NULL;
	b->room = n;
	return b->at;
}

void *block_new(size_t n)
{
	struct block *b = n >= BLOCK_LEAST && n <= BLOCK_MOST ? find(n) : NULL;
	return b != NULL ? b->at : make(NULL, n);
}

void *block_grow(void *at, size_t n)
{
	if (at == NULL)
		return block_new(n);
	return n <= of(at)->room ? at : make(of(at), n);
}

/* Frees kept blocks until n more bytes have room among them. */
static void make_room(size_t n)
{
	for (struct block *b;; free(b)) {
		pthread_mutex_lock(&lock);
		bool full = count > 0 && (count == BLOCKS_KEPT || bytes > bound || n > bound - bytes);
		b = full ? take_out(0) : NULL;
		pthread_mutex_unlock(&lock);
		if (!full)
			return;
	}
}

/* Whether a block was kept. */
static bool keep(struct block *b)
{
	if (!KEEPS || b->room < BLOCK_LEAST || b->room > BLOCK_MOST)
		return false;
	make_room(b->room);
	pthread_mutex_lock(&lock);
	bool room = count < BLOCKS_KEPT && bytes <= bound && b->room <= bound - bytes;
	if (room) {
		kept[count++] = b;
		bytes += b->room;
	}
	pthread_mutex_unlock(&lock);
	return room;
}

void block_free(void *at)
{
	if (at != NULL && !keep(of(at)))
		free(of(at));
}

void block_bound(size_t n)
{
	pthread_mutex_lock(&lock);
	bound = n;
	pthread_mutex_unlock(&lock);
	make_room(0);
}
