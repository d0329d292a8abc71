#include "format/jsontext.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct cursor {
	const uint8_t *at, *end;
	const char *expected; /* why it stopped at `at` */
};

static bool bad(struct cursor *c, const char *expected)
{
	c->expected = expected;
	return false;
}

/* Where a run of plain string bytes ends: at a quote, a backslash or a control character, or at `end`. */
static const uint8_t *plain_end(const uint8_t *p, const uint8_t *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
	for (; end - p >= 16; p += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash)),
					   _mm_cmpeq_epi8(_mm_min_epu8(x, control), x));
		int mask = _mm_movemask_epi8(hit);
		if (mask != 0)
			return p + __builtin_ctz((unsigned)mask);
	}
#else
	/* A byte b is below n iff (b - n) & ~b has its high bit; a borrow can only add bits above a true one. */
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	for (; end - p >= 8; p += 8) {
		uint64_t x;
		memcpy(&x, p, sizeof x);
		uint64_t quote = x ^ ones * '"', backslash = x ^ ones * '\\';
		if ((((x - ones * 0x20) & ~x) | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & high)
			break;
	}
#endif
	while (p < end && *p >= 0x20 && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Value of a hexadecimal digit, 16 for another byte. */
static unsigned hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - (unsigned)'0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10 : 16;
}

/* Moves over the escape at the cursor's backslash. */
static bool skip_escape(struct cursor *c)
{
	if (c->end - c->at < 2)
		return bad(c, "a whole escape");
	uint8_t letter = c->at[1];
	if (letter == 'u') {
		if (c->end - c->at < 6)
			return bad(c, "four hexadecimal digits after \\u");
		for (int i = 2; i < 6; i++)
			if (hex_digit(c->at[i]) > 15)
				return bad(c, "four hexadecimal digits after \\u");
		c->at += 6;
		return true;
	}
	if (letter == '\0' || strchr("\"\\/bfnrt", letter) == NULL)
		return bad(c, "one of \"\\/bfnrtu after a backslash");
	c->at += 2;
	return true;
}

/* Takes the string at the cursor. */
static bool take_string(struct cursor *c, struct span *raw, bool *escaped)
{
	const uint8_t *from = ++c->at;
	*escaped = false;
	for (;;) {
		c->at = plain_end(c->at, c->end);
		if (c->at == c->end)
			return bad(c, "a quote at the end of a string");
		if (*c->at == '"')
			break;
		if (*c->at != '\\')
			return bad(c, "no control character in a string");
		*escaped = true;
		if (!skip_escape(c))
			return false;
	}
	*raw = span_of(from, (size_t)(c->at - from));
	c->at++;
	return true;
}

static bool is_blank(uint8_t b)
{
	return b == ' ' || b == '\t' || b == '\r' || b == '\n';
}

static void skip_blank(struct cursor *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
}

void jsontext_skip_blank(struct span *text)
{
	while (text->n > 0 && is_blank(text->at[0]))
		span_skip(text, 1);
}

static bool next_is(const struct cursor *c, char b)
{
	return c->at < c->end && *c->at == (uint8_t)b;
}

static bool skip_digits(struct cursor *c)
{
	const uint8_t *from = c->at;
	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return c->at > from || bad(c, "a digit");
}

static bool skip_number(struct cursor *c)
{
	if (next_is(c, '-'))
		c->at++;
	if (next_is(c, '0'))
		c->at++;
	else if (!skip_digits(c))
		return false;
	if (next_is(c, '.')) {
		c->at++;
		if (!skip_digits(c))
			return false;
	}
	if (next_is(c, 'e') || next_is(c, 'E')) {
		c->at++;
		if (next_is(c, '+') || next_is(c, '-'))
			c->at++;
		return skip_digits(c);
	}
	return true;
}

static bool skip_word(struct cursor *c, const char *word, size_t n)
{
	if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
		return bad(c, "a value");
	c->at += n;
	return true;
}

/* Takes a value that is neither an object nor an array. */
static bool take_scalar(struct cursor *c, struct jsontext_member *m)
{
	const uint8_t *from = c->at;
	m->escaped = false;
	m->raw = span_of(NULL, 0);
	m->kind = JSON_OTHER;
	switch (c->at < c->end ? *c->at : 0) {
	case '"':
		m->kind = JSON_STRING;
		return take_string(c, &m->raw, &m->escaped);
	case 't':
		return skip_word(c, "true", 4);
	case 'f':
		return skip_word(c, "false", 5);
	case 'n':
		m->kind = JSON_NULL;
		return skip_word(c, "null", 4);
	case '-': case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		m->kind = JSON_NUMBER;
		if (!skip_number(c))
			return false;
		m->raw = span_of(from, (size_t)(c->at - from));
		return true;
	default:
		return bad(c, "a value");
	}
}

/* Takes a key and its colon. */
static bool take_key(struct cursor *c, struct span *raw, bool *escaped)
{
	skip_blank(c);
	if (!next_is(c, '"'))
		return bad(c, "a key in quotes");
	if (!take_string(c, raw, escaped))
		return false;
	skip_blank(c);
	if (!next_is(c, ':'))
		return bad(c, "a colon after the key");
	c->at++;
	skip_blank(c);
	return true;
}

/* After an element: true with *more when a comma follows, true without when the closing byte does. */
static bool take_separator(struct cursor *c, char close, bool *more)
{
	skip_blank(c);
	*more = next_is(c, ',');
	if (!*more && !next_is(c, close))
		return bad(c, close == '}' ? "a comma or '}'" : "a comma or ']'");
	c->at++;
	return true;
}

/* Takes any value; of an object or array only the kind is told. */
static bool take_value(struct cursor *c, struct jsontext_member *m)
{
	char close[JSON_DEPTH - 1];
	size_t depth = 0;
	struct jsontext_member inner;
	struct span key;
	bool more, escaped;

	if (!next_is(c, '{') && !next_is(c, '['))
		return take_scalar(c, m);
	*m = (struct jsontext_member){ .key = m->key, .kind = JSON_OTHER };
	do {
		skip_blank(c);
		if (next_is(c, '{') || next_is(c, '[')) {
			if (depth == sizeof close)
				return bad(c, "at most 1000 levels of objects and arrays");
			close[depth++] = *c->at++ == '{' ? '}' : ']';
			skip_blank(c);
			more = !next_is(c, close[depth - 1]);
			if (!more)
				c->at++;
		} else {
			if (!take_scalar(c, &inner) || !take_separator(c, close[depth - 1], &more))
				return false;
		}
		while (!more && --depth > 0)
			if (!take_separator(c, close[depth - 1], &more))
				return false;
		if (more && close[depth - 1] == '}' && !take_key(c, &key, &escaped))
			return false;
	} while (depth > 0);
	return true;
}

static unsigned code_unit(const uint8_t *digits)
{
	return hex_digit(digits[0]) << 12 | hex_digit(digits[1]) << 8 | hex_digit(digits[2]) << 4 |
	       hex_digit(digits[3]);
}

static size_t put_utf8(uint32_t u, uint8_t *out)
{
	if (u < 0x80) {
		out[0] = (uint8_t)u;
		return 1;
	}
	size_t n = u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, u >>= 6)
		out[i] = (uint8_t)(0x80 | (u & 0x3f));
	out[0] = (uint8_t)(0xf0u << (4 - n) | u);
	return n;
}

