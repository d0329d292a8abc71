/* hop: one request to one server, without its redirects; the inside of the transfer room, for transfer.c.
 *
 * Each struct run belongs to one thread, a slot to the one that has taken it. With loop.c, transfer.c and
 * answer.c this is all that includes libcurl.
 */
#ifndef FW_IO_HOP_H
#define FW_IO_HOP_H

#include <curl/curl.h>
#include <pthread.h>

#include "io/loop.h"
#include "io/pace.h"
#include "io/transfer.h"

/* The right to have one transfer under way, and the handle for it. */
struct slot {
	CURL *easy;
	struct slot *next;
};

struct transfers {
	unsigned connect_ms, stall_ms, connections;
	const atomic_bool *stop[2];
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct slot *idle;
	struct loop *loop;
	unsigned made;
	_Atomic uint64_t requests, bytes;
	char *authorities; /* file of certificates that are trusted, NULL: the system's */
	struct accesses *accesses;
	struct redirects *redirects;
	struct pace pace;
};

/* One hop of one request. */
struct run {
	struct transfers *t;
	const struct request *q;
	struct answer answer;
	const struct answer *before; /* of the hop before, or NULL */
	const char *etag;            /* what a kept redirect had, or NULL */
	struct sink sink;
	struct error *err;
	/* private to hop.c, and the loop's thread's while the transfer is under way */
	CURL *easy;
	uint64_t got, header, seen_at_mark;
	int64_t mark_ms;
	int code;     /* what a callback ended the transfer with, 0: none did */
	bool large;
	bool decided; /* the header has ended: what else looks like one is not looked at */
};

static inline const char *range_of(const struct request *q)
{
	return q->range == NULL ? "all" : q->range;
}

static inline bool stopped(const struct transfers *t)
{
	return (t->stop[0] != NULL && atomic_load(t->stop[0])) || (t->stop[1] != NULL && atomic_load(t->stop[1]));
}

/* Sends run->q to url and takes what comes; run has t, q, err, before and etag and is else zero. *to is where it
 * redirects to, malloc'ed by this, or NULL. Errors as transfer_run. */
int hop(struct slot *s, struct run *run, const char *url, const char *if_match, char **to);

#endif
