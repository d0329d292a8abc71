/* transfer: one HTTP request and its answer; the inside of the http room, for http.c alone.
 *
 * A bounded pool of connections, each with the libcurl handles that keep it open. Every function may be
 * called from many threads at once, but for transfers_free. Only transfer.c and answer.c include libcurl.
 */
#ifndef FW_IO_TRANSFER_H
#define FW_IO_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
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
	uint64_t expect;      /* bytes that the answer should have, for the total time-out */
	/* Called once, when the header of an answer below 300 is there and before its body: checks it and
	 * fills *sink (all zero). 0, or -errno with a text, which ends the transfer. */
	int (*accept)(void *arg, const struct answer *a, struct sink *sink, struct error *err);
	void *arg; /* of accept */
};

/* Sends the request, follows at most 5 redirects (to http and https only, never from https to http),
 * and takes the body. 0: *answer is of the last hop; below 300 `accept` took it and its body is whole,
 * else its body was dropped. *hops (may be NULL) is how many redirects were followed. -EINTR (stopped),
 * -ETIMEDOUT, -EIO, -ENOMEM, -EINVAL (no URL), or what accept or a full sink (-ENOTSUP) said;
 * err->again is set where another attempt may help. */
int transfer_run(struct transfers *t, const struct request *q, struct answer *answer, unsigned *hops,
		 struct error *err);

#endif
