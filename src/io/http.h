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

#include "io/access.h"
#include "io/source.h"

struct http;

struct http_options {
	unsigned connect_timeout_ms; /* of one attempt; 0: 10,000 */
	unsigned stall_timeout_ms;   /* under 1 KiB/s for so long ends the attempt; 0: 15,000 */
	unsigned connections;        /* at most so many transfers at once, to all servers together; 0: 16 */
	const atomic_bool *stop;     /* true: every transfer ends within 100 ms with -EINTR; may be NULL */
	const atomic_bool *stop_too; /* the same, of somebody else */
};

/* What the client has done so far, for stats.json. */
struct http_counters {
	uint64_t requests, bytes;
};

/* Makes a client. The proxy comes from the usual environment variables, certificates are always
 * checked, against the system's authorities or those in the file SSL_CERT_FILE. Call it after the last fork: one
 * thread drives all transfers, from the first on. Their connections are shared: HTTP/2 where the server has it,
 * with many small ranges on one, but few large ones. 0 or -ENOMEM. */
int http_new(const struct http_options *options, struct http **out, struct error *err);
/* Ends it; every source of it must be closed. NULL-safe. */
void http_free(struct http *h);
void http_counters(struct http *h, struct http_counters *out);

/* Adds what is shown to the servers whose URLs begin with a->prefix, and to no others. 0; -ENOTSUP,
 * -EINVAL, -ENOMEM as accesses_add. */
int http_access(struct http *h, const struct http_access *a, struct error *err);

/* Waits; -EINTR when the client was stopped meanwhile. */
int http_pause(struct http *h, unsigned ms);

/* What pins a remote file. etag is empty where the server sends none. */
struct http_pin {
	uint64_t size;
	char etag[256];
	bool linked; /* etag is the one by which the Hub lists the file: X-Linked-Etag, or ETag where
			X-Repo-Commit is; a server that it redirects to has an ETag of its own, which is
			compared with the one it had before, not sent */
	int64_t mtime; /* Last-Modified as seconds since 1970, 0: not said; no pin, only information */
};

/* Where a URL redirects to is kept and asked directly until its signature ends (transfer.h), by all sources
 * of a client. A source's doubt makes the next request for its URL use a new connection.
 *
 * Opens url. With a pin (pin->size != 0) nothing is asked: each range is held against it
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

/* A small resource: a list of files, a page of a listing. */
struct http_page {
	char *body; /* NUL-terminated */
	size_t n;
	char *next;      /* URL of the next page as the Link header gives it; NULL: none */
	char region[33]; /* X-Amz-Bucket-Region, "": not said; filled also when the server refuses */
};

/* Gets it whole: at most `limit` bytes, else -ENOTSUP. Tries again while that may help and less than patience_s
 * seconds have passed, as nobody above does for a listing; the last time when they are over. *out is the caller's
 * to free with http_page_free, also after an error. Errors as http_open. */
int http_page(struct http *h, const char *url, size_t limit, unsigned patience_s, struct http_page *out,
	      struct error *err);
void http_page_free(struct http_page *p);

#endif
