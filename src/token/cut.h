/* cut: where the words of a whole text begin, many at a time.
 *
 * The same words as split's functions find, whose plain form this is checked against. One thread.
 */
#ifndef FW_TOKEN_CUT_H
#define FW_TOKEN_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "token/classify.h"
#include "token/split.h"

/* Bytes that are looked at in one go, and the most words that may begin in them. */
#define CUT_BLOCKS 32
#define CUT_MOST (64 * CUT_BLOCKS)

struct cut {
	const uint8_t *p; /* the whole text, valid UTF-8 */
	size_t n;
	size_t at; /* what was looked at */
	split_fn *split;
	const struct classify_path *path; /* NULL: only split */
	const struct cut_kind *kind;      /* of cl100k's kin; NULL: GPT-2 */
	/* GPT-2 only. Of the last byte before `at`, each 0 or 1. */
	uint64_t letter, number, sign, blank, space;
	/* Bits of the next block that are known: of a code point that goes on there, and where a contraction
	 * ends. */
	uint64_t next_letter, next_number, next_blank, next_begin, next_inside;
};

/* Starts on a text. */
void cut_start(struct cut *c, const uint8_t *p, size_t n, split_fn *split, const struct classify_path *path);

/* Writes where the next words begin, in ascending order, and returns how many, at most CUT_MOST; `begin` has
 * room for more, which is overwritten. May return 0 before the end, which is when c->at is c->n. */
size_t cut_more(struct cut *c, size_t begin[CUT_MOST + SPREAD_MORE]);

#endif
