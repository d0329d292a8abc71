#include "token/pairs.h"

#include <errno.h>
#include <stdlib.h>

int pairs_make(struct pairs *p, size_t n)
{
	size_t entries = 1024;
	while (entries < n + n / 2)
		entries *= 2;
	p->at = calloc(entries, sizeof *p->at);
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

/* Calls for each cut of a token into two tokens, and returns how many there are. Those that begin a token are found from the longest down:
 * each knows the next shorter one, its `parent`. */
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

/* The pairs that the cuts name. */
static int pairs_of_cuts(struct pairs *p, const struct vocab *v, const uint8_t *cuts)
{
	if (pairs_make(p, v->n) < 0)
		return -ENOMEM;
	/* Many at a time, so that their memory is fetched together. */
	enum { AHEAD = 32 };
	uint32_t left[AHEAD], right[AHEAD], made[AHEAD], n = 0;
	for (uint32_t id = 0; id <= v->n; id++) {
		if (n == AHEAD || id == v->n) {
			for (uint32_t i = 0; i < n; i++)
				pairs_add(p, left[i], right[i], made[i]);
			n = 0;
		}
		struct span token = id < v->n ? vocab_bytes(v, id) : span_of(NULL, 0);
		if (token.n < 2 || cuts[id] == 0 || cuts[id] >= token.n)
			continue;
		left[n] = vocab_find(v, token.at, cuts[id]);
		right[n] = vocab_find(v, token.at + cuts[id], token.n - cuts[id]);
		if (left[n] == VOCAB_NONE || right[n] == VOCAB_NONE)
			continue;
		uint64_t key = (uint64_t)left[n] << 21 | right[n];
		__builtin_prefetch(&p->at[(uint32_t)(pairs_hash(key) >> 32) & p->mask], 1);
		made[n++] = id;
	}
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
	free(p->at);
	free(p->maybe);
	free(p->made);
	free(p->bytes);
}
