#include "tests/token/texts.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Steele, Lea, Flood: splitmix64. */
static uint64_t draw(struct texts *x)
{
	uint64_t z = x->state += UINT64_C(0x9E3779B97F4A7C15);
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

uint32_t texts_below(struct texts *x, uint32_t n)
{
	return (uint32_t)((draw(x) >> 32) * n >> 32);
}

#define below texts_below

void texts_seed(struct texts *x, uint64_t seed, uint64_t chunk)
{
	x->state = seed;
	x->state = draw(x) ^ chunk;
	x->state = draw(x);
}

int texts_add(struct texts *x, const void *document, size_t n)
{
	if (n == 0)
		return 0;
	int r = buffer_add(&x->documents, document, n, 0, NULL);
	return r == 0 ? buffer_add(&x->ends, &x->documents.n, sizeof x->documents.n, 0, NULL) : r;
}

void texts_free(struct texts *x)
{
	buffer_free(&x->documents);
	buffer_free(&x->ends);
}

/* Appends where there is room; texts_make has made it. */
static void add(struct buffer *b, const void *p, size_t n)
{
	if (n <= b->room - b->n) {
		memcpy(b->at + b->n, p, n);
		b->n += n;
	}
}

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))

/* clang-format off */

/* What patterns and encoders tell apart. */
static const char *const snips[] = {
	"'s", "'S", "'\u017f", "'t", "'T", "'re", "'rE", "'ve", "'Ve", "'m", "'M", "'ll", "'LL", "'lL",
	"'d", "'D", "'", "''", "'x", "'l", "'r", "'v", "\u2019s", " ", " ", "  ", "   ", "\t", "\n",
	"\r", "\r\n", "\n\n", " \n", "\n ", "\t\n ", "\v", "\f", "\x1c", "\x1f", "\x7f", "\xc2\x85",
	"\u00a0", "\u1680", "\u2000", "\u2007", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f",
	"\u3000", "\u180e", "\u200b", "\u200d", "\u2060", "\ufeff", "\ufffd", "/", "//", "//\n", "/\r\n",
	"\n/", "1", "12", "123", "1234", "0000000000", "\u0661", "\u00bd", "\u00b2", "\u2167", "\u3007",
	"\u0e50", "\U0001d7ce", "\u2460", "a", "A", "aB", "Ab", "ABC", "abC", "ABc", "\u00df", "\u00d7",
	"\u00f7", "\u00aa", "\u00e9", "\u00c9", "e\u0301", "E\u0301", "\u0301", "\u0308", "\u0345",
	"\u20dd", "\u0903", "\u01c5", "\u02b0", "\u1c80", "\u4e00", "\u4e2d\u6587", "\u9fa5", "\u9fa6",
	"\u9fff", "\u3040", "\u3042", "\u3099", "\u309f", "\u30a0", "\u30ab", "\u30fb", "\u30fc",
	"\u3100", "\u3400", "\uac00", "\u1100\u1161\u11a8", "\u212b", "\ufb01", "\u0e33", "\u0939\u093f",
	"\u0627\u0644", "\u05d0", "!", "...", "(", ")", "_", "-", "--", "\u2014", "$", "+", "=", "^",
	"~", "`", "#", "@", "<", "\"", "\\", ",", ".", ". ", ", ", "\u00ab", "\u00bf", "\u20ac",
	"\u0378", "\u0560", "\ue000", "\x01", "\U0001f600", "\U0001f468\u200d\U0001f469",
	"\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd", "\U00020000", "\U00010400", "\U00010428",
	"\U0001d4d0", "\U00011f50", "\U000e0001", "\U000e0100", "\U0010ffff", "\U0003ffff",
	"<|endoftext|>", "<|im_start|>", "http://", "www.", "\u0130", "\u0131", "\u1e9e", "\u03c2",
	"\u00ad", "\u0149",
};

