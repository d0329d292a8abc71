#include "order/blocktable.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define FIRST_BLOCK_BITS 20 /* log2 of the tokens of block 0 */

/* Sequences that close block c. */
static uint64_t enough(const struct blockrule *rule, uint64_t c)
{
	uint64_t tokens = rule->block;

	if (tokens == UINT64_MAX)
		return UINT64_MAX;
	if (c < 63 - FIRST_BLOCK_BITS)
		tokens = min_u64(tokens, UINT64_C(1) << (FIRST_BLOCK_BITS + c));
	return ceil_div(tokens, rule->seq_len);
}

uint64_t blockcut_add(struct blockcut *cut, const struct blockrule *rule, uint64_t count, uint64_t each,
                      bool *closed)
{
	uint64_t limit = enough(rule, cut->block), take = count;

	*closed = false;
	if (each > 0) {
		uint64_t filling = ceil_div(limit - cut->have, each);

		if (filling <= count) {
			take = filling;
			*closed = true;
		}
	}
	cut->next += take;
	cut->have += take * each;
	return take;
}

uint64_t blockcut_missing(const struct blockcut *cut, const struct blockrule *rule)
{
	return enough(rule, cut->block) - cut->have;
}

void blockcut_next(struct blockcut *cut)
{
	cut->block++;
	cut->start += cut->have;
	cut->first = cut->next;
	cut->have = 0;
}

void blocktable_init(struct blocktable *t, uint32_t most)
{
	memset(t, 0, sizeof *t);
	t->most = most;
	t->spacing = 1;
}

void blocktable_free(struct blocktable *t)
{
	free(t->stones);
	t->stones = NULL;
	t->count = t->room = 0;
}

static int note(struct blocktable *t, const struct blockcut *cut)
{
	if (cut->block % t->spacing != 0)
		return 0;
	if (t->count == t->most) {
		for (uint32_t i = 0; 2 * i < t->count; i++)
			t->stones[i] = t->stones[2 * i];
		t->count = (t->count + 1) / 2;
		t->spacing *= 2;
		if (cut->block % t->spacing != 0)
			return 0;
	}
	if (t->count == t->room) {
		uint32_t room = t->room == 0 ? 1 : t->room > t->most / 2 ? t->most : 2 * t->room;
		struct blockstone *stones = realloc(t->stones, room * sizeof *stones);

		if (stones == NULL)
			return -ENOMEM;
		t->stones = stones;
		t->room = room;
	}
	t->stones[t->count++] = (struct blockstone){.start = cut->start, .first = cut->first};
	return 0;
}

int blocktable_add(struct blocktable *t, const struct blockrule *rule, uint64_t count, uint64_t each)
{
	while (count > 0) {
		struct blockcut cut = t->open;
		bool closed;

		count -= blockcut_add(&cut, rule, count, each, &closed);
		if (closed) {
			if (note(t, &cut) < 0)
				return -ENOMEM;
			blockcut_next(&cut);
		}
		t->open = cut;
	}
	return 0;
}

int blocktable_end(struct blocktable *t)
{
	if (t->open.have > 0) {
		if (note(t, &t->open) < 0)
			return -ENOMEM;
		blockcut_next(&t->open);
	}
	t->ended = true;
	return 0;
}

static void from_stone(const struct blocktable *t, uint64_t i, struct blockcut *cut)
{
	const struct blockstone *s = &t->stones[i];

	*cut = (struct blockcut){
	    .block = i * t->spacing, .start = s->start, .first = s->first, .next = s->first};
}

void blocktable_from_block(const struct blocktable *t, uint64_t block, struct blockcut *cut)
{
	from_stone(t, block / t->spacing, cut);
}

void blocktable_from_sequence(const struct blocktable *t, uint64_t sequence, struct blockcut *cut)
{
	const struct blockstone *stone = t->stones;

	for (uint32_t n = t->count; n > 1; n -= n / 2)
		stone += (stone[n / 2].start <= sequence) * (n / 2);
	from_stone(t, (uint64_t)(stone - t->stones), cut);
}

void blocktable_from_piece(const struct blocktable *t, uint64_t piece, struct blockcut *cut)
{
	const struct blockstone *stone = t->stones;

	for (uint32_t n = t->count; n > 1; n -= n / 2)
		stone += (stone[n / 2].first <= piece) * (n / 2);
	from_stone(t, (uint64_t)(stone - t->stones), cut);
}
