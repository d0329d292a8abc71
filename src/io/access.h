/* access: what a client shows to which servers: a token, a key that signs, or that it may not ask there.
 *
 * By the beginning of a URL, so that a redirect to another server never takes a secret along. At most
 * ACCESSES entries; they stay until the end, the newest that fits counts. Any thread.
 */
#ifndef FW_IO_ACCESS_H
#define FW_IO_ACCESS_H

#include <stdbool.h>

#include "base/error.h"

#define ACCESSES 1024

/* Strings; NULL: none. */
struct http_access {
	const char *prefix;  /* "https://server[:port][/path]" without a '/' at the end: of the URLs meant */
	const char *refused; /* nothing is asked there, for this reason */
	const char *bearer;  /* a token */
	const char *key, *secret, *session,
	        *region; /* of an S3 store: AWS Signature Version 4; no key: none */
};

struct accesses;

struct accesses *accesses_new(void);    /* NULL: out of memory */
void accesses_free(struct accesses *x); /* wipes what was secret */

/* Adds a copy. 0, -ENOTSUP (too many), -EINVAL (a secret with bytes that a header cannot have), -ENOMEM. A
 * secret also keeps this process from writing core files. */
int accesses_add(struct accesses *x, const struct http_access *a, struct error *err);

/* What is shown to the server of a URL; NULL: nothing. Valid until accesses_free. */
const struct http_access *accesses_find(struct accesses *x, const char *url);

#endif
