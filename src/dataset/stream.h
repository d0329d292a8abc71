/* stream: the pieces of a source in canonical order, each once, made ahead; what `prepare` writes down.
 *
 * As many pieces are under way as `threads` and half of `memory` allow. One thread a stream; one stream a
 * data set, which dataset_stream opened: nothing is counted beside it, and no piece goes into the cache but
 * one that is too large for memory, or that is kept.
 */
#ifndef FW_DATASET_STREAM_H
#define FW_DATASET_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "dataset/dataset.h"
#include "dataset/prepared.h"
#include "fetch/starts.h"

struct stream;

/* Opens a data set to be streamed. *stop ends it early, and every wait with -EINTR. keep: pieces of remote text
 * are left in the cache as long as it has room, where a later stream finds them. Errors as dataset_open's, but for
 * those of batches. */
int dataset_stream(const struct options *options, const atomic_bool *stop, bool keep, struct dataset **out,
                   struct error *err);

struct stream_piece {
	uint32_t file, piece;
	uint64_t layout;  /* tokens that the piece has in the layout, those of a token file each once;
	                     STREAM_UNCOUNTED: it cannot be counted */
	uint64_t counted; /* tokens that count for val_tokens */
	uint64_t tokens;  /* that it gives to the stream; 0 if it is left out */
	bool shares;      /* one token more can be read, the first of the next piece: of token files */
	bool closed;      /* it is among `tokens`, for the next piece is left out */
	bool altered;     /* cut or filled, so that it has what the column says */
	bool left_out;    /* on_error=skip: damaged, for this cause */
	struct error cause;
	uint64_t documents;          /* that begin in it, as it is counted */
	uint64_t text_bytes;         /* of the documents; of token files the bytes of the ids */
	const struct starts *starts; /* of text: documents by their token; NULL: the source has none. Until
	                                the next piece. */
};
#define STREAM_UNCOUNTED UINT64_MAX

/* d must outlive it. Begins with this piece. 0, -ENOMEM. */
int stream_open(struct dataset *d, uint32_t file, uint32_t piece, struct stream **out, struct error *err);
void stream_close(struct stream *s); /* NULL-safe */

/* The next piece: 0; 1 behind the last; -EINTR (stopped); or for what it cannot be had, with file and piece
 * in the text: under on_error=skip only what may be otherwise another time. Waits. */
int stream_next(struct stream *s, struct stream_piece *out, struct error *err);
/* Tokens [from, from + n) of the piece that stream_next gave last, from + n within its tokens, and the one
 * more that it shares. Little-endian, of the data set's width. 0 or -errno as above. */
int stream_read(struct stream *s, uint64_t from, size_t n, void *out, struct error *err);

/* The same where they lie, until the next piece; NULL: stream_read has to copy them. */
const void *stream_view(struct stream *s, uint64_t from, size_t n);

/* Pieces that came from the cache so far. */
uint64_t stream_found(struct dataset *d);
/* Seconds that all threads together spent on pieces of text so far, and on encoding alone. */
void stream_spent(struct dataset *d, double *made, double *encoded);

/* What a record has of a file that the stream has come to; out->name is the data set's. May wait for its pin.
 */
int stream_file(struct dataset *d, uint32_t file, struct prepared_file *out, struct error *err);
/* Whether no piece stands at or behind a place. 0 or 1; or as stream_next. May wait. */
int stream_is_end(struct dataset *d, uint32_t file, uint32_t piece, struct error *err);
/* SHA-256 over the names of all files. */
void stream_names(struct dataset *d, char out[HASH_HEX]);

/* Where the parts of a source lie, for who takes a part of it without having read what comes before. The
 * pieces in left_out (sorted, the caller's) are damaged, and on_error=skip leaves them out though they are
 * counted. */
struct stream_plan {
	const struct stream_damage {
		uint32_t file, piece;
	} * left_out;
	size_t n_left_out;
	struct prepared_place cut; /* the training part begins here */
	uint64_t held, train;      /* tokens of both parts, as `prepare` writes them */
};
/* Counts what costs no tokenising, or waits for a server; the plan has its left_out. 0; -EAGAIN: something
 * must be tokenised to be counted; or why some piece cannot be counted, if that is not to be skipped. */
int stream_measure(struct dataset *d, struct stream_plan *plan, struct error *err);
bool stream_left_out(const struct stream_plan *plan, uint32_t file, uint32_t piece);
int stream_damage_order(const void *a, const void *b); /* qsort's, of struct stream_damage */
/* The same of one file: 0 if it is counted now. */
int stream_counted(struct dataset *d, uint32_t file, struct error *err);
/* Pieces of all files that are known. */
uint64_t stream_pieces(struct dataset *d);
/* The place of a token of the training part; token <= train. */
void stream_seek(struct dataset *d, const struct stream_plan *plan, uint64_t token,
                 struct prepared_place *out);

/* How much of the source lies before a piece, 0 to 1: by bytes where all sizes are known, else by files. */
double stream_share(struct dataset *d, uint32_t file, uint32_t piece);

#endif
