/* merge: the byte-pair encoding of one word.
 *
 * The pair of neighbours with the lowest rank becomes one, the leftmost first, until no two neighbours make a
 * token. Sources: tiktoken's core BPE (the rank of a token is its id), HF tokenizers' BPE model (the rank of
 * a pair is its place in the list).
 *
 * A long word is encoded in windows. Within the encoding of a word the ids of neighbours are the encoding of
 * just their bytes: no merge ever crossed the borders around them, so those within went on as if alone. The
 * other way round, when two encodings stand side by side and of the whole only the two ids at the border are
 * known to be the encoding of their bytes, then the whole is that of all bytes: the first merge across the
 * border would have come first among those two ids as well. So windows are joined where that holds. This is
 * true of any list of pairs; how large a window has to be is not known, but so far a few hundred bytes did.
 */
#ifndef FW_TOKEN_MERGE_H
#define FW_TOKEN_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "token/pairs.h"
#include "token/vocab.h"

/* A word of at most so many bytes is encoded in one go. */
#define MERGE_SHORT 128

/* Memory that long words need, kept from word to word. Zeroed, it is empty; its owner frees it with
 * merge_free. One thread. */
struct merge {
	struct merge_room {
		void *at;
		size_t n; /* bytes of text that it is enough for */
	} room[2];
};

/* Encodes n bytes, 1 ... MERGE_SHORT, into at most n ids. Returns their number. */
unsigned merge_short_word(const struct vocab *v, const struct pairs *pairs, const uint8_t *p, size_t n,
                          uint32_t ids[MERGE_SHORT]);

/* No window is longer, which bounds the memory to 40 times as much. */
#define MERGE_WINDOW (1u << 20)

/* Encodes n > 0 bytes into at most n ids of `width` bytes, in a time linear in n. Returns their number,
 * -ENOMEM, or -ENOTSUP: windows of MERGE_WINDOW bytes could not be joined, which can only be in a longer
 * word, and is not known of any vocabulary. */
int64_t merge_word(struct merge *m, const struct vocab *v, const struct pairs *pairs, const uint8_t *p,
                   size_t n, void *ids, unsigned width);

void merge_free(struct merge *m);

#endif
