/* utf8: valid or made valid.
 *
 * Source: RFC 3629; the rule of replacement is Unicode 16.0's chapter 3.9 (U+FFFD substitution of maximal
 * subparts), which is what Python's bytes.decode("utf-8", "replace") does.
 */
#ifndef FW_TOKEN_UTF8_H
#define FW_TOKEN_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many of the n bytes, from the first, are valid and whole UTF-8. */
size_t utf8_valid(const uint8_t *p, size_t n);

/* How many bytes at the end of n may be the start of a valid sequence whose rest is not there: 0 ... 3. */
size_t utf8_tail(const uint8_t *p, size_t n);

/* Copies n bytes to out, which has room for 3 n, each maximal subpart of what is invalid as U+FFFD. Returns
 * the bytes written. */
size_t utf8_replace(const uint8_t *p, size_t n, uint8_t *out);

#endif
