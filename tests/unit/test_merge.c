/* Long words against the plain form of byte-pair encoding: the whole word, pair after pair. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "token/merge.h"
#include "unit/unit.h"

#define MOST 3000

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

struct model {
	struct vocab v;
	struct pairs pairs;
	uint32_t at[1024], made[1024];
	uint8_t bytes[1 << 16];
	uint32_t left[1024], right[1024], rank[1024], n; /* the pairs, in no order */
};

/* The bytes alone. */
static struct model *model_new(void)
{
	struct model *m = calloc(1, sizeof *m);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->v = (struct vocab){ .n = 256, .at = m->at, .bytes = m->bytes, .longest = 1 };
	for (uint32_t b = 0; b < 256; b++) {
		m->v.byte[b] = b;
		m->bytes[b] = (uint8_t)b;
		m->at[b + 1] = b + 1;
	}
	CU_ASSERT_EQUAL_FATAL(pairs_make(&m->pairs, 1024), 0);
	return m;
}

static uint32_t find_bytes(const struct model *m, const uint8_t *p, size_t n)
{
	for (uint32_t id = 0; id < m->v.n; id++)
		if (m->at[id + 1] - m->at[id] == n && memcmp(m->bytes + m->at[id], p, n) == 0)
			return id;
	return VOCAB_NONE;
}

/* Adds a pair; the token that it becomes is new, or is that of these bytes. */
static void model_add(struct model *m, uint32_t left, uint32_t right, uint32_t rank)
{
	struct span a = vocab_bytes(&m->v, left), b = vocab_bytes(&m->v, right);
	uint8_t *end = m->bytes + m->at[m->v.n];
	for (uint32_t i = 0; i < m->n; i++)
		if (m->left[i] == left && m->right[i] == right)
			return;
	memcpy(end, a.at, a.n);
	memcpy(end + a.n, b.at, b.n);
	uint32_t id = find_bytes(m, end, a.n + b.n);
	if (id == VOCAB_NONE) {
		id = m->v.n++;
		m->at[id + 1] = m->at[id] + (uint32_t)(a.n + b.n);
	}
	m->left[m->n] = left;
	m->right[m->n] = right;
	m->rank[m->n++] = rank;
	m->made[rank] = id;
	pairs_add(&m->pairs, left, right, rank);
}

static void model_done(struct model *m)
{
	m->pairs.made = malloc(sizeof m->made);
	CU_ASSERT_TRUE_FATAL(m->pairs.made != NULL && pairs_of_bytes(&m->pairs, &m->v) == 0);
	memcpy(m->pairs.made, m->made, sizeof m->made);
}

static void model_free(struct model *m)
{
	pairs_free(&m->pairs);
	free(m);
}

static size_t plainly(const struct model *m, const uint8_t *p, size_t n, uint32_t *ids)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = p[i];
	for (;;) {
		uint32_t low = UINT32_MAX, made = 0;
		size_t place = 0;
		for (size_t i = 0; i + 1 < n; i++)
			for (uint32_t k = 0; k < m->n; k++)
				if (m->left[k] == ids[i] && m->right[k] == ids[i + 1] && m->rank[k] < low) {
					low = m->rank[k];
					made = m->made[low];
					place = i;
				}
		if (low == UINT32_MAX)
			return n;
		ids[place] = made;
		memmove(ids + place + 1, ids + place + 2, (n - place - 2) * sizeof *ids);
		n--;
	}
}

static void check(const struct model *m, const uint8_t *p, size_t n)
{
	static uint32_t want[MOST], got[MOST];
	static uint16_t narrow[MOST];
	struct merge room = { 0 };
	size_t count = plainly(m, p, n, want);
	CU_ASSERT_EQUAL(merge_word(&room, &m->v, &m->pairs, p, n, got, 4), (int64_t)count);
	CU_ASSERT_TRUE(memcmp(got, want, count * sizeof *want) == 0);
	CU_ASSERT_EQUAL(merge_word(&room, &m->v, &m->pairs, p, n, narrow, 2), (int64_t)count);
	for (size_t i = 0; i < count; i++)
		CU_ASSERT_EQUAL_FATAL(narrow[i], want[i]);
	merge_free(&room);
}

/* Few letters and many pairs of tokens of any length, in any order: all that a list of pairs may be. */
static void any_pairs(void)
{
	static uint8_t text[MOST];
	for (unsigned round = 0; round < 60; round++) {
		struct model *m = model_new();
		uint32_t letters = 1 + draw(4), rank[30];
		for (uint32_t i = 0; i < 30; i++) {
			uint32_t k = draw(i + 1);
			rank[i] = rank[k];
			rank[k] = i;
		}
		for (uint32_t i = 0; i < 30; i++) {
			uint32_t known = letters + m->v.n - 256, a = draw(known), b = draw(known);
			a = a < letters ? 'a' + a : 256 + a - letters;
			b = b < letters ? 'a' + b : 256 + b - letters;
			if (vocab_bytes(&m->v, a).n + vocab_bytes(&m->v, b).n < 200)
				model_add(m, a, b, rank[i]);
		}
		model_done(m);
		size_t n = 1 + draw(1200), period = 1 + draw(40);
		for (size_t i = 0; i < n; i++)
			text[i] = (uint8_t)('a' + (round % 3 == 0 && i >= period && draw(200) != 0
			                                   ? text[i - period] - 'a'
			                                   : (int)draw(letters)));
		check(m, text, n);
		model_free(m);
	}
}

/* The last two letters are the first pair, the two before them the next: which ones meet at the beginning
 * depends on the end, and no window but the whole word tells it. */
static void all_depends_on_the_end(void)
{
	uint8_t text[2 * 200];
	struct model *m = model_new();
	for (uint32_t i = 0; i < 200; i++) {
		text[2 * i] = (uint8_t)(1 + i % 20);
		text[2 * i + 1] = (uint8_t)(100 + i / 20);
		model_add(m, text[2 * i], text[2 * i + 1], i);
	}
	for (uint32_t i = 0; i + 1 < 200; i++)
		model_add(m, 256 + i, 256 + i + 1, 199 + 200 - i);
	model_done(m);
	check(m, text, 2 * 200);
	check(m, text, 2 * 199);
	check(m, text + 2, 2 * 199);
	model_free(m);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "any list of pairs", any_pairs },
		{ "all depends on the end of the word", all_depends_on_the_end },
		CU_TEST_INFO_NULL,
	};
	return unit_main("merge", tests);
}
