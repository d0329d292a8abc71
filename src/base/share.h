/* share: what one piece in work takes of `memory`, and the disk that takes what does not fit.
 *
 * All shares of a pool have `small` bytes together. Whoever wants more of them than are left has its buffers
 * as files on the disk, mapped; where there is no disk (or it fails), one share at a time may take `large`
 * bytes, and the others that need it wait for their turn. So buffers never need more than small + large bytes
 * of memory, and a share that waits holds nothing that another one needs.
 *
 * A pool is for any thread and outlives its shares; a share and its buffers belong to one thread.
 */
#ifndef FW_BASE_SHARE_H
#define FW_BASE_SHARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

struct share_pool {
	size_t small, large;
	/* Makes *fd, -1 for a new one, a file whose bytes [was, n) are taken on the disk. 0, or -errno with a
	 * text: then it is as it was. NULL: there is no disk. */
	int (*grow)(void *arg, int *fd, size_t was, size_t n, struct error *err);
	/* Closes such a file. */
	void (*drop)(void *arg, int fd);
	/* A share becomes the large one: caches in memory give back what they can. May be NULL. */
	void (*room)(void *arg);
	void *arg;
	/* private */
	pthread_mutex_t lock, alone;
	size_t used;
	atomic_bool crowded;
};

struct share {
	struct share_pool *pool; /* NULL: nothing is bounded, nothing goes to disk */
	bool diskless;           /* the disk is not to be tried, or did not take a buffer */
	/* private */
	size_t held; /* bytes of memory */
	bool large;  /* is the one that may have `large` of them */
	bool disked; /* a buffer was on disk */
};

void share_pool_init(struct share_pool *p);
void share_pool_free(struct share_pool *p);
/* Whether some share is the large one: caches in memory then keep little. */
bool share_crowded(struct share_pool *p);

/* Takes n bytes for what its owner allocates. Waits for its turn to be the large one. 0; -ENOTSUP: more than
 * a share may have, the text names `memory`. */
int share_take(struct share *s, size_t n, struct error *err);
void share_give(struct share *s, size_t n);
/* Whether the disk did not give back what a buffer had there: what was read of it is worth nothing. */
bool share_lost(struct share *s);
/* All its buffers are freed. May be called twice. */
void share_end(struct share *s);

/* Makes b->room at least `want`, in memory or on disk; for buffer_reserve. 0, -ENOTSUP, -ENOMEM. */
int share_grow(struct buffer *b, size_t want, struct error *err);
/* Frees its bytes; for buffer_free. */
void share_release(struct buffer *b);

#endif
