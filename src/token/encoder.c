#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "token/cut.h"
#include "token/merge.h"
#include "token/model.h"
#include "token/nfc.h"
#include "token/utf8.h"

struct encoder {
	const struct tokenizer *t;
	struct merge merge;
	struct buffer text;   /* a text made valid and normalised, where it was not */
	struct buffer normal; /* what it is made in */
	const struct classify_path *path;
	size_t begin[CUT_MOST + SPREAD_MORE + 8]; /* where words begin */
};

struct encoder *encoder_new(const struct tokenizer *t)
{
	struct encoder *e = calloc(1, sizeof *e);
	if (e != NULL)
		*e = (struct encoder){ .t = t, .path = classify_paths() };
	return e;
}

void encoder_free(struct encoder *e)
{
	if (e == NULL)
		return;
	merge_free(&e->merge);
	buffer_free(&e->text);
	buffer_free(&e->normal);
	free(e);
}

const struct tokenizer *encoder_tokenizer(const struct encoder *e)
{
	return e->t;
}

const char *const *encoder_paths(void)
{
	return classify_names();
}

int encoder_use(struct encoder *e, const char *path)
{
	for (const struct classify_path *p = classify_paths(); p->name != NULL; p++) {
		if (strcmp(p->name, path) == 0) {
			e->path = p;
			return 0;
		}
	}
	return -EINVAL;
}

size_t encoder_bound(size_t n)
{
	/* Ids are written some at a time, the last ones perhaps of no meaning. */
	return 3 * n + 8;
}

static inline void put(void *ids, size_t at, uint32_t id, unsigned width)
{
	if (width == 2)
		((uint16_t *)ids)[at] = (uint16_t)id;
	else
		((uint32_t *)ids)[at] = id;
}

/* The ids of a word of at most MERGE_SHORT bytes that is not among the words. Their number. */
static unsigned encode_short(const struct tokenizer *t, const uint8_t *p, size_t n, uint32_t ids[MERGE_SHORT])
{
	if (t->whole && !(t->seeded && n <= WORD_BYTES)) {
		ids[0] = vocab_find(&t->vocab, p, n);
		if (ids[0] != VOCAB_NONE)
			return 1;
	}
	return merge_short_word(&t->vocab, &t->pairs, p, n, ids);
}

/* The same of a longer word, to where it goes. Or -ENOMEM, -ENOTSUP. */
static int64_t encode_long(struct encoder *e, const uint8_t *p, size_t n, void *ids, size_t done,
                           unsigned width)
{
	const struct tokenizer *t = e->t;
	uint32_t id = t->whole ? vocab_find(&t->vocab, p, n) : VOCAB_NONE;
	if (id == VOCAB_NONE)
		return merge_word(&e->merge, &t->vocab, &t->pairs, p, n, (uint8_t *)ids + done * width,
		                  width);
	put(ids, done, id, width);
	return 1;
}

/* Encodes a word that was not found at the first look, and keeps its ids. Number of ids, -ENOMEM or -ENOTSUP.
 */
static int64_t encode_unseen(struct encoder *e, const uint8_t *p, size_t n, struct word_key key, void *ids,
                             size_t done, unsigned width)
{
	const struct words *w = &e->t->words;
	uint64_t hash = word_hash(key);
	const struct word *known = n <= WORD_BYTES ? words_find(w, key, hash) : NULL;
	if (known != NULL)
		return word_put(known, ids, done, width);
	/* A short word that has too many ids for an entry has one under this key, which says that it is among
	 * the long ones. */
	struct word_key mark = { key.lo, key.hi | UINT64_C(1) << 63 };
	if (n > WORD_BYTES)
		hash = words_long_hash(p, n);
	unsigned kept;
	bool look = n > WORD_BYTES ? n <= WORD_LONGEST : words_find(w, mark, hash) != NULL;
	const uint8_t *at = look ? words_find_long(w, p, n, hash, width, &kept) : NULL;
	if (at != NULL) {
		memcpy((uint8_t *)ids + done * width, at, (size_t)kept * width);
		return kept;
	}
	if (n > WORD_LONGEST)
		return encode_long(e, p, n, ids, done, width);
	uint32_t found[WORD_LONGEST];
	int64_t got = n <= MERGE_SHORT ? encode_short(e->t, p, n, found) : encode_long(e, p, n, found, 0, 4);
	if (got < 0)
		return got;
	unsigned count = (unsigned)got;
	for (unsigned i = 0; i < count; i++)
		put(ids, done + i, found[i], width);
	if (n <= WORD_BYTES && count <= word_most(width))
		words_add(w, key, hash, found, count, width);
	else if (n > WORD_BYTES || words_add(w, mark, hash, found, 0, width))
		words_add_long(w, p, n, hash, found, count, width);
	return count;
}

/* Words are looked up in two steps, many at a time, so that their places in memory are fetched together. */
#define AHEAD 64

/* A word, and where it may be. */
struct look {
	struct word_key key;
	const struct word *here;
	const uint8_t *at;
};

/* Inlined for each width, which is then a constant. */
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void look_for(struct look *look, const struct words *w, const uint8_t *at, size_t length,
                     struct word_key key)
{
	look->key = key;
	look->here = &w->at[words_place(w, word_hash(key))];
	look->at = at;
	__builtin_prefetch(look->here);
	if (__builtin_expect(length > WORD_BYTES && length <= WORD_LONGEST, 0))
		__builtin_prefetch(&w->slot[words_long_hash(at, length) & (w->slots - 1)]);
}

ALWAYS int64_t encode_words(struct encoder *e, const uint8_t *p, size_t n, const size_t *begin, size_t words,
                            void *ids, size_t done, unsigned width)
{
	const struct words *w = &e->t->words;
	struct look look[AHEAD + 1], *end = look + words, *sure = end, *l = look;
	/* Of words so near to the end fewer bytes can be read. */
	while (sure > look && n - begin[sure - look - 1] < 16)
		sure--;
	for (; l < sure; l++, begin++) {
		const uint8_t *at = p + begin[0];
		size_t length = begin[1] - begin[0];
		look_for(l, w, at, length, word_key_in(at, length));
	}
	for (; l < end; l++, begin++)
		look_for(l, w, p + begin[0], begin[1] - begin[0],
		         word_key_at(p, n, begin[0], begin[1] - begin[0]));
	end->at = p + begin[0];
	for (l = look; l < end; l++) {
		if (__builtin_expect(word_is(l->here, l->key), 1)) {
			done += word_put(l->here, ids, done, width);
			continue;
		}
		int64_t count = encode_unseen(e, l->at, (size_t)(l[1].at - l->at), l->key, ids, done, width);
		if (count < 0)
			return count;
		done += (size_t)count;
	}
	return (int64_t)done;
}

ALWAYS int64_t encode_valid(struct encoder *e, const uint8_t *p, size_t n, void *ids, unsigned width)
{
	struct cut c;
	size_t *begin = e->begin, words = 0;
	int64_t done = 0;
	cut_start(&c, p, n, e->t->split, e->path);
	while (words > 0 || c.at < n) {
		/* The last word found so far ends where the next one begins. */
		words += cut_more(&c, begin + words);
		if (c.at == n)
			begin[words++] = n;
		for (size_t i = 0; i + 1 < words; i += AHEAD) {
			size_t k = words - 1 - i < AHEAD ? words - 1 - i : AHEAD;
			done = encode_words(e, p, n, begin + i, k, ids, (size_t)done, width);
			if (done < 0)
				return done;
		}
		if (c.at == n)
			break;
		if (words > 0) {
			begin[0] = begin[words - 1];
			words = 1;
		}
	}
	return done;
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
