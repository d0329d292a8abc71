/* merge: the byte-pair encoding of one word.
 *
 * The pair of neighbours with the lowest rank becomes one, the leftmost first, until no two neighbours make a
 * token. Sources: tiktoken's core BPE (the rank of a token is its id), HF tokenizers' BPE model (the rank of
 * a pair is its place in the list).
 */
#ifndef FW_TOKEN_MERGE_H
#define FW_TOKEN_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "token/longest.h"
#include "token/pairs.h"
#include "token/vocab.h"

/* Memory that long words need, kept from word to word. Zeroed, it is empty; its owner frees it with
 * merge_free. One thread. */
struct merge {
	void *at;
	size_t room;    /* bytes */
	uint64_t *dead; /* for longest_encode */
	size_t dead_room;
};

/* Encodes n > 0 bytes, fewer than 2^32, into at most n ids. Returns their number, or -ENOMEM. */
int64_t merge_word(struct merge *m, const struct vocab *v, const struct pairs *pairs, const uint8_t *p,
                   size_t n, uint32_t *ids);

/* The same by way of l, in linear time. */
int64_t merge_long_word(struct merge *m, const struct longest *l, const uint8_t *p, size_t n, uint32_t *ids);

void merge_free(struct merge *m);

#endif
