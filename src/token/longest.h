/* longest: the byte-pair encoding of a long word from left to right, in linear time.
 *
 * The longest token that fits is taken, and given back for a shorter one when it can not stand beside the one
 * before it. Two tokens can stand side by side when encoding their bytes gives just them; a row of tokens of
 * which every two neighbours can is the encoding of its bytes, and the only such row. So the start of a word
 * has one last token, and a place from which nothing led on before will not the next time. For vocabularies
 * with one pair for each token (vocab/mkcuts.py), whose tokens are ranked behind the two they are made of.
 * Immutable once made: any number of threads may use it.
 */
#ifndef FW_TOKEN_LONGEST_H
#define FW_TOKEN_LONGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "token/pairs.h"
#include "token/vocab.h"

struct longest;

/* NULL: out of memory, or the vocabulary is not of that kind (*kind becomes false). v and pairs must outlive
 * it. */
struct longest *longest_new(const struct vocab *v, const struct pairs *pairs, bool *kind);
void longest_free(struct longest *l);

/* Encodes n > 0 bytes into at most n ids and returns their number. `dead` has room for n / 64 + 1 numbers,
 * all zero, and is so again after it. */
size_t longest_encode(const struct longest *l, const uint8_t *p, size_t n, uint32_t *ids, uint64_t *dead);

#endif
