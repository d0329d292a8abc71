/* names: the tokens in a tokenizer.json as they are written, and the bytes that they stand for.
 *
 * Bytes are untrusted. A struct names belongs to one thread.
 * Source: GPT-2's encoder.py (bytes_to_unicode).
 */
#ifndef FW_TOKEN_NAMES_H
#define FW_TOKEN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct names {
	struct buffer bytes;  /* of all names, one behind another */
	struct buffer text;   /* of a name that is not plain */
	uint16_t byte[0x144]; /* by character: its byte; NAMES_NONE: none */
	bool plain[256];      /* a character of one byte that stands for itself, in JSON too */
};

#define NAMES_NONE 256

/* An empty list of names that come from at most `most` bytes of JSON. names_free after it. 0 or -ENOMEM. */
int names_start(struct names *n, size_t most);
void names_free(struct names *n);

/* Takes a string and appends the bytes that it stands for; where one of its characters stands for none, its
 * text, and *hidden is true. Returns false: no string, or out of memory. */
bool names_take(struct names *n, struct span *s, bool *hidden);

/* Takes a string of two names with a space between them, and tells how many bytes were appended of each.
 * False: no such string, or out of memory. */
bool names_take_two(struct names *n, struct span *s, uint32_t bytes[2], bool *hidden);

#endif
