#include "order/block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum wanted { BY_NUMBER, BY_SEQUENCE, BY_PIECE };

void blockcache_free(struct blockcache *c)
{
	for (unsigned i = 0; i < BLOCKCACHE_BLOCKS; i++) {
		free(c->block[i].run);
		free(c->block[i].piece);
	}
	memset(c, 0, sizeof *c);
}

static void block_clear(struct block *b)
{
	free(b->run);
	free(b->piece);
	memset(b, 0, sizeof *b);
}

static int add_run(struct block *b, const struct blockcut *cut, uint64_t each)
{
	if (b->runs > 0 && b->run[b->runs - 1].each == each)
		return 0;
	if (b->runs == b->run_room) {
		size_t room = b->run_room == 0 ? 8 : 2 * b->run_room;
		struct blockrun *run = realloc(b->run, room * sizeof *run);

		if (run == NULL)
			return -ENOMEM;
		b->run = run;
		b->run_room = room;
	}
	b->run[b->runs++] =
	    (struct blockrun){.start = cut->have, .first = cut->next - cut->first, .each = each};
	return 0;
}

static bool is_wanted(const struct blockcut *cut, enum wanted by, uint64_t value)
{
	switch (by) {
	case BY_NUMBER:
		return cut->block == value;
	case BY_SEQUENCE:
		return value - cut->start < cut->have;
	default:
		return value < cut->next;
	}
}

/* Cuts blocks from *cut on until the wanted one is closed; its runs are left in b. */
static int cut_to(struct block *b, struct streams *s, uint32_t stream, enum wanted by, uint64_t value,
                  struct blockcut *cut)
{
	struct order_need need;

	for (;;) {
		struct piecerun run;
		int rc = piecelist_run(&s->list, streams_position(s, stream, cut->next), s->count,
		                       STREAMS_RUN, &run, &need);

		if (rc == 1 && is_wanted(cut, by, value))
			return 0;
		if (rc != 0)
			return rc == 1 ? -EIO : rc;
		while (run.count > 0) {
			bool closed;

			if (add_run(b, cut, run.each) < 0)
				return -ENOMEM;
			run.count -= blockcut_add(cut, &s->rule, run.count, run.each, &closed);
			if (!closed)
				continue;
			if (is_wanted(cut, by, value))
				return 0;
			blockcut_next(cut);
			b->runs = 0;
		}
	}
}

static int list_pieces(struct block *b, struct streams *s)
{
	struct order_need need;

	if (b->pieces > BLOCK_LISTED)
		return 0;
	b->piece = malloc((size_t)b->pieces * sizeof *b->piece);
	if (b->piece == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < b->pieces; i++) {
		struct blockpiece *p = &b->piece[i];
		int rc = piecelist_at(&s->list, streams_position(s, b->stream, b->first + i), &p->file,
		                      &p->piece, &need);

		if (rc != 0)
			return rc == 1 ? -EIO : rc;
	}
	return 0;
}

static size_t block_bytes(const struct block *b)
{
	return b->run_room * sizeof *b->run + (b->piece == NULL ? 0 : (size_t)b->pieces * sizeof *b->piece);
}

/* Drops the longest unused blocks, never `kept`, until the others fit. */
static void shrink(struct blockcache *c, const struct block *kept)
{
	for (;;) {
		struct block *oldest = NULL;
		size_t bytes = 0;

		for (unsigned i = 0; i < BLOCKCACHE_BLOCKS; i++) {
			struct block *b = &c->block[i];

			bytes += block_bytes(b);
			if (b->used > 0 && b != kept && (oldest == NULL || b->used < oldest->used))
				oldest = b;
		}
		if (bytes <= BLOCKCACHE_BYTES || oldest == NULL)
			return;
		block_clear(oldest);
	}
}

static int lay_out(struct blockcache *c, struct streams *s, uint32_t stream, enum wanted by, uint64_t value,
                   struct blockcut *cut, struct block **out)
{
	struct block *b = &c->block[0];
	int rc;

