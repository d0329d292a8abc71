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
uint8_t scan_peek(struct span *s);

/* Takes one byte that must come next. */
bool scan_mark(struct span *s, char mark);

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

/* The same of an array. */
int scan_item(struct span *s, bool *first);

#endif
