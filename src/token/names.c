#include "token/names.h"

#include "token/scan.h"

int names_start(struct names *n, size_t most)
{
	*n = (struct names){ 0 };
	uint16_t next = 0x100;
	for (size_t c = 0; c < sizeof n->byte / sizeof *n->byte; c++)
		n->byte[c] = NAMES_NONE;
	/* GPT-2 writes each byte as a character: those that print as themselves, the other 68 from U+0100 on.
	 */
	for (uint16_t b = 0; b < 256; b++) {
		bool prints = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
		n->byte[prints ? b : next++] = b;
		n->plain[b] = prints && b < 0x80 && b != '"' && b != '\\';
	}
	/* No name has more bytes than its JSON, so there is always room. */
	return buffer_reserve(&n->bytes, most, 0, NULL);
}

void names_free(struct names *n)
{
	buffer_free(&n->bytes);
	buffer_free(&n->text);
}

/* Takes what stands for bytes up to the first character that does not, or that JSON writes otherwise. */
static inline void take_plain(struct names *n, struct span *s)
{
	const uint8_t *p = s->at, *end = s->at + s->n;
	uint8_t *o = n->bytes.at + n->bytes.n;
	for (;;) {
		while (p < end && n->plain[*p])
			*o++ = *p++;
		if (end - p < 2 || *p < 0xC2 || *p > 0xC5 || (p[1] & 0xC0) != 0x80)
			break;
		uint32_t c = (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
		if (c >= 0x144 || n->byte[c] == NAMES_NONE)
			break;
		*o++ = (uint8_t)n->byte[c];
		p += 2;
	}
	n->bytes.n = (size_t)(o - n->bytes.at);
	span_skip(s, (size_t)(p - s->at));
}

/* Appends the bytes that n->text's bytes from `from` to `to` stand for; false, and nothing appended: one
 * stands for none. */
static bool add_bytes(struct names *n, size_t from, size_t to)
{
	size_t before = n->bytes.n;
	const uint8_t *p = n->text.at;
	for (size_t i = from; i < to;) {
		/* A damaged file may have a cut sequence here; the characters have at most two bytes. */
		unsigned length = p[i] < 0x80 ? 1 : 2;
		uint32_t c = length == 1                  ? p[i]
		             : i + 2 <= to && p[i] < 0xC6 ? (uint32_t)(p[i] & 0x1F) << 6 | (p[i + 1] & 0x3F)
		                                          : UINT32_MAX;
		if (c >= 0x144 || n->byte[c] == NAMES_NONE) {
			n->bytes.n = before;
			return false;
		}
		n->bytes.at[n->bytes.n++] = (uint8_t)n->byte[c];
		i += length;
	}
	return true;
}

bool names_take(struct names *n, struct span *s, bool *hidden)
{
	size_t before = n->bytes.n;
	struct span start = *s;
	*hidden = false;
	if (scan_mark(s, '"')) {
		take_plain(n, s);
		if (s->n > 0 && *s->at == '"')
			return span_skip(s, 1);
	}
	*s = start;
	n->bytes.n = before;
	if (!scan_string(s, &n->text))
		return false;
	*hidden = !add_bytes(n, 0, n->text.n);
	return !*hidden || buffer_add(&n->bytes, n->text.at, n->text.n, 0, NULL) == 0;
}

bool names_take_two(struct names *n, struct span *s, uint32_t bytes[2], bool *hidden)
{
	size_t before = n->bytes.n;
	struct span start = *s;
	*hidden = false;
	if (scan_mark(s, '"')) {
		take_plain(n, s);
		bytes[0] = (uint32_t)(n->bytes.n - before);
		if (s->n > 0 && *s->at == ' ') {
			span_skip(s, 1);
			take_plain(n, s);
			bytes[1] = (uint32_t)(n->bytes.n - before) - bytes[0];
			if (s->n > 0 && *s->at == '"')
				return span_skip(s, 1);
		}
	}
	*s = start;
	n->bytes.n = before;
	if (!scan_string(s, &n->text) || n->text.n == 0)
		return false;
	const uint8_t *text = n->text.at, *space = memchr(text, ' ', n->text.n);
	if (space == NULL)
		return false;
	size_t cut = (size_t)(space - text);
	if (memchr(space + 1, ' ', n->text.n - cut - 1) != NULL)
		return false;
	*hidden = !add_bytes(n, 0, cut);
	bytes[0] = (uint32_t)(n->bytes.n - before);
	*hidden = *hidden || !add_bytes(n, cut + 1, n->text.n);
	bytes[1] = (uint32_t)(n->bytes.n - before) - bytes[0];
	return true;
}
