/* buffer: bytes that grow up to a bound.
 *
 * A zeroed struct is an empty buffer. The owner frees it with buffer_free.
 * Not shared between threads. One with a share (base/share.h) counts against it, and may be on disk.
 */
#ifndef FW_BASE_BUFFER_H
#define FW_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct share;

struct buffer {
	uint8_t *at;
	size_t n;            /* bytes in use */
	size_t room;         /* bytes allocated */
	struct share *share; /* NULL: none; set before the first use, with a pool, and outlives the bytes */
	/* private to share.c */
	bool mapped;
	int fd;
};

/* Makes room for `more` bytes behind the n in use; the total never exceeds `limit`
 * bytes (0: no limit but memory). Growth doubles, so appending is linear. 0,
 * -ENOTSUP (would exceed limit) or -ENOMEM. Pointers into the buffer are stale after it. */
int buffer_reserve(struct buffer *b, size_t more, size_t limit, struct error *err);

/* Appends n bytes, within limit as above. */
int buffer_add(struct buffer *b, const void *bytes, size_t n, size_t limit, struct error *err);

/* Appends formatted text (without its NUL; one always stands behind the last byte). 0 or -ENOMEM. */
int buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees the bytes and empties the buffer. */
void buffer_free(struct buffer *b);

#endif