/* What is no UTF-8, each in its way. */
static const char *const broken[] = {
	"\x80", "\xbf", "\xc0", "\xc1", "\xc2", "\xc3", "\xdf", "\xe0", "\xe2\x82", "\xe3", "\xef\xbf",
	"\xf0", "\xf0\x9f", "\xf0\x9f\x98", "\xf4\x8f\xbf", "\xf5", "\xf8\x88\x80\x80\x80", "\xfe",
	"\xff", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xf0\x80\x80\xaf",
	"\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xed\xa0\xbd\xed\xb8\x80",
	"\xf4\x90\x80\x80", "\xf7\xbf\xbf\xbf", "\xe2\x28\xa1", "\xe2\x82\x28", "\xf0\x28\x8c\xbc",
	"\xf0\x90\x28\xbc", "\xed\x9f", "\xee\x80", "\xe1\x80\xe2", "\xf1\x80\x80\xe2\x82\xc3",
};

/* clang-format on */

/* UTF-8 of a code point; of a surrogate what encoders made that knew no better. */
static size_t put_point(uint8_t *p, uint32_t c)
{
	if (c < 0x80) {
		p[0] = (uint8_t)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		p[i] = (uint8_t)(0x80 | (c & 0x3F));
	p[0] = (uint8_t)(lead[n] | c);
	return n;
}

/* The first of 64 code points that follow one another: each block has some, those without characters too. */
static uint32_t some_row(struct texts *x)
{
	uint32_t k = below(x, 100);
	if (k < 30)
		return below(x, 0x3400 / 64) * 64;
	if (k < 60)
		return below(x, 0x10000 / 64) * 64;
	if (k < 85)
		return 0x10000 + below(x, 0x10000 / 64) * 64;
	if (k < 92)
		return 0x20000 + below(x, 0x20000 / 64) * 64;
	return below(x, 0x110000 / 64) * 64;
}

static void add_point(struct texts *x, struct buffer *b, uint32_t row)
{
	uint8_t p[4];
	uint32_t c = row + below(x, 64);
	add(b, p, put_point(p, c >= 0xD800 && c < 0xE000 && below(x, 8) > 0 ? 0xFFFD : c));
}

static void add_snip(struct texts *x, struct buffer *b)
{
	const char *s = snips[below(x, COUNT(snips))];
	add(b, s, strlen(s));
}

static bool goes_on(uint8_t c)
{
	return (c & 0xC0) == 0x80;
}

/* A piece of a document, mostly of whole characters. */
static void make_piece(struct texts *x, struct buffer *b, size_t n)
{
	size_t documents = x->ends.n / sizeof(size_t);
	if (documents == 0)
		return;
	const size_t *ends = (const size_t *)(const void *)x->ends.at;
	size_t i = below(x, (uint32_t)documents), from = i > 0 ? ends[i - 1] : 0, end = ends[i];
	if (end - from > n)
		from += below(x, (uint32_t)(end - from - n + 1));
	else
		n = end - from;
	const uint8_t *p = x->documents.at;
	if (below(x, 16) > 0) {
		while (n > 0 && goes_on(p[from])) {
			from++;
			n--;
		}
		while (n > 0 && from + n < end && goes_on(p[from + n]))
			n--;
	}
	add(b, p + from, n);
}

static void make_snips(struct texts *x, struct buffer *b, size_t n)
{
	for (size_t end = b->n + n; b->n < end;)
		add_snip(x, b);
}

static void make_block(struct texts *x, struct buffer *b, size_t n)
{
	uint32_t row = some_row(x);
	unsigned blanks = below(x, 3);
	for (size_t end = b->n + n; b->n < end;) {
		add_point(x, b, row);
		if (blanks > 0 && below(x, 8) == 0)
			add(b, " ", 1);
		if (blanks > 1 && below(x, 8) == 0)
			add_snip(x, b);
	}
}

static void make_points(struct texts *x, struct buffer *b, size_t n)
{
	for (size_t end = b->n + n; b->n < end;)
		add_point(x, b, some_row(x));
}

/* Tokens one after another, rare ones as often as frequent ones, or the first ones more often. */
static void make_tokens(struct texts *x, struct buffer *b, size_t n)
{
	bool first = below(x, 2) == 0;
	for (size_t end = b->n + n; b->n < end;) {
		size_t k;
		uint32_t most = first && x->vocab > 4096 ? 1u << (8 + below(x, 5)) : x->vocab;
		const uint8_t *p = tokenizer_bytes(x->t, below(x, most), &k);
		if (p != NULL)
			add(b, p, k);
		/* Of a vocabulary with holes. */
		if (k == 0)
			add(b, " ", 1);
	}
}

/* Runs of one kind after another. */
static void make_runs(struct texts *x, struct buffer *b, size_t n)
{
	/* clang-format off */
	static const char *const kinds[] = {
		" ", "\n", "\r\n", "\r", "\t", "/", "\u3000", "\u00a0", "\xc2\x85", "'", "1", "\u0663",
		"\u0301", "\u4e00", "\u3042", "!", ".",
	};
	/* clang-format on */
	for (size_t end = b->n + n; b->n < end;) {
		uint32_t long_ones = below(x, 64),
		         length = 1 + below(x, long_ones == 0 ? 200 : 1 + below(x, 10));
		uint32_t kind = below(x, COUNT(kinds) + 4);
		for (uint32_t i = 0; i < length && b->n < end; i++) {
			uint8_t c = (uint8_t)((kind & 1 ? 'A' : 'a') + (int)below(x, 26));
			if (kind < COUNT(kinds))
				add(b, kinds[kind], strlen(kinds[kind]));
			else
				add(b, &c, 1);
		}
	}
}

static void make_contractions(struct texts *x, struct buffer *b, size_t n)
{
	/* clang-format off */
	static const char *const tails[] = {
		"s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "VE", "M", "LL", "D", "Re", "vE",
		"lL", "\u017f", "\u017fx", "x", "l", "r", "v", "ss", "rr", "",
	};
	/* clang-format on */
	/* clang-format off */
	static const char *const behind[] = {
		" ", "", "a", "A", "1", "'", "\n", "\u00e9", ".", "\u0301",
	};
	/* clang-format on */
	for (size_t end = b->n + n; b->n < end;) {
		make_piece(x, b, below(x, 7));
		add(b, "'", 1);
		const char *tail = tails[below(x, COUNT(tails))];
		add(b, tail, strlen(tail));
		tail = behind[below(x, COUNT(behind))];
		add(b, tail, strlen(tail));
	}
}

static void make_letters(struct texts *x, struct buffer *b, size_t n)
{
	/* clang-format off */
	static const char *const alphabets[] = {
		"ab", "etaoinshrdlu", "abcdefghijklmnopqrstuvwxyz", "aA", "aA1 ", "^=-*", " \n\ta",
		"0123456789abcdef", "0123456789", "0123456789.,-",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", " a", " \n", "\r\n",
		"'s ", "{}[]();=\n\t ", "_aA",
	};
	/* clang-format on */
	const char *alphabet = alphabets[below(x, COUNT(alphabets))];
	uint32_t most = (uint32_t)strlen(alphabet);
	for (size_t i = 0; i < n; i++)
		add(b, alphabet + below(x, most), 1);
}

/* One thing again and again, with something before and behind. */
static void make_repeat(struct texts *x, struct buffer *b, size_t n)
{
	if (below(x, 2) == 0)
		add_snip(x, b);
	size_t begin = b->n, end = begin + n;
	switch (below(x, 4)) {
	case 0:
		make_points(x, b, 1 + below(x, 12));
		break;
	case 1:
		make_tokens(x, b, 1 + below(x, 8));
		break;
	case 2:
		make_piece(x, b, 1 + below(x, 20));
		break;
	default:
		add_snip(x, b);
	}
	size_t unit = b->n - begin;
	while (unit > 0 && b->n < end && b->n + unit <= b->room)
		add(b, b->at + begin, unit);
	if (below(x, 2) == 0)
		add_snip(x, b);
}

/* A text of words, and in its midst what is told apart: wherever in a block of 64 bytes. */
static void make_placed(struct texts *x, struct buffer *b, size_t n)
{
	static const char words[] = "e e ee eeeeee";
	size_t before = below(x, (uint32_t)n + 1);
	if (below(x, 2) == 0)
		make_piece(x, b, before);
	else
		while (before-- > 0)
			add(b, &words[below(x, 13)], 1);
	for (uint32_t i = 1 + below(x, 4); i > 0; i--)
		add_snip(x, b);
	make_piece(x, b, below(x, (uint32_t)n + 1));
}

static void make_bytes(struct texts *x, struct buffer *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)below(x, 256);
		add(b, &c, 1);
	}
}

