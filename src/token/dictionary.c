#include "token/dictionary.h"

/* Forms that wait for their place in memory. */
#define AHEAD 128

struct waiting {
	struct word_key key;
	uint64_t hash;
	uint32_t ids[8];
	unsigned n;
};

/* Takes the ids of one form; false: there are none, or the data end. */
static inline bool take_ids(struct span *s, unsigned width, uint32_t ids[8], unsigned *n)
{
	unsigned bytes = width == 2 ? 2 : 3;
	uint8_t count;
	struct span all;
	if (!span_u8(s, &count) || count == 0 || count > 7 || !span_take(s, (size_t)count * bytes, &all))
		return false;
	for (const uint8_t *p = all.at; p < all.at + all.n; p += bytes)
		*ids++ = load_u16(p) | (bytes == 3 ? (uint32_t)p[2] << 16 : 0);
	*n = count;
	return true;
}

/* The four forms of a word, in the order of the data: " word", " Word", "word", "Word". */
static void forms(const struct span word, uint8_t out[4][WORD_BYTES + 1])
{
	memset(out, 0, 4 * (WORD_BYTES + 1));
	for (unsigned which = 0; which < 4; which++) {
		size_t n = which < 2;
		out[which][0] = ' ';
		if (word.n == 0 || word.n > WORD_BYTES - n)
			continue;
		memcpy(out[which] + n, word.at, word.n);
		if (which % 2 == 1)
			out[which][n] = (uint8_t)(out[which][n] - 'a' + 'A');
	}
}

void dictionary_seed(struct words *w, struct dictionary d, unsigned width)
{
	struct waiting wait[AHEAD];
	size_t n = 0;
	while (d.words.n > 0 && d.ids.n > 0) {
		const uint8_t *end = memchr(d.words.at, '\n', d.words.n);
		struct span word = span_of(d.words.at, end != NULL ? (size_t)(end - d.words.at) : d.words.n);
		span_skip(&d.words, word.n + (end != NULL));
		uint8_t form[4][WORD_BYTES + 1];
		forms(word, form);
		for (unsigned which = 0; which < 4; which++) {
			struct waiting *here = &wait[n];
			size_t length = word.n + (which < 2);
			if (!take_ids(&d.ids, width, here->ids, &here->n) || length > WORD_BYTES)
				continue;
			here->key = word_key_at(form[which], sizeof form[which], 0, length);
			here->hash = word_hash(here->key);
			__builtin_prefetch(&w->at[words_place(w, here->hash)], 1);
			if (++n < AHEAD)
				continue;
			for (size_t i = 0; i < n; i++)
				words_seed(w, wait[i].key, wait[i].hash, wait[i].ids, wait[i].n, width);
			n = 0;
		}
	}
	for (size_t i = 0; i < n; i++)
		words_seed(w, wait[i].key, wait[i].hash, wait[i].ids, wait[i].n, width);
}
