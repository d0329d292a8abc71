/* streams: the streams of an epoch, counted forward side by side.
 *
 * Source: design.md "Order", order.py `Epoch.__init__`: one stream of all pieces, or under stride=piece
 * one for each rank, which takes every count-th piece of the list. A stream is counted no further than
 * it is asked for, group after group of the list so that a group is looked into once for all streams.
 * One thread at a time.
 */
#ifndef FW_ORDER_STREAMS_H
#define FW_ORDER_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "order/blocktable.h"
#include "order/epoch.h"
#include "order/piecelist.h"

/* Pieces that are asked for at once. */
#define STREAMS_RUN 4096

struct streams {
	struct piecelist list;
	struct blockrule rule;
	struct blocktable *table; /* [count] */
	uint32_t count;
	uint64_t seed, epoch;
	uint64_t level;     /* LEVEL_BLOCK or LEVEL_FULL, 0: the sequences of a block are not permuted */
	bool by_rank;       /* stride=piece: the rank is part of the key */
	uint64_t sequences; /* of all closed blocks */
	bool changed;       /* a block was closed or a stream ended; the reader clears it */

	/* Where streams_cover is: every stream that is short of the goal, and not stuck, is at or behind
	 * `front`. */
	bool aimed;
	uint64_t goal_sequences, goal_blocks;
	uint32_t lacking;
	uint64_t front;
	uint8_t *stuck; /* [count] a piece can not be counted */
};

/* 0 or -ENOMEM. streams_free takes a zeroed struct too. */
int streams_init(struct streams *s, const struct order_params *p, const struct order_files *files);
void streams_free(struct streams *s);

/* Counts until every stream has closed blocks of so many sequences, and so many blocks, or has ended. 0;
 * -EAGAIN: *need, then call again; other -errno: a piece that some stream needs can not be counted (the
 * others were counted all the same), *need names it; -ENOMEM, -ENOTSUP with need->file = UINT32_MAX. */
int streams_cover(struct streams *s, uint64_t sequences, uint64_t blocks, struct order_need *need);

/* Position in the list of piece i of a stream. */
static inline uint64_t streams_position(const struct streams *s, uint32_t stream, uint64_t i)
{
	return i * s->count + stream;
}

#endif
