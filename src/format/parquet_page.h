/* parquet_page: the pages of one column chunk, one after another.
 *
 * Source: PageHeader of parquet.thrift 2.10; "Data Pages", "Checksumming" of the format's README. The chunk
 * is read forward in steps of PARQUET_WINDOW bytes, or of a page where one is larger; not at all where the source
 * has it in memory and shows it. Knows nothing of values. One thread.
 */
#ifndef FW_FORMAT_PARQUET_PAGE_H
#define FW_FORMAT_PARQUET_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include "io/source.h"

/* Over a network each step is a request; many pages of a thousand rows fit in one. */
#define PARQUET_WINDOW (8u << 20)

struct parquet_pages {
	struct source *source;
	int codec;
	bool levels;              /* values have definition levels */
	size_t limit;             /* bytes of a page, compressed or not, where its buffers have no share */
	uint64_t off, end;        /* next page's header, end of the chunk */
	struct source_view view;  /* the whole chunk, where the source shows it; else there is a window */
	struct buffer window;     /* bytes of the file from `at` on */
	uint64_t at;
	struct buffer data;       /* the current page, decompressed */
	struct buffer dictionary; /* the dictionary page, decompressed */
};

enum parquet_page_kind { PARQUET_DATA, PARQUET_DICTIONARY };

/* Encodings of parquet.thrift. */
enum parquet_encoding {
	PARQUET_PLAIN = 0,
	PARQUET_PLAIN_DICTIONARY = 2,
	PARQUET_DELTA_BINARY_PACKED = 5,
	PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
	PARQUET_DELTA_BYTE_ARRAY = 7,
	PARQUET_RLE_DICTIONARY = 8,
};

struct parquet_page {
	enum parquet_page_kind kind;
	uint64_t off;         /* of its header in the file */
	uint32_t values;      /* nulls included */
	int encoding;
	struct span levels;   /* definition levels by RLE, no length before them; empty if there are none */
	/* Encoded values. A data page's bytes stay until the next page is read, a dictionary's until the
	 * end. */
	struct span body;
};

/* "RLE_DICTIONARY", or "an unknown encoding". */
const char *parquet_encoding_name(int encoding);

/* Begins with the chunk of n bytes at off, which lie within the file. share: as in parquet_texts. */
void parquet_pages_begin(struct parquet_pages *p, struct source *s, int codec, bool levels, size_t limit,
			 struct share *share, uint64_t off, uint64_t n);
/* NULL-safe as to its buffers. */
void parquet_pages_end(struct parquet_pages *p);

/* Reads, checks and decompresses the next data or dictionary page; index pages are passed over. out->off is
 * set also on failure. 0; -EBADMSG (also: the chunk has no more pages), -ENOTSUP, -ENOMEM, or what
 * source_read says. The text names the cause only. */
int parquet_pages_next(struct parquet_pages *p, struct parquet_page *out, struct error *err);

#endif
