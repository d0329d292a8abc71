/* epoch: which sequence stands in which row of which batch of which rank, and back.
 *
 * A pure function of its parameters and of the sequence counts of the pieces: design.md "Order" and
 * order.py (class Epoch) are the reference. Counts need not all be known: an epoch counts its blocks
 * forward and says which piece it needs next. Memory does not grow with the pieces of token files: a
 * file whose pieces are alike is walked in O(1), blocks are kept as at most EPOCH_CHECKPOINTS
 * checkpoints, shared by the streams but at least 8 for each, and rebuilt between them. shuffle=torch
 * takes 4 bytes a sequence. One thread at a time on an epoch: its owner locks.
 */
#ifndef FW_ORDER_EPOCH_H
#define FW_ORDER_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum shuffle { SHUFFLE_BLOCK, SHUFFLE_NONE, SHUFFLE_FULL, SHUFFLE_TORCH };
enum stride { STRIDE_SEQUENCE, STRIDE_PIECE };
enum tail { TAIL_DROP, TAIL_PAD };

#ifndef EPOCH_CHECKPOINTS /* tests build with few */
#define EPOCH_CHECKPOINTS 65536
#endif

struct order_params {
	uint64_t seed;
	uint32_t epoch;
	uint32_t seq_len, world_size, batch_size; /* T, W, B */
	enum shuffle shuffle;
	enum stride stride;
	enum tail tail;
	uint64_t block; /* tokens */
	uint32_t mix_files;
	uint64_t start;      /* sequences; the caller gives 0 for every epoch but the mounted one */
	uint64_t max_tokens; /* 0: all */
	/* The held-out pieces: shuffle none, stride sequence, tail drop, no start, no max_tokens, whatever
	 * stands above. */
	bool val;
};

/* What is known of the files, in canonical order. The functions are pure look-ups: they never wait. */
struct order_files {
	void *arg;
	uint32_t files;
	/* The first piece, in canonical order, that is not held out: pieces before it are `val`. {0, 0}
	 * without val_tokens; {files, 0} when everything is held out; else a piece that there is. */
	uint32_t cut_file, cut_piece;
	/* Number of pieces of a file (>= 1), -EAGAIN: not known yet, other -errno: can not be known. */
	int64_t (*pieces)(void *arg, uint32_t file);
	/* Sequences of a piece (>= 0), or as above. */
	int64_t (*sequences)(void *arg, uint32_t file, uint32_t piece);
	/* True when all pieces of the file but the last have *full sequences, and sequences() of the
	 * last is known: token files. */
	bool (*uniform)(void *arg, uint32_t file, uint64_t *full);
};

struct order_need {
	uint32_t file;
	uint32_t piece; /* ORDER_PIECES: the number of pieces of the file */
};
#define ORDER_PIECES UINT32_MAX

/* A sequence, and where it stands in its stream. */
struct order_place {
	uint32_t file, piece;
	uint64_t sequence; /* in the piece */
	uint32_t stream;   /* 0, or the rank under stride=piece */
	uint64_t block;    /* of the stream */
	uint64_t at;       /* place in the block, before damage is looked at */
};

struct epoch;

/* Makes an epoch; *files is copied, its arg must outlive it. -EINVAL: stride=piece with torch or with
 * start, a parameter that is 0, a cut beyond the files; -ENOMEM. */
int epoch_new(const struct order_params *params, const struct order_files *files, struct epoch **out,
              struct error *err);
void epoch_free(struct epoch *e);

/* Counts forward until `batches` batches of every rank are covered, or all is counted. 0: covered; 1:
 * all is counted and there are fewer (epoch_batches is final); -EAGAIN: *need must be counted first,
 * then call again; other -errno: *need names the piece that can not be counted: its block and all later
 * ones can not be read. -ENOMEM, -ENOTSUP (torch with too many sequences) with need->file = UINT32_MAX. */
int epoch_cover(struct epoch *e, uint64_t batches, struct order_need *need);
/* The same until block `blocks - 1` of every stream is closed (for prefetch and counting). */
int epoch_cover_blocks(struct epoch *e, uint64_t blocks, struct order_need *need);

/* After epoch_cover said -EAGAIN: what it will need next, the sooner the earlier, at most `most` of it, so that an owner can
 * count side by side. Returns how many; need not be all, and some may turn out not to be needed. */
uint32_t epoch_needs(struct epoch *e, struct order_need *out, uint32_t most);

/* Those of them that probably close the block that is open, where there is one stream: when they have as many
 * sequences as the pieces that were counted on average, or `usual` ones where none was. */
uint32_t epoch_needs_block(struct epoch *e, uint64_t usual, struct order_need *out, uint32_t most);

/* Batches of each rank that the counted blocks cover; *final says that there are no more. Under tail=pad
 * the last ones only once all is counted. */
uint64_t epoch_batches(const struct epoch *e, bool *final);
/* Whole sequences of the counted blocks over all streams, before max_tokens, start and tails. */
uint64_t epoch_sequences(const struct epoch *e);
/* Counted blocks of a stream. */
uint64_t epoch_blocks(const struct epoch *e, uint32_t stream);

/* The batch_size rows of a batch. 0; -ENOENT (rank, or batch not among epoch_batches); -ENOMEM, or an
 * -errno of a look-up that once succeeded, also for all below. Mean cost at most 100 ns a row. */
int epoch_batch(struct epoch *e, uint32_t rank, uint64_t batch, struct order_place *rows);
/* One row. */
int epoch_row(struct epoch *e, uint32_t rank, uint64_t batch, uint32_t row, struct order_place *out);
/* on_error=skip: the place after *place in its block, cyclic. Returns 0; *n (may be NULL) is the block's
 * sequences, so that the caller can stop. */
int epoch_next(struct epoch *e, struct order_place *place, uint64_t *n);

/* The inverse of epoch_row, damage not looked at: 0, -ENOENT when this epoch does not have the sequence
 * (dropped, cut off, before start) or its block is not counted. */
int epoch_find(struct epoch *e, uint32_t file, uint32_t piece, uint64_t sequence, uint32_t *rank,
               uint64_t *batch, uint32_t *row);

/* Pieces of a counted block, in the order of its list: their number, and the i-th. Pieces without
 * sequences are among them. */
uint64_t epoch_block_pieces(struct epoch *e, uint32_t stream, uint64_t block);
int epoch_block_piece(struct epoch *e, uint32_t stream, uint64_t block, uint64_t i, uint32_t *file,
                      uint32_t *piece);

#endif
