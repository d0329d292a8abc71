/* scan: walks over JSON without making a tree of it, for vocabularies of hundreds of thousands of names.
 *
 * Every function takes what it reads from the front of the span. Bytes are untrusted; nesting is bounded.
 * Source: RFC 8259.
 */
#ifndef FW_TOKEN_SCAN_H
#define FW_TOKEN_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

/* Skips white space; the next byte, or 0 at the end. */
static inline uint8_t scan_peek(struct span *s)
{
	const uint8_t *p = s->at, *end = s->at + s->n;
	const uint64_t blanks = UINT64_C(1) << ' ' | 1u << '\n' | 1u << '\t' | 1u << '\r';
	while (p < end && *p <= ' ' && (blanks >> *p & 1) != 0)
		p++;
	*s = span_of(p, (size_t)(end - p));
	return p < end ? *p : 0;
}

/* Takes one byte that must come next. */
static inline bool scan_mark(struct span *s, char mark)
{
	return scan_peek(s) == (uint8_t)mark && span_skip(s, 1);
}

/* Takes a string and replaces out with its text in UTF-8; a lone surrogate becomes U+FFFD. False: none, or
 * malformed. */
bool scan_string(struct span *s, struct buffer *out);

/* Takes an unsigned integer of at most 9 digits. */
bool scan_number(struct span *s, uint32_t *out);

/* Takes a value of any kind; *value, where not NULL, is its text. */
bool scan_skip(struct span *s, struct span *value);

/* Iterates over an object: takes what stands before the next value, and replaces key. 1, 0 at the end (which
 * is taken), -1: malformed. *first is true before the first call. */
int scan_member(struct span *s, bool *first, struct buffer *key);

/* Iterates over an array that ends with `end`, or over an object whose names the caller takes. */
static inline int scan_item(struct span *s, bool *first, char end)
{
	if (scan_mark(s, end))
		return 0;
	if (!*first && !scan_mark(s, ','))
		return -1;
	*first = false;
	return 1;
}

#endif
