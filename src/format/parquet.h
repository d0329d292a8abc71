/* parquet: the text and count columns of an Apache Parquet file, read by range.
 *
 * Source: the Apache Parquet format specification (parquet.thrift, Encodings.md, README.md of
 * apache/parquet-format 2.10) and Thrift's compact protocol. Only what FineWeb and its like need is here:
 * see the project's manual. Nothing is written. After parquet_open a struct parquet is immutable: any
 * number of threads may read from it at once.
 */
#ifndef FW_FORMAT_PARQUET_H
#define FW_FORMAT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/share.h"
#include "format/document.h"
#include "io/source.h"

struct parquet;

struct parquet_limits {
	size_t footer; /* bytes of a footer; 0: 256 MiB */
	size_t page;   /* of a page, compressed or not; 0: 512 MiB. Beyond it is -ENOTSUP, named `memory` */
};

/* Reads and checks the footer: magic, length, schema, row groups, column chunks (offsets within the file,
 * sums that fit). s must outlive *out and is not closed by it. 0; -EBADMSG (damaged: the text says what and
 * where), -ENOTSUP (encrypted: PARE magic or encryption_algorithm in a plaintext footer), or what
 * source_read says. */
int parquet_open(struct source *s, const struct parquet_limits *limits, struct parquet **out,
		 struct error *err);
void parquet_close(struct parquet *p);

uint32_t parquet_row_groups(const struct parquet *p);
uint64_t parquet_rows(const struct parquet *p, uint32_t group);

/* The number of row groups from the head of the footer alone (FileMetaData is written in field order, the
 * list's length stands before it): reads the last 8 bytes and at most the first 64 KiB of the footer, more
 * only if the schema is longer. Errors as parquet_open; what stands behind is not looked at. */
int parquet_count_row_groups(struct source *s, const struct parquet_limits *limits, uint32_t *out,
			     struct error *err);

/* Index of the leaf column with this dotted path ("text"), -ENOENT when there is none. A column inside a
 * list or map (max repetition level > 0) is not found. */
int parquet_column(const struct parquet *p, const char *path);
/* Number of leaf columns, those inside lists and maps too; the dotted path of one (cut at n - 1 bytes, n >= 1) and
 * the name of its physical type ("BYTE_ARRAY"). column < parquet_columns. */
uint32_t parquet_columns(const struct parquet *p);
void parquet_column_path(const struct parquet *p, uint32_t column, char *buf, size_t n);
const char *parquet_column_type(const struct parquet *p, uint32_t column);
/* 0 if the column holds texts (BYTE_ARRAY), -ENOTSUP with a text that names the type else. */
int parquet_is_text(const struct parquet *p, int column, struct error *err);

/* Where a column chunk lies in the file, for whoever fetches ahead. */
struct parquet_range {
	uint64_t off, n;
};
void parquet_chunk(const struct parquet *p, uint32_t group, int column, struct parquet_range *out);

/* Appends to out what of the footer is needed to read some columns (their indexes in ascending order), in the form of
 * a footer: its bytes in the place of a file's last ones, whose footer is always longer, make parquet_open give these
 * columns as the whole footer would. For who remembers it: FineWeb's footers have megabytes, this has a fiftieth. 0;
 * -ENOTSUP: a column is nested or in another file; -ENOMEM. */
int parquet_outline(const struct parquet *p, const int *columns, unsigned n, struct buffer *out, struct error *err);

/* Calls fn for each row of a row group, in order; share: what its buffers count against and what bounds a page
 * then, else NULL. text must be a BYTE_ARRAY column; id and url may be -1
 * (not wanted) or such a column. Memory: the dictionary and the current page of each column, nothing that
 * grows with the row group; pages are read from the source one at a time. 0; -EBADMSG (page header, CRC,
 * sizes, encodings, levels, a row count that differs), -ENOTSUP (codec, encoding, type, page beyond the
 * limit), -ENOENT (no such column), what source_read says or what fn returned. The text names file, row
 * group, page offset and cause. */
int parquet_texts(const struct parquet *p, uint32_t group, int text, int id, int url, struct share *share,
		  document_fn *fn, void *arg, struct error *err);

/* Calls fn for each value of an INT64 or INT32 column of a row group, in order. Errors as above. */
typedef int parquet_int_fn(void *arg, bool null, int64_t value, struct error *err);
int parquet_ints(const struct parquet *p, uint32_t group, int column, parquet_int_fn *fn, void *arg,
		 struct error *err);

#endif