static void make_cased(struct texts *x, struct buffer *b, size_t n)
{
	size_t begin = b->n;
	make_piece(x, b, n);
	uint32_t often = 1 + below(x, 5);
	for (size_t i = begin; i < b->n; i++)
		if ((uint8_t)((b->at[i] | 0x20) - 'a') < 26 && below(x, often) == 0)
			b->at[i] ^= 0x20;
}

typedef void make_fn(struct texts *x, struct buffer *b, size_t n);
static make_fn *const kinds[] = { make_piece,   make_piece,  make_placed, make_placed, make_snips,
	                          make_block,   make_points, make_runs,   make_tokens, make_contractions,
	                          make_letters, make_repeat, make_cased,  make_bytes };
/* The last one, random bytes, is rare. */
static make_fn *some_kind(struct texts *x)
{
	return kinds[below(x, below(x, 4) == 0 ? COUNT(kinds) : COUNT(kinds) - 1)];
}

static void make_spliced(struct texts *x, struct buffer *b, size_t n)
{
	for (uint32_t i = 2 + below(x, 3); i > 0; i--)
		some_kind(x)(x, b, n / 3 + 1);
}

/* Puts n bytes in the place of `gone` bytes at i. */
static void replace(struct buffer *b, size_t i, size_t gone, const void *p, size_t n)
{
	if (gone > b->n - i)
		gone = b->n - i;
	if (n > b->room - b->n)
		return;
	memmove(b->at + i + n, b->at + i + gone, b->n - i - gone);
	memcpy(b->at + i, p, n);
	b->n += n - gone;
}

