/* texts: strings that are made to find what an encoder gets wrong.
 *
 * Of documents, of every block of Unicode, of tokens, of runs and repeats, mutated, spliced, and no UTF-8:
 * the same numbers give the same strings. Most have less than 100 bytes, one in 20,000 more than 16 KiB. One
 * thread.
 */
#ifndef FW_TOKEN_TEXTS_H
#define FW_TOKEN_TEXTS_H

#include "base/buffer.h"
#include "token/tokenizer.h"

struct texts {
	const struct tokenizer *t; /* whose tokens are strung together */
	uint32_t vocab;
	struct buffer documents; /* one behind another */
	struct buffer ends;      /* size_t, where each ends */
	uint64_t state;          /* of the random numbers */
};

/* Adds one document. 0 or -ENOMEM. */
int texts_add(struct texts *x, const void *document, size_t n);
void texts_free(struct texts *x);

/* Chooses all that comes next. */
void texts_seed(struct texts *x, uint64_t seed, uint64_t chunk);

/* Appends one string to out. 0 or -ENOMEM. */
int texts_make(struct texts *x, struct buffer *out);

/* Some number below n, which is not 0. */
uint32_t texts_below(struct texts *x, uint32_t n);

#endif
