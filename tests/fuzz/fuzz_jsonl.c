/* fuzz_jsonl: lines of JSON. The first byte chooses plain, gzip or zstd; plain lines are also
 * read by a slow parser that shares no code with the room, and both must agree. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "format/jsonl.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* The slow parser: recursive descent over one byte at a time. */
struct slow {
	const uint8_t *at, *end;
	unsigned depth;
};

struct text {
	int kind; /* 0 absent, 'n' null, 's' string, 'o' other */
	struct buffer bytes;
};

static int peek(const struct slow *s)
{
	return s->at < s->end ? *s->at : -1;
}

static void blanks(struct slow *s)
{
	while (peek(s) == ' ' || peek(s) == '\t' || peek(s) == '\r')
		s->at++;
}

static int literal(struct slow *s, const char *word)
{
	for (; *word != '\0'; word++, s->at++)
		if (peek(s) != *word)
			return 0;
	return 1;
}

static int put(struct buffer *b, uint32_t u)
{
	uint8_t out[4];
	size_t n = 0;
	if (u < 0x80) {
		out[n++] = (uint8_t)u;
	} else if (u < 0x800) {
		out[n++] = (uint8_t)(0xc0 + u / 64);
	} else if (u < 0x10000) {
		out[n++] = (uint8_t)(0xe0 + u / 4096);
		out[n++] = (uint8_t)(0x80 + u / 64 % 64);
	} else {
		out[n++] = (uint8_t)(0xf0 + u / 262144);
		out[n++] = (uint8_t)(0x80 + u / 4096 % 64);
		out[n++] = (uint8_t)(0x80 + u / 64 % 64);
	}
	if (u >= 0x80)
		out[n++] = (uint8_t)(0x80 + u % 64);
	return buffer_add(b, out, n, 0, NULL) == 0;
}

static int unit(struct slow *s, uint32_t *u)
{
	*u = 0;
	for (int i = 0; i < 4; i++, s->at++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *p = peek(s) > 0 ? strchr(digits, peek(s)) : NULL;
		if (p == NULL)
			return 0;
		*u = *u * 16 + (uint32_t)(p - digits) % 16;
	}
	return 1;
}

static int string(struct slow *s, struct buffer *out)
{
	uint32_t u, low, pending = 0; /* a high surrogate that waits for its other half */
	if (peek(s) != '"')
		return 0;
	s->at++;
	for (;;) {
		int c = peek(s);
		if (c < 0x20)
			return 0;
		s->at++;
		if (c == '\\' && peek(s) == 'u') {
			s->at++;
			if (!unit(s, &low))
				return 0;
			if (pending != 0 && low >= 0xdc00 && low <= 0xdfff) {
				put(out, 0x10000 + (pending - 0xd800) * 1024 + (low - 0xdc00));
				pending = 0;
				continue;
			}
			if (pending != 0)
				put(out, 0xfffd);
			pending = low >= 0xd800 && low <= 0xdbff ? low : 0;
			if (pending == 0)
				put(out, low >= 0xdc00 && low <= 0xdfff ? 0xfffd : low);
			continue;
		}
		if (pending != 0)
			put(out, 0xfffd);
		pending = 0;
		if (c == '"')
			return 1;
		if (c == '\\') {
			switch (peek(s)) {
			case '"': case '\\': case '/': u = *s->at; break;
			case 'b': u = 8; break;
			case 'f': u = 12; break;
			case 'n': u = 10; break;
			case 'r': u = 13; break;
			case 't': u = 9; break;
			default: return 0;
			}
			s->at++;
			put(out, u);
		} else {
			uint8_t raw = (uint8_t)c;
			buffer_add(out, &raw, 1, 0, NULL);
		}
	}
}

static int digits(struct slow *s)
{
	int n = 0;
	for (; peek(s) >= '0' && peek(s) <= '9'; n++)
		s->at++;
	return n;
}

static int number(struct slow *s)
{
	if (peek(s) == '-')
		s->at++;
	int zero = peek(s) == '0', n = digits(s);
	if (n == 0 || (zero && n > 1))
		return 0;
	if (peek(s) == '.') {
		s->at++;
		if (digits(s) == 0)
			return 0;
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		return digits(s) > 0;
	}
	return 1;
}

static int object(struct slow *s, struct text texts[3]);

static int array(struct slow *s);

static int value(struct slow *s, struct text *out)
{
	struct buffer gone = { 0 };
	int good;
	out->kind = 'o';
	out->bytes.n = 0;
	switch (peek(s)) {
	case '"':
		good = string(s, &gone);
		out->kind = 's';
		buffer_add(&out->bytes, gone.at, gone.n, 0, NULL);
		buffer_free(&gone);
		return good;
	case 'n':
		out->kind = 'n';
		return literal(s, "null");
	case 't':
		return literal(s, "true");
	case 'f':
		return literal(s, "false");
	case '{':
		return object(s, NULL);
	case '[':
		return array(s);
	default:
		return number(s);
	}
}

