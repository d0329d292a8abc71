/* loop: the one thread that drives all transfers of a client, over connections that they share; the inside of
 * the http room, for hop.c and transfer.c.
 *
 * Whoever submits a transfer waits for it, so there are at most as many as callers (transfers.connections).
 * libcurl's callbacks of a transfer run in the loop's thread, and none of them once loop_run has returned.
 */
#ifndef FW_IO_LOOP_H
#define FW_IO_LOOP_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define POLL_MS 50 /* how late `stop` may be seen */

struct loop;

/* idle: connections that are kept open for later transfers, at most. stop: whether all is to end; called in
 * the loop's thread. 0 or -ENOMEM. The thread starts with the first transfer. */
int loop_new(unsigned idle, bool (*stop)(const void *arg), const void *arg, struct loop **out,
             struct error *err);
/* Joins the thread and closes the connections. No transfer may be under way. NULL-safe. */
void loop_free(struct loop *l);

enum loop_end {
	LOOP_DONE,    /* by libcurl: its word is in `code` */
	LOOP_CUT,     /* `cut` said so; its connection is not used again */
	LOOP_STOPPED, /* by `stop` */
	LOOP_FAILED,  /* libcurl did not take it: out of memory, or what `code` says */
};

struct loop_job {
	CURL *easy;     /* set up, and the caller's own again afterwards */
	unsigned share; /* it is begun on a connection with fewer streams than this, or on a new one */
	/* Called in the loop's thread every POLL_MS or so: true ends the transfer. */
	bool (*cut)(void *arg);
	void *arg;
	enum loop_end end;
	CURLcode code;
	/* private */
	struct loop_job *next;
	pthread_cond_t ended;
	bool is_over;
};

/* Runs a transfer to its end; the caller waits. 0: job->end says how; -ENOMEM: there is no thread. */
int loop_run(struct loop *l, struct loop_job *job, struct error *err);

int64_t loop_now_ms(void); /* of a clock that only goes forward */

#endif
