#include "token/pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "token/huge.h"

int pairs_make(struct pairs *p, size_t n)
{
	size_t entries = 1024;
	while (entries < n + n / 2)
		entries *= 2;
	p->at = huge_make(entries * sizeof *p->at);
	p->mask = (uint32_t)(entries - 1);
	/* 1024 entries have 2^12 bits. */
	p->shift = 64 - 12;
	for (size_t k = 1024; k < entries; k *= 2)
		p->shift--;
	p->maybe = calloc(entries / 16, sizeof *p->maybe);
	return p->at != NULL && p->maybe != NULL ? 0 : -ENOMEM;
}

void pairs_add(struct pairs *p, uint32_t left, uint32_t right, uint32_t rank)
{
	uint64_t key = (uint64_t)left << 21 | right, hash = pairs_hash(key), bit = hash >> p->shift;
	uint32_t s = (uint32_t)(hash >> 32) & p->mask;
	p->maybe[bit / 64] |= (uint64_t)1 << (bit % 64);
	while (p->at[s] != 0 && p->at[s] >> 22 != key)
		s = (s + 1) & p->mask;
	p->at[s] = key << 22 | (rank + 1);
}

/* Calls for each cut of a token into two tokens, and returns how many there are. Those that begin a token are
 * found from the longest down: each knows the next shorter one, its `parent`. */
static size_t each_cut(const struct vocab *v, const uint32_t *parent, struct pairs *p)
{
	size_t n = 0;
	for (uint32_t id = 0; id < v->n; id++) {
		struct span token = vocab_bytes(v, id);
		for (uint32_t left = parent[id]; left != VOCAB_NONE; left = parent[left]) {
			size_t cut = vocab_bytes(v, left).n;
			uint32_t right = vocab_find(v, token.at + cut, token.n - cut);
			if (right == VOCAB_NONE)
				continue;
			n++;
			if (p != NULL)
				pairs_add(p, left, right, id);
		}
	}
	return n;
}

/* A token and the two that it is made of. */
struct made {
	struct span left, right;
	uint32_t left_hash, right_hash, left_id, right_id, id;
};

/* Adds pairs: many at a time, so that their memory is fetched together. */
static void add_many(struct pairs *p, const struct vocab *v, struct made *m, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		m[i].left_hash = vocab_hash(v, m[i].left.at, m[i].left.n);
		m[i].right_hash = vocab_hash(v, m[i].right.at, m[i].right.n);
	}
	for (unsigned i = 0; i < n; i++) {
		vocab_fetch(v, m[i].left_hash);
		vocab_fetch(v, m[i].right_hash);
	}
	for (unsigned i = 0; i < n; i++) {
		m[i].left_id = vocab_find_hashed(v, m[i].left.at, m[i].left.n, m[i].left_hash);
		m[i].right_id = vocab_find_hashed(v, m[i].right.at, m[i].right.n, m[i].right_hash);
		pairs_fetch(p, m[i].left_id, m[i].right_id);
	}
	for (unsigned i = 0; i < n; i++)
		if (m[i].left_id != VOCAB_NONE && m[i].right_id != VOCAB_NONE)
			pairs_add(p, m[i].left_id, m[i].right_id, m[i].id);
}

/* The pairs that the cuts name. */
static int pairs_of_cuts(struct pairs *p, const struct vocab *v, const uint8_t *cuts)
{
	struct made m[64];
	unsigned n = 0;
	if (pairs_make(p, v->n) < 0)
		return -ENOMEM;
	for (uint32_t id = 0; id < v->n; id++) {
		struct span token = vocab_bytes(v, id);
		if (cuts[id] == 0 || cuts[id] >= token.n)
			continue;
		m[n++] = (struct made){ .left = span_of(token.at, cuts[id]),
			                .id = id,
			                .right = span_of(token.at + cuts[id], token.n - cuts[id]) };
		if (n == sizeof m / sizeof *m) {
			add_many(p, v, m, n);
			n = 0;
		}
	}
	add_many(p, v, m, n);
	return 0;
}

int pairs_of_vocab(struct pairs *p, const struct vocab *v, const uint8_t *cuts)
{
	if (cuts != NULL)
		return pairs_of_cuts(p, v, cuts);
	uint32_t *parent = malloc((size_t)v->n * sizeof *parent);
	if (parent == NULL)
		return -ENOMEM;
	for (uint32_t id = 0; id < v->n; id++) {
		struct span token = vocab_bytes(v, id);
		parent[id] = VOCAB_NONE;
		for (size_t n = token.n; n > 1 && parent[id] == VOCAB_NONE; n--)
			parent[id] = vocab_find(v, token.at, n - 1);
	}
	int r = pairs_make(p, each_cut(v, parent, NULL));
	if (r == 0)
		each_cut(v, parent, p);
	free(parent);
	return r;
}

int pairs_of_bytes(struct pairs *p, const struct vocab *v)
{
	p->bytes = malloc(65536 * sizeof *p->bytes);
	if (p->bytes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < 65536; i++)
		p->bytes[i] = pairs_find(p, v->byte[i >> 8], v->byte[i & 255]);
	return 0;
}

void pairs_free(struct pairs *p)
{
	huge_free(p->at, ((size_t)p->mask + 1) * sizeof *p->at);
	free(p->maybe);
	free(p->made);
	free(p->bytes);
}
