#include "token/cut.h"

#include <string.h>

#include "token/unicode.h"

void cut_start(struct cut *c, const uint8_t *p, size_t n, split_fn *split, classify_fn *classify)
{
	*c = (struct cut){ .p = p, .n = n, .split = split, .classify = split == split_gpt2 ? classify : NULL };
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

/* Whether white space begins at i; also true at the end of the text, which cuts nothing off a run, and within a code point. */
static bool blank_at(const struct cut *c, size_t i)
{
	unsigned length;
	return i >= c->n || (c->p[i] & 0xC0) == 0x80 || is_blank(unicode_class(utf8_take(c->p + i, &length)));
}

/* Gives the longer code points that begin in a block their classes, in all their bytes. *begin gets white space of several bytes that a run gives
 * up, which the block's algebra does not see. */
static void add_high(struct cut *c, struct masks *m, uint64_t *begin)
{
	m->letter |= c->next_letter;
	m->number |= c->next_number;
	m->blank |= c->next_blank;
	c->next_letter = c->next_number = c->next_blank = 0;
	for (uint64_t left = m->high; left != 0;) {
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

static inline size_t count_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	return (size_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* Writes at + i for each bit i and returns how many there are; up to 8 more places are overwritten. */
static inline size_t spread(uint64_t bits, size_t at, size_t *out)
{
	size_t n = count_bits(bits);
	/* Eight at a time, so that the branch is foreseen. */
	for (size_t done = 0; done < n; done += 8) {
		for (size_t i = 0; i < 8; i++) {
			out[done + i] = at + (unsigned)__builtin_ctzll(bits | (uint64_t)1 << 63);
			bits &= bits - 1;
		}
	}
	return n;
}

size_t cut_more(struct cut *c, size_t begin[CUT_MOST + 8])
{
	struct masks m[CUT_BLOCKS];
	size_t k = 0;
	if (c->classify == NULL)
		return cut_plain(c, begin);
	size_t blocks = (c->n - c->at) / 64;
	if (blocks > CUT_BLOCKS)
		blocks = CUT_BLOCKS;
	if (blocks == 0 && c->at < c->n) {
		uint8_t tail[64] = { 0 };
		memcpy(tail, c->p + c->at, c->n - c->at);
		c->classify(tail, 1, m);
		uint64_t valid = ((uint64_t)1 << (c->n - c->at)) - 1;
		k = spread(gpt2_block(c, m, valid) & valid, c->at, begin);
		c->at = c->n;
		return k;
	}
	c->classify(c->p + c->at, blocks, m);
	for (size_t b = 0; b < blocks; b++) {
		k += spread(gpt2_block(c, &m[b], UINT64_MAX), c->at, begin + k);
		c->at += 64;
	}
	return k;
}
