#define _GNU_SOURCE
#include "io/s3page.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/log.h"

#define DEPTH 8
#define NAME_MAX_BYTES 64

/* The texts that are looked at; longer ones are cut, and then no good. */
struct text {
	char at[S3_TOKEN_MAX + 1];
	size_t n;
	bool cut;
};

struct reader {
	struct span left;
	struct span names[DEPTH];
	unsigned depth;
	struct text text;       /* of the element that is open */
	struct text key, token; /* of the object; of the page */
	char etag[256];
	uint64_t size;
	bool has_size, truncated, encoded;
	s3_object_fn *fn; /* NULL on the first pass, which looks at the page alone */
	void *arg;
	struct error *err;
};

static int malformed(struct reader *r, const char *what)
{
	return fail(r->err, EIO, "the list of objects is not the XML that is expected: %s", what);
}

/* Passes over all up to and with `end`. */
static bool skip_past(struct span *s, const char *end)
{
	const uint8_t *at = s->n == 0 ? NULL : memmem(s->at, s->n, end, strlen(end));
	return at != NULL && span_skip(s, (size_t)(at - s->at) + strlen(end));
}

static void put(struct text *t, const void *bytes, size_t n)
{
	size_t room = S3_TOKEN_MAX - t->n;
	t->cut |= n > room;
	n = n > room ? room : n;
	memcpy(t->at + t->n, bytes, n);
	t->n += n;
	t->at[t->n] = '\0';
}

/* A code point as UTF-8. */
static bool put_point(struct text *t, uint32_t c)
{
	char b[4];
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80) {
		b[0] = (char)c;
		put(t, b, 1);
	} else if (c < 0x800) {
		b[0] = (char)(0xc0 | c >> 6);
		b[1] = (char)(0x80 | (c & 63));
		put(t, b, 2);
	} else if (c < 0x10000) {
		b[0] = (char)(0xe0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 63));
		b[2] = (char)(0x80 | (c & 63));
		put(t, b, 3);
	} else {
		b[0] = (char)(0xf0 | c >> 18);
		b[1] = (char)(0x80 | (c >> 12 & 63));
		b[2] = (char)(0x80 | (c >> 6 & 63));
		b[3] = (char)(0x80 | (c & 63));
		put(t, b, 4);
	}
	return true;
}

static int digit(uint8_t c, uint32_t base)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* What stands between '&' and ';'. */
static bool entity(struct text *t, struct span name)
{
	static const struct {
		const char *name, *text;
	} table[] = { { "amp", "&" }, { "lt", "<" }, { "gt", ">" }, { "quot", "\"" }, { "apos", "'" } };
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (span_is(name, table[i].name)) {
			put(t, table[i].text, 1);
			return true;
		}
	if (name.n < 2 || name.at[0] != '#')
		return false;
	uint32_t base = name.at[1] == 'x' ? 16 : 10, c = 0;
	span_skip(&name, base == 16 ? 2 : 1);
	if (name.n == 0 || name.n > 8)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		int d = digit(name.at[i], base);
		if (d < 0)
			return false;
		c = c * base + (uint32_t)d;
	}
	return put_point(t, c);
}

/* Text up to the next '<'. */
static bool take_text(struct reader *r)
{
	while (r->left.n > 0 && r->left.at[0] != '<') {
		const uint8_t *stop = r->left.at;
		struct span part = { 0 };
		while (stop < r->left.at + r->left.n && *stop != '<' && *stop != '&')
			stop++;
		span_take(&r->left, (size_t)(stop - r->left.at), &part);
		put(&r->text, part.at, part.n);
		if (r->left.n == 0 || r->left.at[0] == '<')
			continue;
		span_skip(&r->left, 1);
		const uint8_t *end = memchr(r->left.at, ';', r->left.n < 16 ? r->left.n : 16);
		if (end == NULL || !span_take(&r->left, (size_t)(end - r->left.at), &part) ||
		    !entity(&r->text, part))
			return false;
		span_skip(&r->left, 1);
	}
	return true;
}

/* Whether the open elements are ListBucketResult/a, or ListBucketResult/a/b. */
static bool is_at(const struct reader *r, const char *a, const char *b)
{
	return r->depth == (b == NULL ? 2u : 3u) && span_is(r->names[0], "ListBucketResult") &&
	       span_is(r->names[1], a) && (b == NULL || span_is(r->names[2], b));
}

static bool number(const char *text, uint64_t *out)
{
	uint64_t v = 0;
	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++)
		if (*text < '0' || *text > '9' || !mul_u64(v, 10, &v) ||
		    !add_u64(v, (uint64_t)(*text - '0'), &v))
			return false;
	*out = v;
	return v <= INT64_MAX;
}

