/* answer: what is looked at in the header of an HTTP answer, from bytes that nobody vouches for.
 *
 * References: RFC 9110 (8.8.3 ETag, 10.2.3 Retry-After, 14.4 Content-Range), and for RateLimit
 * ("name";r=left;t=seconds) draft-ietf-httpapi-ratelimit-headers. Pure but for curl_getdate; any thread.
 */
#ifndef FW_IO_ANSWER_H
#define FW_IO_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define ANSWER_ETAG 256
#define ANSWER_COMMIT 65
#define ANSWER_REGION 33
#define ANSWER_MESSAGE 201

struct answer {
	unsigned status;         /* 100 ... 599, 0 before any status line or when that is none */
	bool framed;             /* the end of its body can be told from a broken connection */
	bool encoded;            /* a Content-Encoding other than identity */
	bool led;                /* it came by way of a redirect; set by the transfer */
	bool malformed;          /* a Content-Range that is none, or two that differ */
	bool has_length, has_range, has_total;
	uint64_t length;         /* Content-Length */
	uint64_t first, last;    /* Content-Range; first <= last, and last < total if has_total */
	uint64_t total;          /* has_total without has_range is "bytes * /total" of a 416 */
	char etag[ANSWER_ETAG];  /* with quotes and W/; "" for none, and for one too long or with odd bytes */
	int64_t mtime, date;     /* Last-Modified, Date: seconds since 1970, 0: not said */
	uint64_t retry_s;        /* Retry-After in seconds, */
	int64_t retry_at;        /* or as a date; 0: not said */
	uint64_t limit_s;        /* seconds until a RateLimit whose r is 0 is open again, 0: not said */
	char linked_etag[ANSWER_ETAG]; /* X-Linked-Etag: of the file that the Hub redirects to; as etag */
	char commit[ANSWER_COMMIT];    /* X-Repo-Commit, "" */
	char region[ANSWER_REGION];    /* X-Amz-Bucket-Region, "" */
	char message[ANSWER_MESSAGE];  /* X-Error-Message, "" */
};

/* Takes one line of the header, with or without its CR LF. A status line empties *a first. Returns true
 * for the empty line that ends a header. */
bool answer_line(struct answer *a, struct span line);

/* How long the server asks to wait, at most an hour; `now` in seconds since 1970 is used when the
 * answer has no Date. 0: not said. */
unsigned answer_wait_ms(const struct answer *a, int64_t now);

/* Weak comparison (RFC 9110, 8.8.3.2): the same tag, whether W/ or not. Identical bytes may be tagged
 * weak for the first second and strong ever after, as Apache does. */
bool etag_same(const char *a, const char *b);

/* Whether it is a strong entity tag, the only kind that If-Match may be sent with. */
bool etag_strong(const char *etag);

#endif
