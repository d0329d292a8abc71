/* origin: where the rows of batches are from, and where documents stand in an epoch.
 *
 * A mount keeps no record of documents: the text of a piece is read once more, with ids and URLs, and encoded
 * to know where each begins. Over a network that is a fetch, which is tried again for `retry` seconds. Functions
 * wait for disk and network; any thread, but for open and close.
 */
#ifndef FW_DATASET_ORIGIN_H
#define FW_DATASET_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataset/dataset.h"

struct origins;

/* d must outlive it. 0, or what tokenizer_open says. */
int origins_open(struct dataset *d, struct origins **out, struct error *err);
void origins_close(struct origins *o); /* NULL-safe */

/* Part of a document that stands in a row. */
struct origin_document {
	char *id, *url;   /* malloc'ed; NULL: the source has none */
	uint64_t offset;  /* where in the row its first token here stands */
	uint64_t skipped; /* tokens of it that came before */
	uint64_t tokens;  /* tokens of it in the row */
};

struct origin {
	const char *file; /* canonical name; the data set's */
	uint32_t piece;
	uint64_t sequence; /* in the piece */
	struct origin_document *documents;
	size_t n;
};

/* Of each row of a batch that can be read: batch_size of them, in *out, for origin_free. documents: those of
 * the rows, too; token files have none. Under on_error=skip the rows are those that are served. 0, -ENOENT,
 * or what reading the text says. */
int origin_batch(struct origins *o, const struct dataset_object *batch, bool documents, struct origin **out,
                 struct error *err);
void origin_free(struct origin *rows, uint32_t n);

/* A document, and its tokens: [first, first + tokens) of the piece, as the layout has it. */
struct origin_place {
	uint32_t file, piece;
	const char *name; /* of the file; the data set's */
	uint64_t row;     /* in the file: a row of Parquet, a line of JSON lines, from 0 */
	uint64_t first, tokens;
	char *id, *url; /* malloc'ed or NULL, for origin_place_free */
};

#define ORIGIN_FOUND 1000 /* documents that are looked for at most */

/* Looks for FILE:ROW (FILE by its canonical name or its path), else for all documents with this id, in order:
 * reads the id columns, or all lines. 0 and *n of them, for origin_places_free, *more: there are more than
 * ORIGIN_FOUND; -ENOENT: there is none, or it has no token; -ENOTSUP: token files have no documents; or what
 * reading says. */
int origin_find(struct origins *o, const char *what, struct origin_place **out, size_t *n, bool *more,
                struct error *err);
void origin_places_free(struct origin_place *p, size_t n);

/* One row in which some of a document stands. */
struct origin_row {
	uint32_t rank, row;
	uint64_t batch, sequence;
	uint64_t offset, skipped, tokens; /* as in origin_document */
};
typedef int origin_fn(void *arg, const struct origin_row *row, struct error *err);
/* Calls fn for each row of the epoch (or val) that has part of the document. The blocks must be counted.
 * Sequences that no batch has are left out: *dropped is their number. 0, what fn returned, or -errno. */
int origin_rows(struct origins *o, const struct origin_place *p, bool val, uint32_t epoch, origin_fn *fn,
                void *arg, uint64_t *dropped, struct error *err);

#endif
