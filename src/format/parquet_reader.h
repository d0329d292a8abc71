/* parquet_reader: the values of one column chunk, in row order.
 *
 * Source: Encodings.md of apache/parquet-format 2.10. Memory: the chunk's dictionary, its current page and
 * the window it is read by; nothing is allocated for a value. A reader belongs to one thread.
 */
#ifndef FW_FORMAT_PARQUET_READER_H
#define FW_FORMAT_PARQUET_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "format/parquet_delta.h"
#include "format/parquet_footer.h"
#include "format/parquet_page.h"
#include "format/parquet_rle.h"

struct parquet_reader {
	const struct parquet *file;
	uint32_t group;
	const struct parquet_leaf *leaf;
	struct parquet_pages pages;
	uint64_t page;              /* offset of the current page, for messages */
	uint32_t left;              /* values left in it, nulls included */
	int encoding;
	struct parquet_rle levels;
	struct span body;           /* bytes of values to come: PLAIN and the texts of DELTA_* */
	struct parquet_rle indices;
	struct parquet_delta deltas;   /* numbers, or lengths */
	struct parquet_delta prefixes; /* bytes that a text shares with the one before it */
	struct buffer text;            /* that text, by DELTA_BYTE_ARRAY */
	struct span dictionary;        /* PLAIN values */
	struct buffer starts;          /* uint32_t, first byte of each text in it, and its end */
	uint32_t entries;
};

/* Begins with the chunk of a leaf that is of type `type` and outside lists; for a BYTE_ARRAY texts are
 * read, else numbers. share as in parquet_texts. r is ended by parquet_reader_end, also after a failure. 0 or -ENOTSUP. */
int parquet_reader_begin(struct parquet_reader *r, const struct parquet *p, uint32_t group, uint32_t leaf,
			 struct share *share, struct error *err);
void parquet_reader_end(struct parquet_reader *r);

/* The next row's value; out->at is NULL for null and never else. The bytes stay until the next call. Errors
 * as parquet_texts; the text names file, row group, column, page and cause. */
int parquet_reader_text(struct parquet_reader *r, struct span *out, struct error *err);
/* The same of numbers. */
int parquet_reader_int(struct parquet_reader *r, bool *null, int64_t *out, struct error *err);

/* Checks after the last row that its page ends with it. 0 or -EBADMSG. */
int parquet_reader_finish(struct parquet_reader *r, struct error *err);

#endif