static int array(struct slow *s)
{
	struct text gone = { 0 };
	int good = ++s->depth <= 1000;
	s->at++;
	blanks(s);
	if (good && peek(s) == ']') {
		s->at++;
		s->depth--;
		return 1;
	}
	while (good) {
		blanks(s);
		good = value(s, &gone);
		blanks(s);
		if (!good || peek(s) != ',')
			break;
		s->at++;
	}
	good = good && peek(s) == ']';
	s->at += good;
	s->depth--;
	buffer_free(&gone.bytes);
	return good;
}

static int object(struct slow *s, struct text texts[3])
{
	static const char *const names[3] = { "text", "raw_content", "content" };
	struct text gone = { 0 };
	struct buffer key = { 0 };
	if (peek(s) != '{')
		return 0;
	int good = ++s->depth <= 1000;
	s->at++;
	blanks(s);
	if (good && peek(s) == '}') {
		s->at++;
		s->depth--;
		return 1;
	}
	while (good) {
		struct text *to = &gone;
		key.n = 0;
		blanks(s);
		good = string(s, &key);
		for (int i = 0; texts != NULL && i < 3; i++)
			if (key.n == strlen(names[i]) && memcmp(key.at, names[i], key.n) == 0)
				to = &texts[i];
		blanks(s);
		good = good && peek(s) == ':';
		s->at += good;
		blanks(s);
		good = good && value(s, to);
		blanks(s);
		if (!good || peek(s) != ',')
			break;
		s->at++;
	}
	good = good && peek(s) == '}';
	s->at += good;
	s->depth--;
	buffer_free(&gone.bytes);
	buffer_free(&key);
	return good;
}

/* What the slow parser makes of a line: 1 with a text in *out, 0 null or absent, -1 damaged, 2 blank. */
static int slow_line(const uint8_t *bytes, size_t n, struct buffer *out)
{
	struct text texts[3] = { 0 };
	struct slow s = { .at = bytes, .end = bytes + n };
	int r = -1, t = 0;
	blanks(&s);
	if (s.at == s.end)
		return 2;
	if (object(&s, texts)) {
		blanks(&s);
		while (t < 2 && texts[t].kind == 0)
			t++;
		if (s.at == s.end && texts[t].kind != 'o')
			r = texts[t].kind == 's';
		if (r == 1)
			buffer_add(out, texts[t].bytes.at, texts[t].bytes.n, 0, NULL);
	}
	for (int i = 0; i < 3; i++)
		buffer_free(&texts[i].bytes);
	return r;
}

/* The lines that are left of the input; checks each document against the slow parser. */
struct check {
	const uint8_t *at, *end;
	uint64_t row;
	int damaged; /* the slow parser refused a line */
};

/* The slow parser's next document: as slow_line, or -2 at the end. */
static int next_document(struct check *c, struct buffer *out)
{
	while (c->at < c->end) {
		const uint8_t *from = c->at;
		while (c->at < c->end && *c->at != '\n')
			c->at++;
		int r = slow_line(from, (size_t)(c->at - from), out);
		if (c->at < c->end)
			c->at++;
		c->row++;
		if (r != 2)
			return r;
	}
	return -2;
}

static int agree(void *arg, const struct document *d, struct error *err)
{
	struct check *c = arg;
	struct buffer text = { 0 };
	(void)err;
	int r = next_document(c, &text);
	if (r < 0 || c->row - 1 != d->row || (r == 1) != (d->text.at != NULL) || text.n != d->text.n ||
	    (text.n > 0 && memcmp(text.at, d->text.at, text.n) != 0))
		abort();
	buffer_free(&text);
	return 0;
}

static int ignore(void *arg, const struct document *d, struct error *err)
{
	(void)err;
	*(size_t *)arg += d->text.n;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct jsonl_options options = { .line = 1 << 20 };
	struct error err;
	size_t total = 0;
	if (n < 1)
		return 0;
	uint8_t way = *bytes++;
	struct source *s = source_memory(bytes, --n, "fuzz");
	if (s == NULL)
		return 0;
	if (way == 'g' || way == 'z') {
		jsonl_stream_texts(s, way == 'g' ? CODEC_GZIP : CODEC_ZSTD, &options, ignore, &total, &err);
	} else {
		struct check c = { .at = bytes, .end = bytes + n };
		if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
			c.at += 3;
		int r = jsonl_texts(s, 0, &options, agree, &c, &err);
		if (r == 0 || r == -EBADMSG) {
			struct buffer text = { 0 };
			if (next_document(&c, &text) != (r == 0 ? -2 : -1))
				abort();
			buffer_free(&text);
		}
		options.column = "\xc3\xa9";
		if (n <= 4u << 20)
			jsonl_texts(s, 0, &options, ignore, &total, &err);
	}
	source_close(s);
	return 0;
}
