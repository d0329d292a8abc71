#include "token/split.h"

#include <stdbool.h>

#include "token/unicode.h"

/* Sets of classes, a bit each. */
#define SET(c) (1u << (c))
#define UPPER (SET(UNICODE_UPPER) | SET(UNICODE_LETTER) | SET(UNICODE_MARK))
#define LOWER (SET(UNICODE_LOWER) | SET(UNICODE_LETTER) | SET(UNICODE_MARK))
#define LETTER (SET(UNICODE_UPPER) | SET(UNICODE_LOWER) | SET(UNICODE_LETTER))
#define NUMBER SET(UNICODE_NUMBER)
#define BLANK (SET(UNICODE_SPACE) | SET(UNICODE_NEWLINE))
#define NEWLINE SET(UNICODE_NEWLINE)
#define SIGN (SET(UNICODE_OTHER) | SET(UNICODE_MARK) | SET(UNICODE_PUNCT) | SET(UNICODE_SYMBOL))
#define PUNCT (SET(UNICODE_PUNCT) | SET(UNICODE_SYMBOL))
/* What may stand before the letters of a word. */
#define PREFIX (SIGN | SET(UNICODE_SPACE))

#define REPEAT2(x) x, x
#define REPEAT5(x) x, x, x, x, x
#define REPEAT8(x) REPEAT2(x), REPEAT2(x), REPEAT2(x), REPEAT2(x)
#define REPEAT26(x) REPEAT8(x), REPEAT8(x), REPEAT8(x), REPEAT2(x)
#define P SET(UNICODE_PUNCT)
#define S SET(UNICODE_SYMBOL)

/* The sets of ASCII. */
static const uint16_t ascii[128] = {
	['\t'] = SET(UNICODE_SPACE),
	NEWLINE,
	SET(UNICODE_SPACE),
	SET(UNICODE_SPACE),
	NEWLINE,
	[' '] = SET(UNICODE_SPACE),
	P,
	P,
	P,
	S,
	P,
	P,
	P,
	P,
	P,
	P,
	S,
	P,
	P,
	P,
	P,
	['0'] = REPEAT5(NUMBER),
	REPEAT5(NUMBER),
	P,
	P,
	S,
	S,
	S,
	P,
	P,
	['A'] = REPEAT26(SET(UNICODE_UPPER)),
	P,
	P,
	P,
	S,
	P,
	S,
	['a'] = REPEAT26(SET(UNICODE_LOWER)),
	P,
	S,
	P,
	S,
};

/* The set of the code point at i < n, and its length. */
static inline unsigned at(const uint8_t *p, size_t i, unsigned *length)
{
	if (p[i] < 0x80) {
		*length = 1;
		return ascii[p[i]] | (ascii[p[i]] == 0);
	}
	return SET(unicode_class(utf8_take(p + i, length)));
}

/* The same, 0 at the end. */
static inline unsigned peek(const uint8_t *p, size_t n, size_t i)
{
	unsigned length;
	return i < n ? at(p, i, &length) : 0;
}

/* Behind the run of the set that begins at i. */
static inline size_t run(const uint8_t *p, size_t n, size_t i, unsigned set)
{
	unsigned length;
	while (i < n && (at(p, i, &length) & set) != 0)
		i += length;
	return i;
}

/* Behind the ends of line (and, if so, slashes) that begin at i. */
static size_t line_ends(const uint8_t *p, size_t n, size_t i, bool slash)
{
	while (i < n && (p[i] == '\n' || p[i] == '\r' || (slash && p[i] == '/')))
		i++;
	return i;
}

/* The bytes of the contraction that begins at p, 0: none. */
static size_t contraction(const uint8_t *p, size_t n)
{
	if (n < 2 || p[0] != '\'')
		return 0;
	switch (p[1]) {
	case 's':
	case 't':
	case 'm':
	case 'd':
		return 2;
	case 'r':
	case 'v':
		return n > 2 && p[2] == 'e' ? 3 : 0;
	case 'l':
		return n > 2 && p[2] == 'l' ? 3 : 0;
	default:
		return 0;
	}
}

