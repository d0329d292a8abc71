#include "token/nfc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "token/nfctables.h"
#include "token/unicode.h"

/* Chapter 3.12: a syllable is a leading consonant, a vowel, and perhaps a trailing consonant. */
enum {
	S_BASE = 0xAC00,
	L_BASE = 0x1100,
	V_BASE = 0x1161,
	T_BASE = 0x11A7,
	L_COUNT = 19,
	V_COUNT = 21,
	T_COUNT = 28
};
#define S_COUNT (L_COUNT * V_COUNT * T_COUNT)

static unsigned class_of(uint32_t c)
{
	if (c < nfc_class[0].first)
		return 0;
	size_t low = 0, high = NFC_CLASSES;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (nfc_class[middle].first <= c)
			low = middle;
		else
			high = middle;
	}
	return c <= nfc_class[low].last ? nfc_class[low].k : 0;
}

static const struct nfc_decomposition *decomposition(uint32_t c)
{
	size_t low = 0, high = NFC_DECOMPOSITIONS;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (nfc_decomposition[middle].c == c)
			return &nfc_decomposition[middle];
		if (nfc_decomposition[middle].c < c)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* What a and b compose to, 0: nothing. */
static uint32_t composition(uint32_t a, uint32_t b)
{
	if (a - L_BASE < L_COUNT && b - V_BASE < V_COUNT)
		return S_BASE + ((a - L_BASE) * V_COUNT + (b - V_BASE)) * T_COUNT;
	if (a - S_BASE < S_COUNT && (a - S_BASE) % T_COUNT == 0 && b - T_BASE - 1 < T_COUNT - 1)
		return a + (b - T_BASE);
	size_t low = 0, high = NFC_COMPOSITIONS;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct nfc_decomposition *d = &nfc_decomposition[nfc_composition[middle]];
		if (d->a == a && d->b == b)
			return d->c;
		if (d->a < a || (d->a == a && d->b < b))
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static bool composes_again(uint32_t c, const struct nfc_decomposition *d)
{
	return d->b != 0 && composition(d->a, d->b) == c;
}

/* Whether c, which has combining class 0, may compose with one before it. */
static bool is_second(uint32_t c)
{
	if (c < 0x09BE)
		return false;
	if (c - V_BASE < V_COUNT || c - T_BASE - 1 < T_COUNT - 1)
		return true;
	for (size_t i = 0; i < NFC_SECONDS && nfc_second[i] <= c; i++)
		if (nfc_second[i] == c)
			return true;
	return false;
}

/* Blocks of 256 code points in which every one is the same in NFC and never takes part in anything: most of
 * all scripts. */
static bool is_inert(uint32_t c)
{
	if (c < 0x300)
		return true;
	if ((c >= 0x3030 && c < 0x3099) || (c >= 0x3100 && c < 0xA66F) || (c >= 0x0E01 && c < 0x0E38) ||
	    (c >= 0x0410 && c < 0x0483) || (c >= 0xAC00 && c < 0xD7A4))
		return true;
	if (class_of(c) != 0)
		return false;
	const struct nfc_decomposition *d = decomposition(c);
	return !(d != NULL && !composes_again(c, d)) && !is_second(c);
}

size_t nfc_same(const uint8_t *p, size_t n)
{
	size_t i = 0, start = 0;
	while (i < n) {
		/* Lead bytes below 0xCC are code points below U+0300. */
		if (p[i] < 0xCC) {
			start = i++;
			continue;
		}
		unsigned length;
		if (!is_inert(utf8_take(p + i, &length)))
			break;
		start = i;
		i += length;
	}
	/* The last one may compose with what follows. */
	if (i == n)
		return n;
	while (start > 0 && (p[start] & 0xC0) == 0x80)
		start--;
	return start;
}

/* Decomposed code points that wait for one that composes with none of them. */
struct pending {
	uint32_t *c;
	uint8_t *k;
	size_t n, room;
};

static int pending_add(struct pending *w, uint32_t c)
{
	if (w->n == w->room) {
		size_t room = w->room > 0 ? 2 * w->room : 32;
		uint32_t *more = realloc(w->c, room * sizeof *more);
		if (more == NULL)
			return -ENOMEM;
		w->c = more;
		uint8_t *also = realloc(w->k, room);
		if (also == NULL)
			return -ENOMEM;
		w->k = also;
		w->room = room;
	}
	w->c[w->n] = c;
	w->k[w->n++] = (uint8_t)class_of(c);
	return 0;
}

/* Sorts a run of marks by class, keeping the order within one. Counts first, for a run may be as long as the
 * text. */
static int reorder(uint32_t *c, uint8_t *k, size_t n)
{
	bool sorted = true;
	size_t at[257] = { 0 };
	for (size_t i = 0; i < n; i++) {
		sorted = sorted && (i == 0 || k[i - 1] <= k[i]);
		at[k[i] + 1]++;
	}
	if (sorted)
		return 0;
	uint32_t *copy = malloc(n * sizeof *copy);
	uint8_t *classes = malloc(n);
	if (copy == NULL || classes == NULL) {
		free(copy);
		free(classes);
		return -ENOMEM;
	}
	memcpy(copy, c, n * sizeof *c);
	memcpy(classes, k, n);
	for (size_t i = 1; i < 257; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; i < n; i++) {
		size_t to = at[classes[i]]++;
		c[to] = copy[i];
		k[to] = classes[i];
	}
	free(copy);
	free(classes);
	return 0;
}

static size_t utf8_put(uint32_t c, uint8_t *o)
{
	if (c < 0x80) {
		o[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		o[0] = (uint8_t)(0xC0 | c >> 6);
		o[1] = (uint8_t)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		o[0] = (uint8_t)(0xE0 | c >> 12);
		o[1] = (uint8_t)(0x80 | (c >> 6 & 63));
		o[2] = (uint8_t)(0x80 | (c & 63));
		return 3;
	}
	o[0] = (uint8_t)(0xF0 | c >> 18);
	o[1] = (uint8_t)(0x80 | (c >> 12 & 63));
	o[2] = (uint8_t)(0x80 | (c >> 6 & 63));
	o[3] = (uint8_t)(0x80 | (c & 63));
	return 4;
}

/* Reorders and composes what waits, and writes it. */
static int flush(struct pending *w, struct buffer *out)
{
	for (size_t i = 0; i < w->n;) {
		size_t end = i;
		while (end < w->n && w->k[end] != 0)
			end++;
		if (end > i && reorder(w->c + i, w->k + i, end - i) < 0)
			return -ENOMEM;
		i = end + 1;
	}
	/* The last starter, and the class of the mark kept last behind it (0: none, so that a starter next to
	 * it may compose). */
	size_t starter = SIZE_MAX, kept = 0;
	unsigned last = 0;
	for (size_t i = 0; i < w->n; i++) {
		uint32_t c = starter != SIZE_MAX && (last < w->k[i] || last == 0)
		                     ? composition(w->c[starter], w->c[i])
		                     : 0;
		bool blocked = last != 0 && last >= w->k[i];
		if (c != 0 && !blocked) {
			w->c[starter] = c;
			continue;
		}
		if (w->k[i] == 0)
			starter = kept;
		last = w->k[i];
		w->c[kept] = w->c[i];
		w->k[kept++] = (uint8_t)last;
	}
	w->n = 0;
	if (buffer_reserve(out, 4 * kept, 0, NULL) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < kept; i++)
		out->n += utf8_put(w->c[i], out->at + out->n);
	return 0;
}

/* The full decomposition, at most 4 code points (Unicode's longest). */
static size_t decompose(uint32_t c, uint32_t out[8])
{
	if (c - S_BASE < S_COUNT) {
		uint32_t s = c - S_BASE;
		out[0] = L_BASE + s / (V_COUNT * T_COUNT);
		out[1] = V_BASE + s % (V_COUNT * T_COUNT) / T_COUNT;
		out[2] = T_BASE + s % T_COUNT;
		return s % T_COUNT != 0 ? 3 : 2;
	}
	/* Only the first of the two decomposes further. */
	uint32_t tail[8];
	size_t tails = 0, n = 0;
	const struct nfc_decomposition *d;
	while (tails < 7 && (d = decomposition(c)) != NULL) {
		if (d->b != 0)
			tail[tails++] = d->b;
		c = d->a;
	}
	out[n++] = c;
	while (tails > 0)
		out[n++] = tail[--tails];
	return n;
}

int nfc_append(const uint8_t *p, size_t n, struct buffer *out)
{
	struct pending w = { 0 };
	int r = 0;
	for (size_t i = 0; i < n && r == 0;) {
		unsigned length;
		uint32_t c = utf8_take(p + i, &length), parts[8];
		i += length;
		size_t k = decompose(c, parts);
		if (w.n > 0 && class_of(parts[0]) == 0 && !is_second(parts[0]))
			r = flush(&w, out);
		for (size_t j = 0; j < k && r == 0; j++)
			r = pending_add(&w, parts[j]);
	}
	if (r == 0)
		r = flush(&w, out);
	free(w.c);
	free(w.k);
	return r;
}
