/* blocktable: the blocks of one stream: closed forward, remembered as checkpoints, cut again between
 * them.
 *
 * Source: design.md "Order", order.py `Epoch.cut`: block c is closed by the piece that brings it to
 * min(block, 2^(20+c)) tokens. A stream's pieces are numbered from 0; number i stands at i * step +
 * offset of the list. Memory: 16 bytes for every 1st, 2nd, 4th ... block, at most `most` of them. One
 * thread at a time.
 */
#ifndef FW_ORDER_BLOCKTABLE_H
#define FW_ORDER_BLOCKTABLE_H

#include <stdbool.h>
#include <stdint.h>

/* How the blocks of all streams of an epoch are cut. */
struct blockrule {
	uint64_t seq_len; /* tokens, >= 1 */
	uint64_t block;   /* tokens, >= 1; UINT64_MAX: one block of everything */
};

/* A block while it is cut: pieces [first, next) of the stream have `have` sequences; `start` come before
 * it. */
struct blockcut {
	uint64_t block, start, first, next, have;
};

/* Adds up to `count` pieces of `each` sequences to a block, as many as it takes until it is closed.
 * Returns how many were added (>= 1 for count >= 1); *closed tells. */
uint64_t blockcut_add(struct blockcut *cut, const struct blockrule *rule, uint64_t count, uint64_t each,
                      bool *closed);
/* Sequences that it lacks to be closed. */
uint64_t blockcut_missing(const struct blockcut *cut, const struct blockrule *rule);
/* Begins the block after it. */
void blockcut_next(struct blockcut *cut);

struct blockstone {
	uint64_t start, first;
};

struct blocktable {
	struct blockcut open; /* the block that is not closed yet; open.block is the number of closed ones */
	bool ended;           /* the stream has no more pieces: everything is closed */
	struct blockstone *stones; /* of every spacing-th closed block */
	uint32_t count, room, most;
	uint64_t spacing;
};

/* most >= 2 checkpoints. */
void blocktable_init(struct blocktable *t, uint32_t most);
void blocktable_free(struct blocktable *t);
/* Adds pieces, closing as many blocks as they fill. 0 or -ENOMEM (then nothing from the block that could
 * not be noted on was added). */
int blocktable_add(struct blocktable *t, const struct blockrule *rule, uint64_t count, uint64_t each);
/* The stream ends: what is open becomes the last block, if it has a sequence. 0 or -ENOMEM. */
int blocktable_end(struct blocktable *t);

/* Where to begin to cut again to come to the closed block that has this number, this sequence of the
 * stream, or this piece; all below the closed ones. *cut is the beginning of that block or of one at
 * most spacing - 1 before it. */
void blocktable_from_block(const struct blocktable *t, uint64_t block, struct blockcut *cut);
void blocktable_from_sequence(const struct blocktable *t, uint64_t sequence, struct blockcut *cut);
void blocktable_from_piece(const struct blocktable *t, uint64_t piece, struct blockcut *cut);

#endif
