/* make: one piece's tokens from its text.
 *
 * Streams: documents are encoded one at a time into a buffer that spills into the cache's file
 * once it is larger than `spill` bytes; a long document in parts. What is in memory counts against a share of the
 * files' pool. One thread a call.
 */
#ifndef FW_FETCH_MAKE_H
#define FW_FETCH_MAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "fetch/starts.h"
#include "fetch/textfile.h"
#include "format/tokenfile.h"
#include "store/cache.h"
#include "token/tokenizer.h"

#define SPARE_MOST (8u << 20) /* bytes of a buffer that is kept for another piece */

struct make_options {
	uint32_t groups;     /* row groups of a piece */
	int64_t bos, eos;    /* -1: none */
	unsigned width;      /* bytes of an id */
	size_t spill;        /* a piece with more bytes goes straight to disk */
	size_t most;         /* bytes of a piece in memory at most, where there is no disk */
	struct cache *cache; /* NULL: none */
	/* Begins and ends a wait for the disk, in which another piece may be made. NULL: nobody wants to know. */
	void (*waits)(void *arg, bool begins);
	void *arg;
	struct buffer *spare; /* of the caller: what ids were in, for the next piece */
	bool documents;      /* notes where documents begin; then only what spills goes to disk ... */
	bool keep;           /* ... or what the cache has room for, and where documents begin with it */
};

struct made {
	struct buffer ids;          /* in memory (little-endian), unless cached.source is set */
	struct cached_piece cached; /* in the cache, else source NULL */
	uint64_t tokens, documents, text_bytes;
	uint64_t encoded_ns;  /* that encoding took of it */
	struct starts starts; /* if make_options.documents */
	bool disk_failed;     /* the cache could not take it */
};

/* Reads the piece and encodes it. 0; what the reader says; -ENOTSUP (larger than `most` and no disk takes it:
 * names `memory`). On success *out is the caller's: made_free. */
int make_piece(struct textfiles *files, uint32_t file, uint32_t piece, struct encoder *encoder,
               const struct make_options *o, const struct cache_key *key, struct made *out,
               struct error *err);
/* The same for a piece of a token file on a server: tokens [first, first + n) as they are, `width` bytes
 * each. An id that does not fit becomes the largest number, which whoever serves it finds outside the
 * vocabulary. */
int make_token_piece(struct textfiles *files, uint32_t file, const struct tokenfile *t, uint64_t first,
                     uint64_t n, const struct make_options *o, const struct cache_key *key, struct made *out,
                     struct error *err);
void made_free(struct made *m);

#endif
