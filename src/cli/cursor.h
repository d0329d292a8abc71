/* cursor: a place in the stream of a source's tokens, and what is written down of what it passes. One thread.
 */
#ifndef FW_CLI_CURSOR_H
#define FW_CLI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "dataset/prepared.h"
#include "dataset/stream.h"

/* A zeroed struct is closed. */
struct cursor {
	struct dataset *d;
	struct stream *stream;
	struct prepared_place at; /* of the next token */
	bool ended;               /* there are no more pieces */
	uint64_t held;            /* tokens that count for val_tokens, since it was opened */
	uint64_t text_bytes;      /* of the pieces that were begun, since it was opened */
	uint64_t left_out;        /* pieces, since it was opened */
	/* private */
	struct stream_piece piece;
	bool inside;   /* `piece` has tokens left */
	bool skipping; /* it was opened inside a piece, which is not met yet */
};

/* Opens at a place, which was the `at` of a cursor. d must outlive it. */
int cursor_open(struct cursor *c, struct dataset *d, const struct prepared_place *at, struct error *err);
void cursor_close(struct cursor *c);

/* Begins a record: its only shard, and the file in which it begins. The record is empty. */
int cursor_begin(struct cursor *c, struct prepared *record, struct error *err);
/* Takes at most n tokens, all of one piece: *got of them, perhaps none, at *out, which is room (of n tokens),
 * or where they lie until the next one is taken. Each piece that begins is added to the record, and documents
 * and tokens to its shard. At the end of the source `ended` is set and *got is 0. Errors as stream_next's. */
int cursor_take(struct cursor *c, size_t n, void *room, const void **out, size_t *got,
                struct prepared *record, struct error *err);
/* Where a piece has been taken whole and shares a token with the next: takes that too (*got is 1), and notes
 * it. */
int cursor_take_shared(struct cursor *c, void *out, size_t *got, struct prepared *record, struct error *err);
/* Documents that begin in the piece in which `at` is before it; 0 between pieces. Errors as above. */
int cursor_documents(struct cursor *c, struct prepared *record, uint64_t *out, struct error *err);

#endif
