/* transfer: one HTTP request and its answer; the inside of the http room, for http.c alone.
 *
 * At most http_options.connections are under way at once, over connections that one thread (loop.h) drives.
 * Every function may be called from many threads at once, but for transfers_free. Only loop.c, transfer.c,
 * hop.c and answer.c include libcurl.
 */
#ifndef FW_IO_TRANSFER_H
#define FW_IO_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "io/access.h"
#include "io/answer.h"
#include "io/http.h"

struct transfers;

/* Marks what failed with r as worth another attempt; returns r. */
static inline int again(struct error *err, int r)
{
	if (err != NULL)
		err->again = true;
	return r;
}

/* The time-outs, the bound and the stop of http.h. 0 or -ENOMEM. */
int transfers_new(const struct http_options *options, struct transfers **out, struct error *err);
void transfers_free(struct transfers *t);
void transfers_count(struct transfers *t, struct http_counters *out);

/* Where a body goes: exactly n bytes at `to`, or, with `grow`, at most `limit` bytes behind what is
 * there. */
struct sink {
	uint8_t *to;
	uint64_t n;
	struct buffer *grow;
	size_t limit;
};

struct request {
	const char *url;
	const char *name;     /* the URL as messages name it */
	const char *range;    /* "0-99" or "-65536"; NULL: the whole resource */
	const char *if_match; /* a strong entity tag, or NULL */
	bool redirects;       /* the URL is known to redirect: if_match is for where it leads */
	bool keep;            /* where it leads to is kept, and asked directly the next time */
	bool fresh;           /* on a new connection, and where it leads to is asked anew */
	char **next;          /* gets the URL of the next page as the Link header has it, malloc'ed; or NULL */
	uint64_t expect;      /* bytes that the answer should have, for the total time-out */
	/* Called once, when the header of an answer below 300 is there and before its body: checks it and
	 * fills *sink (all zero). 0, or -errno with a text, which ends the transfer. */
	int (*accept)(void *arg, const struct answer *a, struct sink *sink, struct error *err);
	void *arg; /* of accept */
};

/* Adds what is shown to some servers (access.h). */
int transfers_access(struct transfers *t, const struct http_access *a, struct error *err);
/* Waits; -EINTR when it was stopped meanwhile. */
int transfers_pause(struct transfers *t, unsigned ms);

/* Sends the request, follows at most 5 redirects (to http and https only, never from https to http),
 * and takes the body. 0: *answer is of the last hop; below 300 `accept` took it and its body is whole,
 * else its body was dropped. What an earlier hop said of the file (linked_etag, commit) stands in it too.
 * *hops (may be NULL) is how many redirects were followed. -EINTR (stopped), -ETIMEDOUT, -EIO, -ENOMEM,
 * -EINVAL (no URL), or what accept or a full sink (-ENOTSUP) said; err->again is set where another attempt
 * may help.
 *
 * A kept redirect is asked for anew, at once and once, when the server behind it refuses (400, 401, 403,
 * 404, 410), has another ETag than it had, or sends somewhere else: the signature is over. A server that
 * answered 429, or has no quota left (RateLimit), is not asked again before its time by any thread: a wait
 * of at most PACE_WAIT_MS is waited here, else it is -EIO with again and wait_ms. */
#define PACE_WAIT_MS 1000
int transfer_run(struct transfers *t, const struct request *q, struct answer *answer, unsigned *hops,
		 struct error *err);

#endif
