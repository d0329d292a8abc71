/* jsontext: one JSON object (RFC 8259) in memory, checked in one pass that keeps the wanted members.
 *
 * Pure: no allocation, no recursion. Any thread.
 */
#ifndef FW_FORMAT_JSONTEXT_H
#define FW_FORMAT_JSONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define JSON_DEPTH 1000 /* objects and arrays within each other, the outermost included */

enum jsontext_kind { JSON_ABSENT, JSON_NULL, JSON_STRING, JSON_NUMBER, JSON_OTHER };

struct jsontext_member {
	const char *key;     /* in: UTF-8 */
	enum jsontext_kind kind; /* out: of the last member with this key */
	struct span raw;     /* out: the bytes between the quotes, or the number; lies in the text */
	bool escaped;        /* out: raw has escapes, so that jsontext_decode must read it */
};

struct jsontext_fault {
	size_t at;            /* byte of the text */
	const char *expected; /* static text */
};

/* Checks that text is one object with only white space (space, tab, CR, LF) around it, and fills
 * the n members. Keys are compared as decoded; bytes of 0x80 and up in strings are not checked. Two
 * members may have the same key. True; false with *fault, and the members undefined. */
bool jsontext_object(struct span text, struct jsontext_member *members, size_t n, struct jsontext_fault *fault);

/* Decodes the escapes of a string that jsontext_object has checked: at most raw.n bytes. A surrogate
 * without its other half becomes U+FFFD. Returns the number of bytes at out. */
size_t jsontext_decode(struct span raw, uint8_t *out);

/* Moves over white space. */
void jsontext_skip_blank(struct span *text);

#endif