/* "a%2Bb+c" as "a+b c", in place; false when it is not encoded so. */
static bool decode(struct text *t)
{
	size_t to = 0;
	for (size_t i = 0; i < t->n; i++) {
		uint8_t c = (uint8_t)t->at[i];
		if (c == '%') {
			int a = i + 2 < t->n ? digit((uint8_t)t->at[i + 1], 16) : -1;
			int b = a >= 0 ? digit((uint8_t)t->at[i + 2], 16) : -1;
			if (b < 0 || a * 16 + b == 0)
				return false;
			c = (uint8_t)(a * 16 + b);
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		t->at[to++] = (char)c;
	}
	t->at[to] = '\0';
	t->n = to;
	return true;
}

static int object(struct reader *r)
{
	struct text *key = &r->key;
	if (r->fn == NULL)
		return 0;
	if (key->n == 0 || key->cut || !r->has_size || (r->encoded && !decode(key)) || key->n > S3_KEY_MAX)
		return malformed(r, "an object without a key or size");
	for (size_t i = 0; i < key->n; i++)
		if ((uint8_t)key->at[i] < 0x20 || key->at[i] == 0x7f) {
			log_warning("an object of the store is passed over, its key has control characters");
			return 0;
		}
	for (const char *c = r->etag; *c != '\0'; c++)
		if (*c <= 0x20 || *c >= 0x7f)
			r->etag[0] = '\0';
	return r->fn(r->arg, key->at, r->size, r->etag, r->err);
}

/* An element ends, whose text is in r->text. */
static int close_element(struct reader *r)
{
	struct text *t = &r->text;
	int code = 0;
	if (is_at(r, "Contents", "Key")) {
		r->key = *t;
	} else if (is_at(r, "Contents", "Size")) {
		r->has_size = number(t->at, &r->size);
	} else if (is_at(r, "Contents", "ETag")) {
		memcpy(r->etag, t->at, t->n < sizeof r->etag ? t->n + 1 : 1);
		r->etag[t->n < sizeof r->etag ? t->n : 0] = '\0';
	} else if (is_at(r, "Contents", NULL)) {
		code = object(r);
	} else if (is_at(r, "IsTruncated", NULL)) {
		r->truncated = strcmp(t->at, "true") == 0;
	} else if (is_at(r, "EncodingType", NULL)) {
		r->encoded = strcmp(t->at, "url") == 0;
	} else if (is_at(r, "NextContinuationToken", NULL)) {
		r->token = *t;
	}
	t->n = 0;
	t->at[0] = '\0';
	t->cut = false;
	r->depth--;
	return code;
}

static bool is_name(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-' || c == '.' || c == ':' || c >= 0x80;
}

static struct span take_name(struct span *s)
{
	struct span name = span_of(s->at, 0);
	while (name.n < s->n && is_name(s->at[name.n]))
		name.n++;
	span_skip(s, name.n);
	return name;
}

/* Passes over attributes to the end of a tag; *empty: it was "/>". */
static bool end_tag(struct span *s, bool *empty)
{
	*empty = false;
	while (s->n > 0) {
		uint8_t c = s->at[0];
		span_skip(s, 1);
		if (c == '>')
			return true;
		*empty = c == '/';
		if (c == '<')
			return false;
		if (c == '"' || c == '\'') {
			const uint8_t *end = s->n == 0 ? NULL : memchr(s->at, c, s->n);
			if (end == NULL)
				return false;
			span_skip(s, (size_t)(end - s->at) + 1);
		}
	}
	return false;
}

static bool begins(struct span s, const char *text)
{
	return s.n >= strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

static int open_element(struct reader *r)
{
	bool empty;
	struct span name = take_name(&r->left);
	if (name.n == 0 || name.n > NAME_MAX_BYTES || !end_tag(&r->left, &empty))
		return malformed(r, "a tag");
	if (r->depth == DEPTH)
		return malformed(r, "elements too deep in each other");
	r->names[r->depth++] = name;
	r->text.n = 0;
	r->text.at[0] = '\0';
	r->text.cut = false;
	if (is_at(r, "Contents", NULL)) {
		r->key.n = 0;
		r->key.cut = r->has_size = false;
		r->etag[0] = '\0';
	}
	return empty ? close_element(r) : 0;
}

/* One tag, comment or instruction. */
static int markup(struct reader *r)
{
	struct span *s = &r->left;
	bool empty;
	if (begins(*s, "<?"))
		return skip_past(s, "?>") ? 0 : malformed(r, "an instruction that does not end");
	if (begins(*s, "<!--"))
		return skip_past(s, "-->") ? 0 : malformed(r, "a comment that does not end");
	if (begins(*s, "<!"))
		return malformed(r, "a declaration");
	if (begins(*s, "</")) {
		span_skip(s, 2);
		struct span name = take_name(s);
		if (r->depth == 0 || name.n != r->names[r->depth - 1].n ||
		    memcmp(name.at, r->names[r->depth - 1].at, name.n) != 0 || !end_tag(s, &empty))
			return malformed(r, "an end without its beginning");
		return close_element(r);
	}
	span_skip(s, 1);
	if (r->depth == 0 && !begins(*s, "ListBucketResult"))
		return malformed(r, "no ListBucketResult");
	return open_element(r);
}

static int pass(struct reader *r, struct span xml, s3_object_fn *fn)
{
	int code = 0;
	bool any = false;
	r->left = xml;
	r->depth = 0;
	r->fn = fn;
	while (code == 0 && r->left.n > 0) {
		if (!take_text(r))
			return malformed(r, "an entity that is not known");
		if (r->left.n > 0) {
			code = markup(r);
			any |= r->depth > 0;
		}
	}
	return code != 0 ? code : any && r->depth == 0 ? 0 : malformed(r, "it ends early");
}

int s3page_read(struct span xml, s3_object_fn *fn, void *arg, char next[S3_TOKEN_MAX + 1], struct error *err)
{
	struct reader r = { .arg = arg, .err = err };
	next[0] = '\0';
	/* How keys are encoded may stand behind them. */
	int code = pass(&r, xml, NULL);
	if (code == 0 && r.truncated && (r.token.n == 0 || r.token.cut))
		return malformed(&r, "it goes on, and does not say where");
	if (code == 0 && r.truncated)
		memcpy(next, r.token.at, r.token.n + 1);
	return code == 0 ? pass(&r, xml, fn) : code;
}
