#include "token/merges.h"

#include <errno.h>
#include <stdlib.h>

#include "token/scan.h"

/* Of one merge: how many bytes its two tokens have. */
struct lengths {
	uint32_t bytes[2];
	bool hidden; /* one is no bytes */
};

/* Takes one item: "A B" or ["A", "B"]. */
static bool take(struct span *s, struct names *n, struct lengths *m)
{
	bool first = true, left, right;
	size_t at = n->bytes.n;
	if (scan_peek(s) != '[')
		return names_take_two(n, s, m->bytes, &m->hidden);
	if (!scan_mark(s, '[') || scan_item(s, &first, ']') != 1 || !names_take(n, s, &left))
		return false;
	m->bytes[0] = (uint32_t)(n->bytes.n - at);
	if (scan_item(s, &first, ']') != 1 || !names_take(n, s, &right) || scan_item(s, &first, ']') != 0)
		return false;
	m->bytes[1] = (uint32_t)(n->bytes.n - at) - m->bytes[0];
	m->hidden = left || right;
	return true;
}

int merges_read(struct merges *m, struct span *s, const char *name, struct error *err)
{
	bool first = true;
	int more;
	merges_free(m);
	m->there = true;
	if (names_start(&m->names, s->n) < 0)
		return fail(err, ENOMEM, "%s: out of memory", name);
	if (!scan_mark(s, '['))
		return fail(err, EBADMSG, "%s: \"merges\" is not an array", name);
	while ((more = scan_item(s, &first, ']')) > 0) {
		struct lengths one;
		size_t rank = m->each.n / sizeof one;
		if (rank >= PAIRS_MOST)
			return fail(err, ENOTSUP, "%s: more than %u merges are not supported", name,
			            PAIRS_MOST);
		if (!take(s, &m->names, &one))
			return fail(err, EBADMSG, "%s: \"merges\": item %zu is not two tokens", name, rank);
		if (buffer_add(&m->each, &one, sizeof one, 0, NULL) < 0)
			return fail(err, ENOMEM, "%s: out of memory", name);
	}
	return more < 0 ? fail(err, EBADMSG, "%s: malformed JSON in \"merges\"", name) : 0;
}

/* Merges that are looked up together, so that their memory is fetched together. */
#define AHEAD 64

/* The left token of a merge, the right one, and both together. */
struct three {
	struct span bytes[3];
	uint32_t hash[3], id[3];
	bool hidden;
	unsigned unknown; /* how many are looked up: not the last when it is what the list makes next */
};

struct filler {
	const struct vocab *v;
	struct pairs *p;
	const char *name;
	struct error *err;
	uint32_t next; /* the id that the last merge made, or comes behind that */
};

/* Whether a merge makes the same token as the one before it, or the next one, as in most lists. */
static bool makes_next(struct filler *f, struct span bytes)
{
	for (uint32_t id = f->next; id < f->next + 2 && id < f->v->n; id++) {
		struct span token = vocab_bytes(f->v, id);
		if (token.n == bytes.n && !vocab_is_hidden(f->v, id) &&
		    vocab_same(token.at, bytes.at, bytes.n)) {
			f->next = id;
			return true;
		}
	}
	return false;
}

/* Adds n pairs, which have the ranks from `rank` on. */
static int add(struct filler *f, struct three *t, uint32_t n, uint32_t rank)
{
	for (struct three *m = t; m < t + n; m++) {
		m->unknown = m->hidden ? 0 : makes_next(f, m->bytes[2]) ? 2 : 3;
		m->id[2] = f->next;
		for (unsigned k = 0; k < m->unknown; k++)
			m->hash[k] = vocab_hash(f->v, m->bytes[k].at, m->bytes[k].n);
	}
	for (struct three *m = t; m < t + n; m++)
		for (unsigned k = 0; k < m->unknown; k++)
			vocab_fetch(f->v, m->hash[k]);
	for (struct three *m = t; m < t + n; m++) {
		for (unsigned k = 0; k < m->unknown; k++) {
			m->id[k] = vocab_find_hashed(f->v, m->bytes[k].at, m->bytes[k].n, m->hash[k]);
			if (m->id[k] == VOCAB_NONE)
				return fail(
				        f->err, EBADMSG,
				        "%s: \"merges\": item %u has a token that is not in the vocabulary",
				        f->name, rank + (uint32_t)(m - t));
		}
		if (m->unknown == 3)
			f->next = m->id[2];
		if (!m->hidden)
			pairs_fetch(f->p, m->id[0], m->id[1]);
	}
	for (struct three *m = t; m < t + n; m++, rank++) {
		if (m->hidden)
			continue;
		pairs_add(f->p, m->id[0], m->id[1], rank);
		f->p->made[rank] = m->id[2];
	}
	return 0;
}

int merges_fill(const struct merges *m, const struct vocab *v, struct pairs *p, const char *name,
                struct error *err)
{
	const struct lengths *one = (const struct lengths *)(const void *)m->each.at;
	const uint8_t *at = m->names.bytes.at;
	uint32_t n = (uint32_t)(m->each.n / sizeof *one);
	struct filler f = { .v = v, .p = p, .name = name, .err = err };
	struct three three[AHEAD];
	p->made = malloc(((size_t)n + 1) * sizeof *p->made);
	if (p->made == NULL || pairs_make(p, n) < 0)
		return fail(err, ENOMEM, "%s: out of memory", name);
	int failed = 0;
	for (uint32_t rank = 0; rank < n && failed == 0; rank += AHEAD) {
		uint32_t k = n - rank < AHEAD ? n - rank : AHEAD;
		for (uint32_t i = 0; i < k; i++, one++) {
			size_t both = (size_t)one->bytes[0] + one->bytes[1];
			three[i].hidden = one->hidden;
			three[i].bytes[0] = span_of(at, one->bytes[0]);
			three[i].bytes[1] = span_of(at + one->bytes[0], one->bytes[1]);
			three[i].bytes[2] = span_of(at, both);
			at += both;
		}
		failed = add(&f, three, k, rank);
	}
	return failed;
}

void merges_free(struct merges *m)
{
	names_free(&m->names);
	buffer_free(&m->each);
	*m = (struct merges){ 0 };
}
