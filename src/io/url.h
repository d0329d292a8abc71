/* url: the little that is looked at in a URL besides what libcurl does with it (RFC 3986).
 *
 * Pure; any thread. All work on NUL-terminated text of at most URL_MAX bytes.
 */
#ifndef FW_IO_URL_H
#define FW_IO_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"

/* No longer URL is taken from anywhere. */
#define URL_MAX 8192

/* Whether the text begins with a scheme and "://". */
bool url_is(const char *text);
/* Whether that scheme is http or https, in any case. */
bool url_is_http(const char *text);
/* Whether it is https. */
bool url_is_https(const char *text);

/* The URL without user, password, query and fragment, which may be secret: for messages and names.
 * malloc'ed; NULL: out of memory. */
char *url_plain(const char *url);

/* Server and port ("example.com:8080"), without user and password: a view into url. */
struct span url_authority(const char *url);

/* The last part of the path, as it stands there (percent signs are not decoded): a view into url. */
struct span url_file(const char *url);

/* The URL that a line of a list means: an http(s) URL is itself, "/path" is on the list's server,
 * anything else is beside the list; blanks and bytes beyond ASCII are percent-encoded. *out is
 * malloc'ed. 0; -EINVAL: another scheme, or too long; -ENOMEM. */
int url_join(const char *list, const char *line, char **out, struct error *err);

/* Percent signs and two hex digits as bytes; "%00" and what is none stays as it is. At most size - 1 bytes and a NUL
 * are written; out may be text itself. */
void url_decode(const char *text, char *out, size_t size);

/* Appends text with each byte percent-encoded but A-Z a-z 0-9 - . _ ~ and those in `keep`: what signatures of S3
 * stores expect. 0 or -ENOMEM. */
int url_add_encoded(struct buffer *b, const char *text, const char *keep, struct error *err);

#endif
