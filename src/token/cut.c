#include "token/cut.h"

#include <string.h>

#include "base/span.h"
#include "token/unicode.h"

/* In what cl100k and its kin differ. */
struct cut_kind {
	split_fn *split;
	unsigned digits; /* most numbers of a word */
	bool cases; /* a capital letter behind a small one begins a word, and contractions belong to the word
	               before; o200k */
};

static const struct cut_kind kinds[] = {
	{ split_cl100k, 3, false },
	{ split_llama3, 3, false },
	{ split_qwen2, 1, false },
	{ split_o200k, 3, true },
};

void cut_start(struct cut *c, const uint8_t *p, size_t n, split_fn *split, const struct classify_path *path)
{
	*c = (struct cut){ .p = p, .n = n, .split = split };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].split == split)
			c->kind = &kinds[i];
	if (split == split_gpt2 || c->kind != NULL)
		c->path = path->run != NULL ? path : NULL;
}

static size_t cut_plain(struct cut *c, size_t *begin)
{
	size_t k = 0;
	while (k < CUT_MOST && c->at < c->n) {
		begin[k++] = c->at;
		c->at += c->split(c->p + c->at, c->n - c->at);
	}
	return k;
}

/* The bytes of GPT-2's contraction that begins with the apostrophe at p, 0: none. */
static size_t contraction(const uint8_t *p, size_t n)
{
	if (n >= 2 && (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd'))
		return 2;
	if (n >= 3 && ((p[2] == 'e' && (p[1] == 'r' || p[1] == 'v')) || (p[1] == 'l' && p[2] == 'l')))
		return 3;
	return 0;
}

static bool is_blank(enum unicode_class k)
{
	return k == UNICODE_SPACE || k == UNICODE_NEWLINE;
}

/* Whether white space begins at i; also true at the end of the text, which cuts nothing off a run, and within
 * a code point. */
static bool blank_at(const struct cut *c, size_t i)
{
	unsigned length;
	return i >= c->n || (c->p[i] & 0xC0) == 0x80 || is_blank(unicode_class(utf8_take(c->p + i, &length)));
}

/* Gives the longer code points that begin in a block their classes, in all their bytes. *begin gets white
 * space of several bytes that a run gives up, which the block's algebra does not see. */
static void add_high(struct cut *c, struct masks *m, uint64_t *begin)
{
	uint64_t two = m->two, three = m->three;
	uint64_t sure = two | two << 1 | three | three << 1 | three << 2;
	uint64_t known = c->next_letter | c->next_number | c->next_blank;
	m->letter |= c->next_letter | sure;
	m->number |= c->next_number;
	m->blank |= c->next_blank;
	c->next_letter = two >> 63 | three >> 62 | three >> 63;
	c->next_number = c->next_blank = 0;
	for (uint64_t left = m->high & ~sure & ~known; left != 0;) {
		unsigned i = (unsigned)__builtin_ctzll(left), length;
		const uint8_t *p = c->p + c->at + i;
		left &= left - 1;
		if ((*p & 0xC0) == 0x80)
			continue;
		uint32_t point = utf8_take(p, &length);
		enum unicode_class k = unicode_class(point);
		uint64_t bits = (((uint64_t)1 << length) - 1) << i;
		uint64_t over = i + length > 64 ? (((uint64_t)1 << length) - 1) >> (64 - i) : 0;
		left &= ~bits;
		if (k == UNICODE_LOWER || k == UNICODE_LETTER || k == UNICODE_UPPER) {
			m->letter |= bits;
			c->next_letter |= over;
		} else if (k == UNICODE_NUMBER) {
			m->number |= bits;
			c->next_number |= over;
		} else if (is_blank(k)) {
			m->blank |= bits;
			c->next_blank |= over;
			if (!blank_at(c, c->at + i + length))
				*begin |= (uint64_t)1 << i;
		}
	}
}

/* Ends the words of contractions where they end, and begins the next there. */
static uint64_t contract(struct cut *c, uint64_t quotes, uint64_t begin)
{
	for (; quotes != 0; quotes &= quotes - 1) {
		unsigned i = (unsigned)__builtin_ctzll(quotes);
		size_t length = contraction(c->p + c->at + i, c->n - c->at - i);
		if (length == 0)
			continue;
		unsigned end = i + (unsigned)length;
		if (i + 1 < 64)
			begin &= ~((uint64_t)2 << i);
		else
			c->next_inside = 1;
		if (end < 64)
			begin |= (uint64_t)1 << end;
		else if (c->at + end < c->n)
			c->next_begin = (uint64_t)1 << (end - 64);
	}
	return begin;
}

/* The bits of a block at which a word of GPT-2's pattern begins; of its bytes those in `valid` are text. */
static uint64_t gpt2_block(struct cut *c, struct masks *m, uint64_t valid)
{
	uint64_t begin = 0;
	bool high = (m->high | c->next_letter | c->next_number | c->next_blank) != 0;
	uint64_t high_blank = 0;
	if (high) {
		uint64_t ascii = m->blank;
		add_high(c, m, &begin);
		high_blank = m->blank & ~ascii;
	}
	uint64_t letter = m->letter, number = m->number, blank = m->blank;
	uint64_t sign = ~(letter | number | blank) & valid;
	uint64_t first = (letter & ~(letter << 1 | c->letter)) | (number & ~(number << 1 | c->number)) |
	                 (sign & ~(sign << 1 | c->sign));
	/* A run of white space gives up its last one to what follows. */
	uint64_t before_more = ~blank >> 1;
	if (valid == UINT64_MAX)
		before_more |= (uint64_t)!blank_at(c, c->at + 64) << 63;
	else
		before_more &= valid >> 1;
	begin |= first & ~(m->space << 1 | c->space);
	begin |= blank & ~(blank << 1 | c->blank);
	begin |= blank & ~high_blank & before_more;
	begin = (begin & ~c->next_inside) | c->next_begin;
	c->next_inside = c->next_begin = 0;
	if ((m->quote & begin) != 0)
		begin = contract(c, m->quote & begin, begin);
	c->letter = letter >> 63;
	c->number = number >> 63;
	c->sign = sign >> 63;
	c->blank = blank >> 63;
	c->space = m->space >> 63;
	return begin;
}

/* A window is 64 bytes from the beginning of a word on, where nothing before counts. Of the words that begin
 * in it those are told whose beginning does not depend on what is behind it: up to this byte. */
#define WINDOW_SURE 60

/* Of ASCII bytes at x on: white space without an end of line, and then an end of line. Below 0: not before
 * the end of the window. */
static int line_ends_behind(const struct masks *m, uint64_t blank, unsigned x)
{
	uint64_t end = ~blank >> x << x;
	if (end == 0)
		return -1;
	return (m->newline & (end & -end)) != 0;
}

/* Words begin within runs of more than three numbers. */
static uint64_t begin_threes(uint64_t number, uint64_t first)
{
	uint64_t begin = 0;
	for (; first != 0; first &= first - 1) {
		unsigned i = (unsigned)__builtin_ctzll(first);
		for (i += 3; i < 64 && (number >> (i - 3) & 15) == 15; i += 3)
			begin |= (uint64_t)1 << i;
	}
	return begin;
}

/* The bytes of the contraction of any case that begins with the apostrophe at p, which has 3 bytes behind it;
 * 0: none. */
static unsigned contraction_folded(const uint8_t *p)
{
	uint8_t a = p[1] | 0x20, b = p[2] | 0x20;
	if (a == 's' || a == 't' || a == 'm' || a == 'd')
		return 2;
	return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

static uint64_t contract_folded(const struct cut_kind *k, const uint8_t *p, const struct masks *m,
                                uint64_t quotes, uint64_t begin)
{
	unsigned last = 0;
	for (; quotes != 0; quotes &= quotes - 1) {
		unsigned i = (unsigned)__builtin_ctzll(quotes);
		unsigned length = i <= WINDOW_SURE ? contraction_folded(p + i) : 0;
		/* o200k takes it along when letters that are no contraction themselves are before it. */
		if (length == 0 || (k->cases && (i == 0 || i == last || (m->letter >> (i - 1) & 1) == 0)))
			continue;
		/* With a capital letter in it too, which begins nothing here. */
		if (k->cases)
			begin &= ~((((uint64_t)1 << length) - 1) << i);
		last = i + length;
		begin |= (uint64_t)(last < 64) << (last & 63);
	}
	return begin;
}

/* The bits at which words of cl100k's kin begin, the first bit among them; those from *sure on may be wrong.
 */
static uint64_t window(const struct cut_kind *k, const uint8_t *p, const struct masks *m, unsigned *sure)
{
	uint64_t letter = m->letter, number = m->number, blank = m->blank, line = m->newline;
	uint64_t sign = ~(letter | number | blank);
	/* Ends of line behind a sign belong to it: a sum carries through each run of them. */
	uint64_t taken = line & ~(line + (line & sign << 1));
	uint64_t run = blank & ~taken, tail = blank & ~line;
	uint64_t first_sign = sign & ~(sign << 1) & ~(m->space << 1);
	uint64_t first_number = number & ~(number << 1);
	uint64_t begin = 1 | first_sign | first_number;
	begin |= run & ~(run << 1);
	begin |= tail & ~blank >> 1;
	/* White space but an end of line, or one sign that no space takes, is taken by letters behind it. */
	begin |= letter & ~(letter << 1 | tail << 1 | first_sign << 1);
	if (k->digits == 1)
		begin |= number;
	else if ((number & number << 1 & number << 2 & number << 3) != 0)
		begin |= begin_threes(number, first_number);
	if (k->cases) {
		begin |= m->upper & (letter & ~m->upper) << 1;
		uint64_t slash = taken << 1 & m->slash;
		if (slash != 0)
			*sure = (unsigned)__builtin_ctzll(slash) < *sure ? (unsigned)__builtin_ctzll(slash)
			                                                 : *sure;
	}
	/* Behind an end of line white space begins a word, unless another end of line comes before something
	 * else. */
	for (uint64_t left = tail & (line & ~taken) << 1; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		int more = line_ends_behind(m, tail, i);
		if (more == 0)
			begin |= (uint64_t)1 << i;
		else if (more < 0 && i < *sure)
			*sure = i;
	}
	if ((m->quote & begin) != 0)
		begin = contract_folded(k, p, m, m->quote & begin, begin);
	return begin;
}

static size_t cut_windows(struct cut *c, size_t *begin)
{
	size_t k = 0;
	while (c->at < c->n && k < CUT_MOST - 64) {
		const uint8_t *p = c->p + c->at;
		struct masks m;
		uint64_t words = 1;
		unsigned last = 0;
		/* With a longer code point so near, a window would tell one word, if any. */
		if (c->n - c->at >= 64 && (load_u64(p) & UINT64_C(0x8080808080808080)) == 0) {
			c->path->run(p, 1, &m);
			unsigned high = m.high != 0 ? (unsigned)__builtin_ctzll(m.high) : 64;
			unsigned sure = high > 3 ? high - 3 : 0;
			words = window(c->kind, p, &m, &sure);
			if (sure > WINDOW_SURE + 1)
				sure = WINDOW_SURE + 1;
			words = (words & (((uint64_t)1 << sure) - 1)) | 1;
			last = 63 - (unsigned)__builtin_clzll(words);
		}
		if (last == 0) {
			begin[k++] = c->at;
			c->at += c->split(p, c->n - c->at);
			continue;
		}
		words &= ~((uint64_t)1 << last);
		k += c->path->spread(&words, 1, c->at, begin + k);
		c->at += last;
	}
	return k;
}

size_t cut_more(struct cut *c, size_t begin[CUT_MOST + SPREAD_MORE])
{
	struct masks m[CUT_BLOCKS];
	uint64_t bits[CUT_BLOCKS];
	if (c->path == NULL)
		return cut_plain(c, begin);
	if (c->kind != NULL)
		return cut_windows(c, begin);
	size_t blocks = (c->n - c->at) / 64, at = c->at;
	if (blocks > CUT_BLOCKS)
		blocks = CUT_BLOCKS;
	if (blocks == 0 && c->at < c->n) {
		uint8_t tail[64] = { 0 };
		memcpy(tail, c->p + c->at, c->n - c->at);
		c->path->run(tail, 1, m);
		uint64_t valid = ((uint64_t)1 << (c->n - c->at)) - 1;
		bits[0] = gpt2_block(c, m, valid) & valid;
		c->at = c->n;
		return c->path->spread(bits, 1, at, begin);
	}
	c->path->run(c->p + c->at, blocks, m);
	for (size_t b = 0; b < blocks; b++) {
		bits[b] = gpt2_block(c, &m[b], UINT64_MAX);
		c->at += 64;
	}
	return c->path->spread(bits, blocks, at, begin);
}
