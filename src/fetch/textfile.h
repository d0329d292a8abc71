/* textfile: the text files that are open: source, Parquet footer, columns; kept for the next piece.
 *
 * At most TEXTFILES_OPEN stay open; one in use is never closed. Any thread.
 */
#ifndef FW_FETCH_TEXTFILE_H
#define FW_FETCH_TEXTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/share.h"
#include "format/document.h"
#include "format/parquet.h"
#include "io/listing.h"
#include "io/source.h"

#define TEXTFILES_OPEN 128

struct textfile {
	uint32_t file;
	enum file_kind kind;
	struct source *source;          /* an overlay where the file is remote */
	struct parquet *parquet;        /* KIND_PARQUET, else NULL */
	int text, id, url, token_count; /* columns of a Parquet file, -1: none */
	/* private */
	unsigned users;
	bool dropped, remembered;
	bool outlined; /* opened by an outline: other columns are not known */
	uint64_t used;
};

struct textfiles;

struct textfiles_options {
	const char *column; /* NULL: text, else raw_content, else content */
	size_t page;        /* bytes of a page or a line at most, where no pool bounds it */
	/* Opens the bytes of a file and holds them against its pin. */
	int (*open)(void *arg, uint32_t file, struct source **out, enum file_kind *kind, struct error *err);
	bool (*remote)(void *arg, uint32_t file);
	/* Whether an open file still is what was opened; where not, it is opened anew, which says why. */
	bool (*still)(void *arg, uint32_t file);
	struct share_pool *pool; /* of those who read documents; NULL: none */
	/* The outline of a remote Parquet file (parquet_outline), from an earlier mount: out is empty; true if it is
	 * known. And takes one. */
	bool (*recall)(void *arg, uint32_t file, struct buffer *out);
	void (*remember)(void *arg, uint32_t file, const struct buffer *outline);
	void *arg;
};

int textfiles_new(const struct textfiles_options *options, struct textfiles **out, struct error *err);
/* No file may be in use. NULL-safe. */
void textfiles_free(struct textfiles *t);

/* Opens a file, or hands out the open one. 0, or what opening, parquet_open or the choice of the column says
 * (-EBADMSG: no such column, the text lists what was looked for). *out is given back with textfiles_put. */
int textfiles_get(struct textfiles *t, uint32_t file, struct textfile **out, struct error *err);
/* again: the file gave an error, so the next get opens it anew (on a new connection). */
void textfiles_put(struct textfiles *t, struct textfile *f, bool again);

/* From now on files are opened by their own footers, for who wants to see all columns. */
void textfiles_whole(struct textfiles *t);

/* Remembers where the columns of a file lie, once, for later mounts. */
void textfiles_remember(struct textfiles *t, struct textfile *f);

/* Where the bytes of a piece lie, for who fetches them ahead, with_counts and with_ids those of its
 * token_count and id columns: at most `most` ranges, of at most `bytes` bytes in all; a piece that takes
 * more, or a stream that is read whole, has none. Neighbours are joined. Returns how many. */
unsigned textfile_ranges(const struct textfile *f, uint32_t piece, uint32_t groups, bool with_counts,
                         bool with_ids, struct parquet_range *out, unsigned most, uint64_t bytes);

/* Documents of one piece: `groups` consecutive row groups, 4 MiB of lines, or a whole compressed file. The
 * buffers for it count against the share. */
int textfile_documents(struct textfile *f, const struct textfiles_options *options, uint32_t piece,
                       uint32_t groups, bool with_ids, struct share *share, document_fn *fn, void *arg,
                       struct error *err);
const struct textfiles_options *textfiles_options(const struct textfiles *t);

#endif
