/* decoder: bytes of tokens to valid UTF-8, as they come.
 *
 * What it makes of all bytes together is what Python's bytes.decode("utf-8", "replace") does: a character
 * that is cut at the beginning or the end, and whatever else is no UTF-8, becomes U+FFFD. A zeroed struct is
 * a new decoder. One thread at a time.
 */
#ifndef FW_TOKEN_DECODER_H
#define FW_TOKEN_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct decoder {
	uint8_t held[4]; /* the beginning of a character */
	size_t n;
};

/* Appends the text of n more bytes to out. 0 or -ENOMEM. */
int decoder_put(struct decoder *d, const uint8_t *bytes, size_t n, struct buffer *out, struct error *err);
/* Nothing follows: appends what is left, and the decoder is new. 0 or -ENOMEM. */
int decoder_end(struct decoder *d, struct buffer *out, struct error *err);

#endif
