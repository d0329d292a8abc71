/* block: one counted block laid out: its runs of equal pieces, and place <-> (piece, sequence) in it.
 *
 * A block is laid out on demand from the nearest checkpoint and kept in a blockcache: at most
 * BLOCKCACHE_BLOCKS, and no more than BLOCKCACHE_BYTES unless a single block needs more. Blocks of at
 * most BLOCK_LISTED pieces list them; in larger ones a piece is looked up in the list of pieces each
 * time. One thread at a time.
 */
#ifndef FW_ORDER_BLOCK_H
#define FW_ORDER_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "order/permute.h"
#include "order/streams.h"

#define BLOCKCACHE_BLOCKS 16
#define BLOCKCACHE_BYTES (1u << 20)
#ifndef BLOCK_LISTED /* tests build with few */
#define BLOCK_LISTED 8192
#endif

struct blockrun {
	uint64_t start; /* sequences of the block before it */
	uint64_t first; /* pieces of the block before it */
	uint64_t each;  /* sequences of each of its pieces */
};

struct blockpiece {
	uint32_t file, piece;
};

struct block {
	uint32_t stream;
	uint64_t number, start, n; /* sequences */
	uint64_t first, pieces;    /* of the stream */
	struct blockrun *run;
	size_t runs, run_room;
	struct blockpiece *piece; /* NULL when there are more than BLOCK_LISTED */
	struct permutation order; /* of the sequences; n = 0 when they are not permuted */
	uint64_t used;            /* clock of the last use, 0: empty */
};

struct blockcache {
	struct block block[BLOCKCACHE_BLOCKS];
	uint64_t clock;
};

void blockcache_free(struct blockcache *c);
/* The closed block of a stream that has this number; sequence of the stream; piece of the stream. The
 * stream must have it. *out stays until the next call. 0, -ENOMEM, or -errno of a look-up that once
 * succeeded. */
int blockcache_by_number(struct blockcache *c, struct streams *s, uint32_t stream, uint64_t number,
                         struct block **out);
int blockcache_by_sequence(struct blockcache *c, struct streams *s, uint32_t stream, uint64_t sequence,
                           struct block **out);
int blockcache_by_piece(struct blockcache *c, struct streams *s, uint32_t stream, uint64_t piece,
                        struct block **out);

/* The i-th piece of a block, i < pieces. Errors as above. */
int block_piece(const struct block *b, struct streams *s, uint64_t i, uint32_t *file, uint32_t *piece);
/* Sequence u < n of a block in the order of its pieces. Errors as above. */
int block_sequence(const struct block *b, struct streams *s, uint64_t u, uint32_t *file, uint32_t *piece,
                   uint64_t *sequence);
/* Sequences of the i-th piece, and how many come before it. */
uint64_t block_piece_start(const struct block *b, uint64_t i, uint64_t *each);

#endif
