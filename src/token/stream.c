#include <errno.h>

#include "token/model.h"

/* What is added before the next look for a place to cut. */
#define SLICE (256u << 10)

static bool is_letter(uint8_t c)
{
	return (uint8_t)((c | 0x20) - 'a') < 26;
}

static bool is_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10;
}

/* Whether the character at p, of n bytes at most, is no white space for certain. Lead bytes that begin one
 * are C2, E1, E2, and E3 before 80. '/' goes on with what ended a line in o200k's pattern. */
static bool is_solid(const uint8_t *p, size_t n)
{
	uint8_t c = p[0];
	if (c < 0x80)
		return c > ' ' && c != 0x7f && c != '/';
	return c >= 0xC3 && c != 0xE1 && c != 0xE2 && (c != 0xE3 || (n > 1 && p[1] != 0x80));
}

/* The same of the character that ends before p[i]. */
static bool is_solid_before(const uint8_t *p, size_t i)
{
	size_t lead = i - 1;
	while (lead > 0 && i - lead < 4 && (p[lead] & 0xC0) == 0x80)
		lead--;
	return is_solid(p + lead, i - lead);
}

/* Where n bytes can be cut so that both sides are encoded as if together: before a space between two letters,
 * between a letter and a digit, as in hexadecimal and base64, or behind a single end of line between two
 * characters that are no white space, as in scripts without spaces. In every pattern a word ends there,
 * whatever follows, and one begins there, whatever was before; normalisation and what is invalid do not reach
 * over it. 0: nowhere after `from`. */
static size_t last_cut(const uint8_t *p, size_t n, size_t from)
{
	for (size_t i = n < 2 ? 0 : n - 2; i > from; i--) {
		if (p[i] == ' ' && is_letter(p[i - 1]) && is_letter(p[i + 1]))
			return i;
		if ((is_digit(p[i]) && is_letter(p[i - 1])) || (is_letter(p[i]) && is_digit(p[i - 1])))
			return i;
		if (i > 1 && p[i - 1] == '\n' && is_solid(p + i, n - i) && is_solid_before(p, i - 1))
			return i;
	}
	return 0;
}

size_t textstream_cut(const void *text, size_t n, size_t most)
{
	size_t from = 0;
	for (size_t end = most; end<n; end = end> n - SLICE ? n : end + SLICE) {
		size_t cut = last_cut(text, end, from);
		if (cut > 0)
			return cut;
		from = end > 2 ? end - 2 : 0;
		if (n < SLICE)
			break;
	}
	return n;
}

static int encode(struct textstream *s, size_t n, struct buffer *ids, struct error *err)
{
	unsigned width = encoder_tokenizer(s->e)->width;
	size_t bound = encoder_bound(n);
	if (bound > SIZE_MAX / width || buffer_reserve(ids, bound * width, 0, err) < 0)
		return fail(err, ENOMEM, "out of memory for the ids of %zu bytes", n);
	int64_t count = encoder_encode(s->e, s->held.at, n, ids->at + ids->n);
	if (count == -ENOTSUP)
		return fail(err, ENOTSUP, "a word in %zu bytes cannot be encoded in parts of 1 MiB", n);
	if (count < 0)
		return fail(err, ENOMEM, "out of memory for a word in %zu bytes", n);
	ids->n += (size_t)count * width;
	memmove(s->held.at, s->held.at + n, s->held.n - n);
	s->held.n -= n;
	return 0;
}

int textstream_put(struct textstream *s, const void *part, size_t n, struct buffer *ids, struct error *err)
{
	const uint8_t *p = part;
	while (n > 0) {
		size_t more = n < SLICE ? n : SLICE, before = s->held.n;
		if (more > STREAM_HELD - before)
			return fail(err, ENOTSUP,
			            "no space between two letters, no digit beside one and no end of line "
			            "for %u MiB",
			            STREAM_HELD >> 20);
		if (buffer_add(&s->held, p, more, 0, err) < 0)
			return -ENOMEM;
		p += more;
		n -= more;
		/* What was held before has no such place but at its end. */
		size_t cut = last_cut(s->held.at, s->held.n, before > 2 ? before - 2 : 0);
		int r = cut > 0 ? encode(s, cut, ids, err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int textstream_end(struct textstream *s, struct buffer *ids, struct error *err)
{
	int r = s->held.n > 0 ? encode(s, s->held.n, ids, err) : 0;
	buffer_free(&s->held);
	return r;
}
