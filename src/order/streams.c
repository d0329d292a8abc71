#include "order/streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* Checkpoints of each stream when there are so many that all together would be too many. */
#define FEWEST_CHECKPOINTS 8

int streams_init(struct streams *s, const struct order_params *p, const struct order_files *files)
{
	uint64_t most;

	memset(s, 0, sizeof *s);
	s->seed = p->seed;
	s->epoch = p->epoch;
	s->by_rank = p->stride == STRIDE_PIECE;
	s->count = s->by_rank ? p->world_size : 1;
	s->rule.seq_len = p->seq_len;
	s->rule.block = p->shuffle == SHUFFLE_BLOCK || p->shuffle == SHUFFLE_NONE ? p->block : UINT64_MAX;
	if (p->shuffle == SHUFFLE_BLOCK)
		s->level = LEVEL_BLOCK;
	else if (p->shuffle == SHUFFLE_FULL)
		s->level = LEVEL_FULL;
	if (piecelist_init(&s->list, p, files) < 0)
		return -ENOMEM;
	s->table = calloc(s->count, sizeof *s->table);
	s->stuck = calloc(s->count, sizeof *s->stuck);
	if (s->table == NULL || s->stuck == NULL)
		return -ENOMEM;
	most = max_u64(EPOCH_CHECKPOINTS / s->count, min_u64(FEWEST_CHECKPOINTS, EPOCH_CHECKPOINTS));
	for (uint32_t i = 0; i < s->count; i++)
		blocktable_init(&s->table[i], (uint32_t)most);
	return 0;
}

void streams_free(struct streams *s)
{
	piecelist_free(&s->list);
	for (uint32_t i = 0; s->table != NULL && i < s->count; i++)
		blocktable_free(&s->table[i]);
	free(s->table);
	free(s->stuck);
	memset(s, 0, sizeof *s);
}

static bool reached(const struct streams *s, const struct blocktable *t)
{
	return t->ended || (t->open.start >= s->goal_sequences && t->open.block >= s->goal_blocks);
}

static void aim(struct streams *s, uint64_t sequences, uint64_t blocks)
{
	if (s->aimed && s->goal_sequences == sequences && s->goal_blocks == blocks)
		return;
	s->aimed = true;
	s->goal_sequences = sequences;
	s->goal_blocks = blocks;
	s->lacking = 0;
	s->front = UINT64_MAX;
	memset(s->stuck, 0, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		if (reached(s, &s->table[i]))
			continue;
		s->lacking++;
		s->front = min_u64(s->front, streams_position(s, i, s->table[i].open.next));
	}
}

/* Counts one stream until it has reached the goal or position `end`. */
static int advance(struct streams *s, uint32_t stream, uint64_t end, struct order_need *need)
{
	struct blocktable *t = &s->table[stream];

	while (!reached(s, t)) {
		uint64_t p = streams_position(s, stream, t->open.next), before = t->open.start;
		struct piecerun run;
		int rc;

		if (p >= end)
			return 0;
		rc = piecelist_run(&s->list, p, s->count, STREAMS_RUN, &run, need);
		if (rc < 0)
			return rc;
		rc = rc == 1 ? blocktable_end(t) : blocktable_add(t, &s->rule, run.count, run.each);
		s->sequences += t->open.start - before;
		s->changed |= t->ended || t->open.start != before;
		if (rc < 0) {
			*need = (struct order_need){.file = UINT32_MAX, .piece = ORDER_PIECES};
			return rc;
		}
	}
	s->lacking--;
	return 0;
}

/* Counts all streams up to `end`, in the order of the list from the front on. */
static int advance_all(struct streams *s, uint64_t end, uint32_t *stuck, int *cause, struct order_need *need)
{
	uint64_t stop = min_u64(end, s->front + s->count);

	for (uint64_t p = s->front; p < stop; p++) {
		uint32_t stream = (uint32_t)(p % s->count);
		struct order_need missing;
		int rc;

		if (s->stuck[stream] || reached(s, &s->table[stream]))
			continue;
		rc = advance(s, stream, end, &missing);
		if (rc == 0)
			continue;
		if (rc == -EAGAIN || missing.file == UINT32_MAX) {
			/* Other streams wait at p + 1 and behind; alone, this one has gone on. */
			s->front = s->count > 1 ? p : streams_position(s, stream, s->table[stream].open.next);
			*need = missing;
			return rc;
		}
		s->stuck[stream] = 1;
		if ((*stuck)++ == 0) {
			*cause = rc;
			*need = missing;
		}
	}
	s->front = end;
	return 0;
}

int streams_cover(struct streams *s, uint64_t sequences, uint64_t blocks, struct order_need *need)
{
	uint32_t stuck = 0;
	int rc = 0, cause = 0;

	aim(s, sequences, blocks);
	while (rc == 0 && s->lacking > stuck) {
		struct order_need missing;
		uint64_t end;

		rc = piecelist_group_end(&s->list, s->front, &end, &missing);
		if (rc < 0) {
			if (rc == -EAGAIN || stuck == 0)
				*need = missing;
			else
				rc = cause;
			break;
		}
		if (rc == 1)
			end = UINT64_MAX;
		rc = advance_all(s, end, &stuck, &cause, need);
	}
	/* What is stuck is tried again by the next call: its owner may have learned better. */
	if (stuck > 0)
		s->aimed = false;
	return rc == 0 ? cause : rc;
}
