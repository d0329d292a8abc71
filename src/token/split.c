#include "token/split.h"

#include "token/unicode.h"

/* GPT-2 tells four kinds apart. */
enum kind { SIGN, LETTER, NUMBER, BLANK };

static enum kind kind_of(uint32_t c)
{
	switch (unicode_class(c)) {
	case UNICODE_UPPER:
	case UNICODE_LOWER:
	case UNICODE_LETTER:
		return LETTER;
	case UNICODE_NUMBER:
		return NUMBER;
	case UNICODE_SPACE:
	case UNICODE_NEWLINE:
		return BLANK;
	default:
		return SIGN;
	}
}

/* Behind the run of one kind that begins at i. */
static size_t run(const uint8_t *p, size_t n, size_t i, enum kind kind)
{
	unsigned length;
	while (i < n && kind_of(utf8_take(p + i, &length)) == kind)
		i += length;
	return i;
}

/* The bytes of the contraction that begins with the apostrophe at p, 0: none. */
static size_t contraction(const uint8_t *p, size_t n)
{
	if (n < 2)
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

/* White space gives up its last code point to what follows, unless that is all it has. */
static size_t blanks(const uint8_t *p, size_t n)
{
	size_t i = 0, last = 0;
	unsigned length;
	while (i < n && kind_of(utf8_take(p + i, &length)) == BLANK) {
		last = i;
		i += length;
	}
	return i == n || last == 0 ? i : last;
}

size_t split_gpt2(const uint8_t *p, size_t n)
{
	unsigned length;
	if (p[0] == '\'') {
		size_t short_word = contraction(p, n);
		if (short_word > 0)
			return short_word;
	}
	size_t i = p[0] == ' ' && n > 1;
	enum kind kind = kind_of(utf8_take(p + i, &length));
	if (kind == BLANK)
		return blanks(p, n);
	return run(p, n, i + length, kind);
}