/* Decodes the checked escape at s's backslash and moves over it. */
static size_t decode_escape(struct span *s, uint8_t out[4])
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	uint8_t letter = s->at[1];
	if (letter != 'u') {
		const char *p = strchr(from, letter);
		out[0] = p == NULL ? letter : (uint8_t)to[p - from];
		span_skip(s, 2);
		return 1;
	}
	uint32_t u = code_unit(s->at + 2);
	span_skip(s, 6);
	if (u < 0xd800 || u > 0xdfff)
		return put_utf8(u, out);
	if (u < 0xdc00 && s->n >= 6 && s->at[0] == '\\' && s->at[1] == 'u') {
		uint32_t low = code_unit(s->at + 2);
		if (low >= 0xdc00 && low <= 0xdfff) {
			span_skip(s, 6);
			return put_utf8(0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00), out);
		}
	}
	return put_utf8(0xfffd, out);
}

size_t jsontext_decode(struct span raw, uint8_t *out)
{
	uint8_t *to = out;
	while (raw.n > 0) {
		size_t n = (size_t)(plain_end(raw.at, raw.at + raw.n) - raw.at);
		if (to != raw.at)
			memmove(to, raw.at, n);
		to += n;
		span_skip(&raw, n);
		if (raw.n > 0)
			to += decode_escape(&raw, to);
	}
	return (size_t)(to - out);
}

static bool key_is(struct span raw, bool escaped, const char *key)
{
	if (!escaped)
		return span_is(raw, key);
	struct span want = span_text(key);
	while (raw.n > 0) {
		uint8_t one[4] = { raw.at[0] };
		size_t n = 1;
		struct span part;
		if (raw.at[0] == '\\')
			n = decode_escape(&raw, one);
		else
			span_skip(&raw, 1);
		if (!span_take(&want, n, &part) || memcmp(part.at, one, n) != 0)
			return false;
	}
	return want.n == 0;
}

static bool take_member(struct cursor *c, struct jsontext_member *members, size_t n)
{
	struct span key;
	bool escaped;
	struct jsontext_member value = { 0 };
	if (!take_key(c, &key, &escaped) || !take_value(c, &value))
		return false;
	for (size_t i = 0; i < n; i++)
		if (key_is(key, escaped, members[i].key)) {
			value.key = members[i].key;
			members[i] = value;
		}
	return true;
}

static bool take_object(struct cursor *c, struct jsontext_member *members, size_t n)
{
	bool more;
	skip_blank(c);
	if (!next_is(c, '{'))
		return bad(c, "an object");
	c->at++;
	skip_blank(c);
	if (next_is(c, '}')) {
		c->at++;
		more = false;
	} else {
		more = true;
	}
	while (more)
		if (!take_member(c, members, n) || !take_separator(c, '}', &more))
			return false;
	skip_blank(c);
	return c->at == c->end || bad(c, "nothing after the object");
}

bool jsontext_object(struct span text, struct jsontext_member *members, size_t n, struct jsontext_fault *fault)
{
	struct cursor c = { .at = text.at, .end = text.at + text.n };
	for (size_t i = 0; i < n; i++)
		members[i] = (struct jsontext_member){ .key = members[i].key };
	if (take_object(&c, members, n))
		return true;
	*fault = (struct jsontext_fault){ .at = (size_t)(c.at - text.at), .expected = c.expected };
	return false;
}