	for (unsigned i = 1; i < BLOCKCACHE_BLOCKS; i++)
		if (c->block[i].used < b->used)
			b = &c->block[i];
	block_clear(b);
	rc = cut_to(b, s, stream, by, value, cut);
	if (rc < 0)
		goto out;
	b->stream = stream;
	b->number = cut->block;
	b->start = cut->start;
	b->n = cut->have;
	b->first = cut->first;
	b->pieces = cut->next - cut->first;
	rc = list_pieces(b, s);
	if (rc < 0)
		goto out;
	if (s->level != 0) {
		uint64_t rank = s->by_rank ? stream + UINT64_C(1) : 0;
		uint64_t key = s->level == LEVEL_FULL
		                   ? order_key(s->seed, s->epoch, LEVEL_FULL, rank, 0)
		                   : order_key(s->seed, s->epoch, LEVEL_BLOCK, b->number, rank);

		permutation_init(&b->order, key, b->n);
	}
	b->used = ++c->clock;
	shrink(c, b);
	*out = b;
out:
	if (rc < 0)
		block_clear(b);
	return rc;
}

static struct block *kept(struct blockcache *c, uint32_t stream, enum wanted by, uint64_t value)
{
	for (unsigned i = 0; i < BLOCKCACHE_BLOCKS; i++) {
		struct block *b = &c->block[i];
		bool hit;

		if (b->used == 0 || b->stream != stream)
			continue;
		if (by == BY_NUMBER)
			hit = b->number == value;
		else if (by == BY_SEQUENCE)
			hit = value >= b->start && value - b->start < b->n;
		else
			hit = value >= b->first && value - b->first < b->pieces;
		if (hit) {
			b->used = ++c->clock;
			return b;
		}
	}
	return NULL;
}

int blockcache_by_number(struct blockcache *c, struct streams *s, uint32_t stream, uint64_t number,
                         struct block **out)
{
	struct blockcut cut;

	*out = kept(c, stream, BY_NUMBER, number);
	if (*out != NULL)
		return 0;
	blocktable_from_block(&s->table[stream], number, &cut);
	return lay_out(c, s, stream, BY_NUMBER, number, &cut, out);
}

int blockcache_by_sequence(struct blockcache *c, struct streams *s, uint32_t stream, uint64_t sequence,
                           struct block **out)
{
	struct blockcut cut;

	*out = kept(c, stream, BY_SEQUENCE, sequence);
	if (*out != NULL)
		return 0;
	blocktable_from_sequence(&s->table[stream], sequence, &cut);
	return lay_out(c, s, stream, BY_SEQUENCE, sequence, &cut, out);
}

int blockcache_by_piece(struct blockcache *c, struct streams *s, uint32_t stream, uint64_t piece,
                        struct block **out)
{
	struct blockcut cut;

	*out = kept(c, stream, BY_PIECE, piece);
	if (*out != NULL)
		return 0;
	blocktable_from_piece(&s->table[stream], piece, &cut);
	return lay_out(c, s, stream, BY_PIECE, piece, &cut, out);
}

int block_piece(const struct block *b, struct streams *s, uint64_t i, uint32_t *file, uint32_t *piece)
{
	struct order_need need;
	int rc;

	if (b->piece != NULL) {
		*file = b->piece[i].file;
		*piece = b->piece[i].piece;
		return 0;
	}
	rc = piecelist_at(&s->list, streams_position(s, b->stream, b->first + i), file, piece, &need);
	return rc == 1 ? -EIO : rc;
}

int block_sequence(const struct block *b, struct streams *s, uint64_t u, uint32_t *file, uint32_t *piece,
                   uint64_t *sequence)
{
	const struct blockrun *run = b->run;
	uint64_t into;

	/* The last run that starts at or before u: those without sequences share their start with the
	 * next. Without a branch: u is anywhere. */
	for (size_t n = b->runs; n > 1; n -= n / 2)
		run += (size_t)(run[n / 2].start <= u) * (n / 2);
	into = u - run->start;
	*sequence = into % run->each;
	return block_piece(b, s, run->first + into / run->each, file, piece);
}

uint64_t block_piece_start(const struct block *b, uint64_t i, uint64_t *each)
{
	const struct blockrun *run = b->run;

	for (size_t n = b->runs; n > 1; n -= n / 2)
		run += (size_t)(run[n / 2].first <= i) * (n / 2);
	*each = run->each;
	return run->start + (i - run->first) * run->each;
}
