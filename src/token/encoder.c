#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "token/merge.h"
#include "token/model.h"
#include "token/nfc.h"
#include "token/utf8.h"

struct encoder {
	const struct tokenizer *t;
	struct merge merge;
	struct buffer text;   /* a text made valid and normalised, where it was not */
	struct buffer normal; /* what it is made in */
	uint32_t *ids;  /* of a word that is long */
	size_t ids_room;
};

struct encoder *encoder_new(const struct tokenizer *t)
{
	struct encoder *e = calloc(1, sizeof *e);
	if (e != NULL)
		e->t = t;
	return e;
}

void encoder_free(struct encoder *e)
{
	if (e == NULL)
		return;
	merge_free(&e->merge);
	buffer_free(&e->text);
	buffer_free(&e->normal);
	free(e->ids);
	free(e);
}

size_t encoder_bound(size_t n)
{
	return 3 * n;
}

static inline void put(void *ids, size_t at, uint32_t id, unsigned width)
{
	if (width == 2)
		((uint16_t *)ids)[at] = (uint16_t)id;
	else
		((uint32_t *)ids)[at] = id;
}

/* The ids of a word that is not among the words. At most n; *out is valid until the next call. Number, or -ENOMEM. */
static int64_t encode_word(struct encoder *e, const uint8_t *p, size_t n, const uint32_t **out)
{
	if (n > e->ids_room) {
		size_t room = n < 4096 ? 4096 : n;
		free(e->ids);
		e->ids = malloc(room * sizeof *e->ids);
		e->ids_room = e->ids != NULL ? room : 0;
		if (e->ids == NULL)
			return -ENOMEM;
	}
	*out = e->ids;
	if (e->t->whole) {
		e->ids[0] = vocab_find(&e->t->vocab, p, n);
		if (e->ids[0] != VOCAB_NONE)
			return 1;
	}
	return merge_word(&e->merge, &e->t->vocab, &e->t->pairs, p, n, e->ids);
}

static inline int64_t encode_valid(struct encoder *e, const uint8_t *p, size_t n, void *ids, unsigned width)
{
	const struct tokenizer *t = e->t;
	size_t done = 0;
	while (n > 0) {
		size_t word = t->split(p, n);
		struct word_key key = { 0 };
		size_t hash = 0;
		if (word <= WORD_BYTES) {
			key = word_key(p, word);
			hash = word_hash(key);
			const struct word *known = words_find(&t->words, key, hash);
			if (known != NULL) {
				uint32_t four[WORD_IDS];
				unsigned count = word_ids(known, four);
				for (unsigned i = 0; i < count; i++)
					put(ids, done + i, four[i], width);
				done += count;
				p += word;
				n -= word;
				continue;
			}
		}
		const uint32_t *found = NULL;
		int64_t count = encode_word(e, p, word, &found);
		if (count < 0)
			return count;
		for (int64_t i = 0; i < count; i++)
			put(ids, done + (size_t)i, found[i], width);
		if (word <= WORD_BYTES && count <= WORD_IDS)
			words_add(&t->words, key, hash, found, (unsigned)count);
		done += (size_t)count;
		p += word;
		n -= word;
	}
	return (int64_t)done;
}

/* Puts the text, made valid and normalised, into e->text. */
static int prepare(struct encoder *e, const uint8_t *p, size_t n)
{
	size_t good = utf8_valid(p, n);
	e->text.n = 0;
	if (good < n) {
		if (n > SIZE_MAX / 3 || buffer_reserve(&e->text, 3 * n, 0, NULL) < 0)
			return -ENOMEM;
		e->text.n = utf8_replace(p, n, e->text.at);
		p = e->text.at;
		n = e->text.n;
	}
	if (!e->t->nfc)
		return 0;
	size_t same = nfc_same(p, n);
	if (same == n)
		return 0;
	e->normal.n = 0;
	if (buffer_add(&e->normal, p, same, 0, NULL) < 0 || nfc_append(p + same, n - same, &e->normal) < 0)
		return -ENOMEM;
	struct buffer other = e->text;
	e->text = e->normal;
	e->normal = other;
	return 0;
}

int64_t encoder_encode(struct encoder *e, const void *text, size_t n, void *ids)
{
	int r = prepare(e, text, n);
	if (r < 0)
		return r;
	const uint8_t *p = e->text.n > 0 ? e->text.at : text;
	if (e->text.n > 0)
		n = e->text.n;
	return e->t->width == 2 ? encode_valid(e, p, n, ids, 2) : encode_valid(e, p, n, ids, 4);
}