/* The same in any case. U+017F folds to s. */
static size_t contraction_folded(const uint8_t *p, size_t n)
{
	if (n < 2 || p[0] != '\'')
		return 0;
	switch (p[1] | 0x20) {
	case 's':
	case 't':
	case 'm':
	case 'd':
		return 2;
	case 'r':
	case 'v':
		return n > 2 && (p[2] | 0x20) == 'e' ? 3 : 0;
	case 'l':
		return n > 2 && (p[2] | 0x20) == 'l' ? 3 : 0;
	default:
		return n > 2 && p[1] == 0xC5 && p[2] == 0xBF ? 3 : 0;
	}
}

/* White space, which begins at 0: all of it before the end or before `whole`, else all but its last code
 * point, but never nothing. With `lines`, as far as its last end of line, where it has one. */
static inline size_t blanks(const uint8_t *p, size_t n, bool lines, bool whole_at_end, unsigned whole)
{
	size_t i = 0, last = 0, line = 0;
	unsigned length;
	while (i < n) {
		unsigned set = at(p, i, &length);
		if ((set & BLANK) == 0)
			break;
		last = i;
		i += length;
		if (set == NEWLINE)
			line = i;
	}
	if (whole_at_end && i == n)
		return i;
	if (lines && line > 0)
		return line;
	return i == n || last == 0 || (peek(p, n, i) & whole) != 0 ? i : last;
}

/* At most `most` numbers, which begin at 0. */
static inline size_t numbers(const uint8_t *p, size_t n, unsigned most)
{
	size_t i = 0;
	unsigned length;
	for (unsigned k = 0; k < most && i < n && at(p, i, &length) == NUMBER; k++)
		i += length;
	return i;
}

static inline size_t gpt2_word(const uint8_t *p, size_t n, bool digit)
{
	unsigned length;
	size_t i = contraction(p, n);
	if (i > 0)
		return i;
	unsigned set = at(p, 0, &length);
	if (digit && set == NUMBER)
		return length;
	if (p[0] == ' ' && n > 1) {
		i = 1;
		set = at(p, 1, &length);
		if (digit && set == NUMBER)
			return 1;
	}
	if ((set & BLANK) != 0)
		return blanks(p, n, false, false, digit ? NUMBER : 0);
	set = (set & LETTER) != 0 ? LETTER : set == NUMBER ? NUMBER : SIGN;
	return run(p, n, i + length, set);
}

size_t split_gpt2(const uint8_t *p, size_t n)
{
	return gpt2_word(p, n, false);
}

size_t split_smollm2(const uint8_t *p, size_t n)
{
	return gpt2_word(p, n, true);
}

/* What cl100k's kin do when no letters begin the word; first is the set of the first code point. */
static inline size_t signs_or_blanks(const uint8_t *p, size_t n, unsigned first, bool slash,
                                     bool whole_at_end)
{
	size_t i = p[0] == ' ';
	if ((first & SIGN) != 0 || (i == 1 && (peek(p, n, 1) & SIGN) != 0))
		return line_ends(p, n, run(p, n, i, SIGN), slash);
	return blanks(p, n, true, whole_at_end, 0);
}

static inline size_t cl100k_word(const uint8_t *p, size_t n, unsigned digits, bool whole_at_end)
{
	unsigned length;
	size_t i = contraction_folded(p, n);
	if (i > 0)
		return i;
	unsigned set = at(p, 0, &length);
	if (set == NUMBER)
		return numbers(p, n, digits);
	if ((set & LETTER) != 0 || ((set & PREFIX) != 0 && (peek(p, n, length) & LETTER) != 0))
		return run(p, n, length, LETTER);
	return signs_or_blanks(p, n, set, false, whole_at_end);
}

size_t split_cl100k(const uint8_t *p, size_t n)
{
	return cl100k_word(p, n, 3, true);
}

size_t split_llama3(const uint8_t *p, size_t n)
{
	return cl100k_word(p, n, 3, false);
}

size_t split_qwen2(const uint8_t *p, size_t n)
{
	return cl100k_word(p, n, 1, false);
}

/* [UPPER]*[LOWER]+ at i, where both sets have the letters without case and the marks: behind it, or 0. The
 * first takes all it can and then gives back until the second has something. *upper is where the run of the
 * first ends. */
