/* call: a FUSE request that could not be answered at once, until it is answered exactly once.
 *
 * Everything here is called from the loop thread; `run` is called from the loop thread the first time and
 * from any thread after it has waited. An interrupted request ends with EINTR.
 */
#ifndef FW_MOUNT_CALL_H
#define FW_MOUNT_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUSE_USE_VERSION 34
#include <fuse_lowlevel.h>

#include "dataset/dataset.h"
#include "tree/tree.h"

/* Requests that wait at a time at most; one more is refused with ENOMEM. */
#define CALLS_MAX 16384
/* How often a call waits once more for a text that had to make room for others; then it is EIO. */
#define CALL_TRIES 16
/* Bytes of a read, of readahead, and of the option max_read: they must agree. */
#define READ_MAX (1 << 20)

struct calls;

/* What `run` is told: it was not called before; else 0 or -errno of what it waited for. */
#define CALL_FIRST 1

struct call {
	fuse_req_t req;
	struct server *server;
	/* Replies and returns 0, or returns -EAGAIN with what to wait for and has not replied; the latter
	 * again only for a text. */
	int (*run)(struct call *c, int waited, struct tree_wait *wait);
	uint64_t inode, off;
	size_t n;         /* bytes asked for */
	const char *name; /* of a look-up */
	void *buf;        /* of a read that waited: its n bytes; owned */
	int64_t begun_ns; /* of a read: when it was asked for */
	/* private to call.c */
	struct calls *calls;
	struct dataset_request request;
	bool asked;
	uint64_t work; /* what it waits for, when it is no request: 0 facts, else the inode of a text */
	bool slow;     /* the work may wait for the network */
	unsigned tries;
	atomic_bool interrupted;
	struct call *next;
};

/* tree, d: not yet there; see calls_serve. NULL when there is no memory. */
struct calls *calls_new(void);
/* page: READ_MAX bytes of the loop thread. */
void calls_serve(struct calls *cs, struct dataset *d, struct tree *t, void *page);
/* Ends the calls that wait for facts or texts with EINTR; those of the dataset end with dataset_close. False
 * when a thread still works on facts or a text: then neither the tree nor the dataset nor cs may be freed. */
bool calls_end(struct calls *cs);
void calls_free(struct calls *cs);

/* Runs a call that lies on the stack; copies it when it has to wait. */
void call_run(struct calls *cs, struct call *c);
/* Lets a read wait for the rest of its c->n bytes; head: the rest->skip bytes that are there. `run` is then
 * called with the whole in buf. */
void call_read(struct calls *cs, const struct call *c, const struct tree_rest *rest, const void *head);

/* Ends calls that were interrupted while they waited for facts or texts. Cheap when there are none. */
void calls_reap(struct calls *cs);

#endif
