/* text: a batch for eyes, and where its rows are from. Pure; any thread.
 *
 * The text is, for each row, a line "=== rank 0, row 3: 000_00000.parquet, piece 2, sequence 17" and the row
 * decoded: what is no UTF-8, as a character that the row cuts at its ends, is U+FFFD. A document that begins
 * inside a row begins a line, too, where it does not do so by itself.
 */
#ifndef FW_TREE_TEXT_H
#define FW_TREE_TEXT_H

#include "base/buffer.h"
#include "dataset/origin.h"
#include "token/tokenizer.h"

/* A batch: `rows` times `columns` little-endian ids of `width` bytes each. */
struct text_form {
	uint32_t rows, columns;
	unsigned width;
	int64_t bos, eos; /* -1: none */
	const struct tokenizer *tokenizer;
};

/* Appends the text of a batch. 0 or -ENOMEM. */
int text_of_batch(struct buffer *out, const void *ids, const struct text_form *f, uint32_t rank,
                  const struct origin *from, struct error *err);

/* Appends {"rows":[{"file","piece","sequence","documents":[{"id","url","offset","skipped"}]}]} and a newline:
 * id and url are null where the source has none. 0 or -ENOMEM. */
int text_of_origin(struct buffer *out, const struct origin *from, uint32_t rows, struct error *err);

#endif
