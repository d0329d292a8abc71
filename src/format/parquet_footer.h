/* parquet_footer: what is kept of a Parquet file's metadata.
 *
 * Source: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData of parquet.thrift 2.10. The inside of struct
 * parquet, for the files of this room only.
 */
#ifndef FW_FORMAT_PARQUET_FOOTER_H
#define FW_FORMAT_PARQUET_FOOTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "format/parquet.h"
#include "format/parquet_schema.h"

struct parquet_place {
	uint64_t off, n;  /* bytes of the file, pages of the dictionary included */
	int32_t codec;
	bool elsewhere;   /* in a file of its own: off and n say nothing */
};

struct parquet {
	struct source *source;
	struct parquet_limits limits; /* without zeros */
	struct parquet_schema schema;
	uint32_t groups;
	struct buffer rows;           /* uint64_t of each row group */
	struct buffer places;         /* struct parquet_place of each (row group, leaf) */
};

/* Where a file's footer lies. */
struct parquet_tail {
	uint64_t off;
	size_t n;
};

/* Reads the last eight bytes: magic and length. Errors as parquet_open. */
int parquet_tail_read(struct source *s, size_t limit, struct parquet_tail *out, struct error *err);

/* Fills schema, groups, rows, places of p from the footer's bytes. Errors as parquet_open. */
int parquet_footer_read(struct parquet *p, struct span footer, uint64_t off, struct error *err);

/* The number of row groups from the first bytes of a footer of `whole` bytes. 0; -EAGAIN (more bytes are
 * needed), -EBADMSG. */
int parquet_footer_groups(struct span head, size_t whole, uint32_t *out, struct error *err);

const struct parquet_place *parquet_place(const struct parquet *p, uint32_t group, uint32_t leaf);

#endif
