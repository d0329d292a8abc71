#define _GNU_SOURCE
#include "base/share.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/block.h"
#include "base/checked.h"
#include "base/guard.h"
#include "base/log.h"

#define EXACT ((size_t)1 << 20) /* bytes from which a buffer grows by a sixteenth, not to the double */

void share_pool_init(struct share_pool *p)
{
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->alone, NULL);
	p->used = 0;
	atomic_init(&p->crowded, false);
	if (p->grow != NULL)
		guard_start();
}

void share_pool_free(struct share_pool *p)
{
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->alone);
}

bool share_crowded(struct share_pool *p)
{
	return atomic_load_explicit(&p->crowded, memory_order_relaxed);
}

/* Takes n bytes of those that all have together; false: there are not so many. */
static bool take_small(struct share *s, size_t n)
{
	struct share_pool *p = s->pool;
	if (s->large)
		return false;
	pthread_mutex_lock(&p->lock);
	bool had = n <= p->small - p->used;
	if (had)
		p->used += n;
	pthread_mutex_unlock(&p->lock);
	s->held += had ? n : 0;
	return had;
}

static void give_small(struct share_pool *p, size_t n)
{
	pthread_mutex_lock(&p->lock);
	p->used -= n;
	pthread_mutex_unlock(&p->lock);
}

int share_take(struct share *s, size_t n, struct error *err)
{
	struct share_pool *p = s->pool;
	if (p == NULL || take_small(s, n))
		return 0;
	if (n > p->large || s->held > p->large - n)
		return fail(
		        err, ENOTSUP,
		        "%zu bytes are needed at once, %zu of `memory` are to be had for it, and there is no "
		        "disk that takes them: give more `memory` or a `cache`",
		        s->held + n, p->large);
	if (!s->large) {
		give_small(p, s->held);
		pthread_mutex_lock(&p->alone);
		atomic_store(&p->crowded, true);
		s->large = true;
		if (p->room != NULL)
			p->room(p->arg);
	}
	s->held += n;
	return 0;
}

void share_give(struct share *s, size_t n)
{
	s->held -= s->pool == NULL ? 0 : n;
	if (s->pool != NULL && !s->large)
		give_small(s->pool, n);
}

bool share_lost(struct share *s)
{
	return s->disked && guard_lost();
}

void share_end(struct share *s)
{
	if (s->pool == NULL)
		return;
	share_give(s, s->held);
	if (s->large) {
		atomic_store(&s->pool->crowded, false);
		pthread_mutex_unlock(&s->pool->alone);
	}
	s->large = false;
}

static size_t next_room(const struct buffer *b, size_t want)
{
	size_t room = b->room < 256 ? 256 : b->room;
	if (want > EXACT)
		return b->room == 0 || want > SIZE_MAX - want / 16 ? want : want + want / 16;
	while (room < want)
		room *= 2;
	return room;
}

/* Moves a buffer from where it is to `at`. */
static void move(struct buffer *b, uint8_t *at, size_t room, bool mapped, int fd)
{
	struct buffer now = {
		.at = at, .n = b->n, .room = room, .share = b->share, .mapped = mapped, .fd = fd
	};
	if (b->n > 0)
		memcpy(at, b->at, b->n);
	share_release(b);
	*b = now;
}

static int grow_mapped(struct buffer *b, size_t room, struct error *err)
{
	struct share_pool *p = b->share->pool;
	int fd = b->mapped ? b->fd : -1;
	size_t was = b->mapped ? b->room : 0;
	int r = p->grow(p->arg, &fd, was, room, err);
	if (r != 0)
		return r;
	if (b->mapped)
		guard_drop(b->at);
	void *at = b->mapped ? mremap(b->at, was, room, MREMAP_MAYMOVE)
	                     : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int code = at == MAP_FAILED ? errno : 0;
	if (code == 0 && !guard_add(at, room)) {
		code = EMFILE;
		munmap(at, room);
	}
	if (code != 0) {
		if (!b->mapped)
			p->drop(p->arg, fd);
		else if (at == MAP_FAILED)
			guard_add(b->at, was);
		return fail(err, code, "a file there cannot be mapped: %s", strerror(code));
	}
	b->share->disked = true;
	if (b->mapped) {
		b->at = at;
		b->room = room;
	} else {
		move(b, at, room, true, fd);
	}
	return 0;
}

static int grow_memory(struct buffer *b, size_t room, bool small, struct error *err)
{
	size_t more = b->mapped ? room : room - b->room;
	if (small && !take_small(b->share, more))
		return -EAGAIN;
	int r = small ? 0 : share_take(b->share, more, err);
	if (r != 0)
		return r;
	uint8_t *at = b->mapped ? block_new(room) : block_grow(b->at, room);
	if (at == NULL) {
		share_give(b->share, more);
		return fail(err, ENOMEM, "out of memory for %zu bytes", room);
	}
	if (b->mapped)
		move(b, at, room, false, 0);
	b->at = at;
	b->room = room;
	return 0;
}

int share_grow(struct buffer *b, size_t want, struct error *err)
{
	struct share *s = b->share;
	struct error cause = { 0 };
	size_t room = next_room(b, want);
	bool disk = s->pool->grow != NULL && !s->diskless;
	if (!b->mapped || !disk) {
		int r = grow_memory(b, room, disk, err);
		if (r != -EAGAIN)
			return r;
	}
	if (grow_mapped(b, room, &cause) == 0)
		return 0;
	log_warning("no disk for what `memory` does not hold: %s", cause.text);
	s->diskless = true;
	return grow_memory(b, room, false, err);
}

void share_release(struct buffer *b)
{
	struct share_pool *p = b->share->pool;
	if (b->mapped) {
		guard_drop(b->at);
		munmap(b->at, b->room);
		p->drop(p->arg, b->fd);
	} else {
		block_free(b->at);
		share_give(b->share, b->room);
	}
}