static size_t cased(const uint8_t *p, size_t n, size_t i, size_t *upper)
{
	size_t both = 0;
	unsigned length, set = 0;
	while (i < n && ((set = at(p, i, &length)) & UPPER) != 0) {
		i += length;
		if ((set & LOWER) != 0)
			both = i;
	}
	*upper = i;
	return i < n && set == SET(UNICODE_LOWER) ? run(p, n, i, LOWER) : both;
}

size_t split_o200k(const uint8_t *p, size_t n)
{
	unsigned length;
	unsigned set = at(p, 0, &length);
	if (set == NUMBER)
		return numbers(p, n, 3);
	/* A mark may be the prefix or the first of the letters. */
	bool prefix = (set & PREFIX) != 0, letters = (set & (LETTER | SET(UNICODE_MARK))) != 0;
	size_t upper[2] = { 0, 0 }, end = 0;
	if (prefix)
		end = cased(p, n, length, &upper[0]);
	if (end == 0 && letters)
		end = cased(p, n, 0, &upper[1]);
	if (end == 0 && upper[0] > length)
		end = upper[0];
	if (end == 0)
		end = upper[1];
	if (end > 0)
		return end + contraction_folded(p + end, n - end);
	return signs_or_blanks(p, n, set, true, false);
}

/* DeepSeek's second cut. */
static bool is_cjk(uint32_t c)
{
	return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
}

/* Where the first two cuts are, no run goes on: what is on their other side has a set of its own. The third
 * cuts what is within `cjk` like all else. */
#define CUT (1u << 31)

static inline unsigned at_deepseek(const uint8_t *p, size_t i, bool cjk, unsigned *length)
{
	uint32_t c = utf8_take(p + i, length);
	unsigned set = SET(unicode_class(c));
	return set == NUMBER || is_cjk(c) != cjk ? CUT : set;
}

static size_t run_deepseek(const uint8_t *p, size_t n, size_t i, bool cjk, unsigned set)
{
	unsigned length;
	while (i < n && (at_deepseek(p, i, cjk, &length) & set) != 0)
		i += length;
	return i;
}

static bool is_ascii_letter(uint8_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* Code points that nothing matches: all up to one that begins a match. The first is known to begin none. */
static size_t unmatched(const uint8_t *p, size_t n, bool cjk)
{
	unsigned length, next;
	utf8_take(p, &length);
	for (size_t i = length; i < n; i += length) {
		if (at_deepseek(p, i, cjk, &length) != SET(UNICODE_OTHER))
			return i;
		if (i + length < n &&
		    (at_deepseek(p, i + length, cjk, &next) & (LETTER | SET(UNICODE_MARK))) != 0)
			return i;
	}
	return n;
}

size_t split_deepseek3(const uint8_t *p, size_t n)
{
	const unsigned letters = LETTER | SET(UNICODE_MARK);
	unsigned length, next_length;
	bool cjk = is_cjk(utf8_take(p, &length));
	unsigned set = at_deepseek(p, 0, cjk, &length);
	if (set == CUT)
		return numbers(p, n, 3);
	if (p[0] < 0x80 && (set & PUNCT) != 0 && n > 1 && is_ascii_letter(p[1])) {
		size_t i = 2;
		while (i < n && is_ascii_letter(p[i]))
			i++;
		return i;
	}
	unsigned next = length < n ? at_deepseek(p, length, cjk, &next_length) : 0;
	bool prefix = (set & (SET(UNICODE_OTHER) | SET(UNICODE_MARK) | SET(UNICODE_SPACE))) != 0;
	if ((set & letters) != 0 || (prefix && (next & letters) != 0))
		return run_deepseek(p, n, length, cjk, letters);
	size_t i = p[0] == ' ' && (next & PUNCT) != 0;
	if (i == 1 || (set & PUNCT) != 0) {
		i = run_deepseek(p, n, i, cjk, PUNCT);
		/* An end of line is on the other side. */
		return cjk ? i : line_ends(p, n, i, false);
	}
	if ((set & BLANK) == 0)
		return unmatched(p, n, cjk);
	size_t end = run(p, n, 0, BLANK);
	return blanks(p, end < n && at_deepseek(p, end, cjk, &length) == CUT ? end : n, true, false, 0);
}
