/* unicode: the classes of code points that the patterns of tokenizers ask for, as in Unicode 16.0.
 *
 * The tables in unicode.c are written by mkunicode.py; they are constant, so any thread may read them.
 * Source: UnicodeData.txt and PropList.txt of Unicode 16.0.0.
 */
#ifndef FW_TOKEN_UNICODE_H
#define FW_TOKEN_UNICODE_H

#include <stddef.h>
#include <stdint.h>

enum unicode_class {
	UNICODE_OTHER,   /* C*, unassigned, private use */
	UNICODE_UPPER,   /* Lu, Lt */
	UNICODE_LOWER,   /* Ll */
	UNICODE_LETTER,  /* Lm, Lo */
	UNICODE_MARK,    /* M* */
	UNICODE_NUMBER,  /* N* */
	UNICODE_SPACE,   /* White_Space but for the two of the next class */
	UNICODE_NEWLINE, /* U+000A, U+000D */
	UNICODE_PUNCT,   /* P* */
	UNICODE_SYMBOL,  /* S* */
};

/* The tables end here: of the code points behind, only U+E0100 ... U+E01EF (marks) are not UNICODE_OTHER. */
#define UNICODE_INDEXED 0x32400

extern const uint16_t unicode_index[UNICODE_INDEXED / 128];
extern const uint8_t unicode_block[];

static inline enum unicode_class unicode_class(uint32_t c)
{
	if (c >= UNICODE_INDEXED)
		return c - 0xE0100 < 240 ? UNICODE_MARK : UNICODE_OTHER;
	return (enum unicode_class)unicode_block[128u * unicode_index[c >> 7] + (c & 127)];
}

/* The code point whose valid UTF-8 begins at p, and its length in bytes. */
static inline uint32_t utf8_take(const uint8_t *p, unsigned *length)
{
	if (p[0] < 0x80) {
		*length = 1;
		return p[0];
	}
	if (p[0] < 0xE0) {
		*length = 2;
		return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
	}
	if (p[0] < 0xF0) {
		*length = 3;
		return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
	}
	*length = 4;
	return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 |
	       (p[3] & 0x3F);
}

#endif
