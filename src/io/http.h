/* http: a source over a file on an HTTP or HTTPS server, read by byte ranges.
 *
 * One attempt a call, classified: retrying is for the caller (fetch). A client may be
 * used by any number of threads at once. References: RFC 9110 (ranges, conditional
 * requests), libcurl's documentation.
 */
#ifndef FW_IO_HTTP_H
#define FW_IO_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "io/source.h"

struct http;

struct http_options {
	unsigned connect_timeout_ms; /* of one attempt; 0: 10,000 */
	unsigned stall_timeout_ms;   /* under 1 KiB/s for so long ends the attempt; 0: 15,000 */
	unsigned connections;        /* at most so many at once, to all servers together; 0: 16 */
	const atomic_bool *stop;     /* true: every transfer ends within 100 ms with -EINTR; may be NULL */
};

/* What the client has done so far, for stats.json. */
struct http_counters {
	uint64_t requests, bytes;
};

/* Makes a client. The proxy comes from the usual environment variables, certificates are always
 * checked. Call it after the last fork. 0 or -ENOMEM. */
int http_new(const struct http_options *options, struct http **out, struct error *err);
/* Ends it; every source of it must be closed. NULL-safe. */
void http_free(struct http *h);
void http_counters(struct http *h, struct http_counters *out);

/* What pins a remote file. etag is empty where the server sends none. */
struct http_pin {
	uint64_t size;
	char etag[256];
	int64_t mtime; /* Last-Modified as seconds since 1970, 0: not said; no pin, only information */
};

/* Opens url. With a pin (pin->size != 0) nothing is asked: each range is held against it
 * (If-Match, Content-Range's size, the answer's ETag). Without one, one GET asks for the first
 * HTTP_WINDOW bytes (tail: the last), which gives size, ETag and those bytes; they are kept in the
 * source, so that reading inside them asks nothing. *pin is filled.
 * 0; -ENOENT (404, 410), -EACCES (401, 403), -ENOTSUP (a server without ranges, file larger than
 * HTTP_WHOLE), -ESTALE (the file is not what the pin says: 412, other ETag or size), -ETIMEDOUT,
 * -EIO (all else that has to do with the network or the server), -EINTR (stopped). err->again says
 * whether another attempt may help, err->wait_ms what Retry-After or RateLimit asked for.
 * The text names the URL without its query, what was asked, what came. A source's read_at gives the same
 * errors. */
#define HTTP_WINDOW (64u << 10)
/* A server that answers 200 to a range is taken if the whole file has at most so many bytes. */
#define HTTP_WHOLE (8u << 20)
int http_open(struct http *h, const char *url, bool tail, struct http_pin *pin,
	      struct source **out, struct error *err);

/* Gets a small resource whole (a list of files): at most `limit` bytes, else -ENOTSUP. *out is malloc'ed,
 * NUL-terminated, the caller's. Errors as http_open. */
int http_get(struct http *h, const char *url, size_t limit, char **out, size_t *n, struct error *err);

#endif