/* Changes some places of what begins at `begin`: with what is told apart, or with what is no UTF-8. */
static void mutate(struct texts *x, struct buffer *b, size_t begin, bool invalid)
{
	for (uint32_t left = 1 + below(x, 5); left > 0; left--) {
		size_t i = begin + below(x, (uint32_t)(b->n - begin) + 1), end = i;
		if (!invalid)
			while (i > begin && i < b->n && goes_on(b->at[i]))
				i--;
		for (uint32_t gone = below(x, 3); gone > 0 && end < b->n; gone--)
			for (end++; !invalid && end < b->n && goes_on(b->at[end]);)
				end++;
		uint8_t point[4];
		const char *s = invalid ? broken[below(x, COUNT(broken))] : snips[below(x, COUNT(snips))];
		uint32_t how = below(x, 8);
		if (how == 0)
			replace(b, i, end - i, "", 0);
		else if (how == 1)
			replace(b, i, end - i, point, put_point(point, some_row(x) + below(x, 64)));
		else
			replace(b, i, end - i, s, strlen(s));
	}
}

static size_t some_length(struct texts *x)
{
	uint32_t k = below(x, 10000);
	if (k < 6000)
		return 1 + below(x, 40);
	if (k < 9200)
		return 41 + below(x, 140);
	if (k < 9900)
		return 181 + below(x, 320);
	return k < 9990 ? 500 + below(x, 2100) : 2600 + below(x, 5400);
}

/* A word that is longer than any the encoder takes as others. */
static void make_long(struct texts *x, struct buffer *b)
{
	static make_fn *const makers[] = { make_letters, make_repeat, make_tokens, make_block };
	makers[below(x, COUNT(makers))](x, b, 15000 + below(x, 25000));
}

int texts_make(struct texts *x, struct buffer *out)
{
	size_t n = some_length(x), begin = out->n;
	/* A part is at most so much longer than was asked for. */
	if (buffer_reserve(out, 65536, 0, NULL) < 0)
		return -ENOMEM;
	if (below(x, 20000) == 0)
		make_long(x, out);
	else if (below(x, 5) == 0)
		make_spliced(x, out, n);
	else
		some_kind(x)(x, out, n);
	uint32_t k = below(x, 16);
	if (k < 6)
		mutate(x, out, begin, k == 0);
	return 0;
}
