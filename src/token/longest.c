#include "token/longest.h"

#include <stdlib.h>
#include <string.h>

struct longest {
	const struct vocab *v;
	const struct pairs *pairs;
	/* A tree of the bytes of all tokens: (node, byte) to node, open addressing, node + 1 in the upper
	 * half of the key; the root is node 0. */
	uint64_t *edge;
	uint32_t mask, nodes;
	uint32_t *token;        /* by node: its id, or VOCAB_NONE */
	uint32_t *shorter;      /* by id: the longest other token that it begins with, or VOCAB_NONE */
	uint32_t *left, *right; /* by id: what it is made of; VOCAB_NONE for a byte */
};

static inline uint32_t edge_hash(uint32_t key)
{
	return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* The slot of an edge, or the empty one where it would be. */
static inline uint64_t *find_edge(const struct longest *l, uint32_t node, uint8_t byte)
{
	uint32_t key = node << 8 | byte;
	uint32_t s = edge_hash(key) & l->mask;
	/* An edge leads to a node, which is not the root: no slot in use is 0. */
	while (l->edge[s] != 0 && l->edge[s] >> 32 != key)
		s = (s + 1) & l->mask;
	return &l->edge[s];
}

static void add_token(struct longest *l, uint32_t *parent, uint32_t id)
{
	struct span token = vocab_bytes(l->v, id);
	uint32_t node = 0;
	for (size_t i = 0; i < token.n; i++) {
		uint64_t *edge = find_edge(l, node, token.at[i]);
		if (*edge == 0) {
			l->token[l->nodes] = VOCAB_NONE;
			parent[l->nodes] = node;
			*edge = (uint64_t)(node << 8 | token.at[i]) << 32 | l->nodes++;
		}
		node = (uint32_t)*edge;
	}
	l->token[node] = id;
}

/* For each token the nearest one above it. A node comes behind the one above it, so what that one has is
 * known: it is kept in parent. */
static void fill_shorter(struct longest *l, uint32_t *parent)
{
	parent[0] = VOCAB_NONE;
	for (uint32_t node = 1; node < l->nodes; node++) {
		uint32_t above = parent[node];
		parent[node] = l->token[above] != VOCAB_NONE ? l->token[above] : parent[above];
		if (l->token[node] != VOCAB_NONE)
			l->shorter[l->token[node]] = parent[node];
	}
}

/* The longest token that the bytes begin with. */
static inline uint32_t match(const struct longest *l, const uint8_t *p, size_t n)
{
	uint32_t node = 0, found = VOCAB_NONE;
	for (size_t i = 0; i < n; i++) {
		uint64_t edge = *find_edge(l, node, p[i]);
		if (edge == 0)
			break;
		node = (uint32_t)edge;
		if (l->token[node] != VOCAB_NONE)
			found = l->token[node];
	}
	return found;
}

/* Fills left and right from the pairs, one for each token. False: a token has none, or is not ranked behind
 * what it is made of. */
static bool add_pairs(struct longest *l)
{
	for (uint32_t id = 0; id < l->v->n; id++)
		l->left[id] = l->right[id] = VOCAB_NONE;
	for (uint32_t s = 0; s <= l->pairs->mask; s++) {
		uint64_t entry = l->pairs->at[s];
		if (entry == 0)
			continue;
		uint32_t id = ((uint32_t)entry & PAIRS_MOST) - 1;
		l->left[id] = (uint32_t)(entry >> 43);
		l->right[id] = (uint32_t)(entry >> 22) & (VOCAB_MOST - 1);
	}
	for (uint32_t id = 0; id < l->v->n; id++) {
		uint32_t left = l->left[id], right = l->right[id];
		if (vocab_bytes(l->v, id).n < 2)
			continue;
		if (left == VOCAB_NONE || (left >= id && vocab_bytes(l->v, left).n > 1) ||
		    (right >= id && vocab_bytes(l->v, right).n > 1))
			return false;
	}
	return true;
}

struct longest *longest_new(const struct vocab *v, const struct pairs *pairs, bool *kind)
{
	struct longest *l = calloc(1, sizeof *l);
	uint32_t *parent = NULL;
	/* A token has at most as many nodes as bytes. */
	size_t most = (size_t)v->at[v->n] + 1, edges = 1024;
	*kind = pairs->made == NULL && most < 1u << 24;
	while (edges < most + most / 4)
		edges *= 2;
	if (l == NULL || !*kind)
		goto fail;
	l->v = v;
	l->pairs = pairs;
	l->mask = (uint32_t)(edges - 1);
	l->nodes = 1;
	l->edge = calloc(edges, sizeof *l->edge);
	l->token = malloc(most * sizeof *l->token);
	l->shorter = malloc(v->n * sizeof *l->shorter);
	l->left = malloc(v->n * sizeof *l->left);
	l->right = malloc(v->n * sizeof *l->right);
	parent = malloc(most * sizeof *parent);
	if (parent == NULL || l->edge == NULL || l->token == NULL || l->shorter == NULL || l->left == NULL ||
	    l->right == NULL)
		goto fail;
	*kind = add_pairs(l);
	if (!*kind)
		goto fail;
	l->token[0] = VOCAB_NONE;
	for (uint32_t id = 0; id < v->n; id++)
		add_token(l, parent, id);
	fill_shorter(l, parent);
	free(parent);
	return l;
fail:
	free(parent);
	longest_free(l);
	return NULL;
}

void longest_free(struct longest *l)
{
	if (l == NULL)
		return;
	free(l->edge);
	free(l->token);
	free(l->shorter);
	free(l->left);
	free(l->right);
	free(l);
}

/* Whether a and b can stand side by side. Goes back in time: of the two parts at the border the one that was
 * made last is taken apart, and what of it is at the border looked at. The parts x and y are at the border at
 * the same time until the first of the two becomes part of another: when their own pair comes before that, it
 * crosses the border. Of pairs of one rank the left one comes first. */
static bool side_by_side(const struct longest *l, uint32_t a, uint32_t b)
{
	uint32_t until_a = UINT32_MAX, until_b = UINT32_MAX;
	for (;;) {
		uint32_t rank = pairs_find(l->pairs, a, b);
		if (rank != PAIRS_NONE && rank < until_a && rank <= until_b)
			return false;
		bool byte_a = l->left[a] == VOCAB_NONE, byte_b = l->left[b] == VOCAB_NONE;
		if (byte_a && byte_b)
			return true;
		/* The same token on both sides was made on the left first. */
		if (byte_b || (!byte_a && a > b)) {
			until_a = a;
			a = l->right[a];
		} else {
			until_b = b;
			b = l->left[b];
		}
	}
}

size_t longest_encode(const struct longest *l, const uint8_t *p, size_t n, uint32_t *ids, uint64_t *dead)
{
	size_t count = 0, at = 0;
	uint32_t token = match(l, p, n);
	/* Some that stood side by side before, as the same ones do again and again in a run. */
	uint64_t stood[16];
	memset(stood, 0xFF, sizeof stood);
	for (;;) {
		size_t end = at + vocab_bytes(l->v, token).n;
		uint32_t before = count > 0 ? ids[count - 1] : VOCAB_NONE;
		uint64_t pair = (uint64_t)before << 32 | token, *known = &stood[(before ^ token) & 15];
		if ((dead[end / 64] >> (end % 64) & 1) == 0 &&
		    (count == 0 || *known == pair || side_by_side(l, before, token))) {
			*known = pair;
			ids[count++] = token;
			at = end;
			if (at == n)
				break;
			token = match(l, p + at, n - at);
			continue;
		}
		/* Every byte is a token, and the whole has an encoding: before the first token there is
		 * always a shorter one. */
		while (l->shorter[token] == VOCAB_NONE) {
			dead[at / 64] |= (uint64_t)1 << (at % 64);
			token = ids[--count];
			at -= vocab_bytes(l->v, token).n;
		}
		token = l->shorter[token];
	}
	for (size_t i = 0; i <= n / 64; i++)
		dead[i] = 0;
	return count;
}
