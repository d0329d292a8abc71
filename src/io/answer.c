#include "io/answer.h"

#include <curl/curl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"

#define WAIT_MAX_S 3600

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static struct span trim(struct span s)
{
	while (s.n > 0 && is_blank(s.at[0]))
		span_skip(&s, 1);
	while (s.n > 0 && (is_blank(s.at[s.n - 1]) || s.at[s.n - 1] == '\r' || s.at[s.n - 1] == '\n'))
		s.n--;
	return s;
}

static bool same_word(struct span s, const char *word)
{
	return s.n == strlen(word) && strncasecmp((const char *)s.at, word, s.n) == 0;
}

/* Moves the bytes before `c` into *out and passes over c; false when there is no c. */
static bool take_until(struct span *s, uint8_t c, struct span *out)
{
	const uint8_t *at = s->n == 0 ? NULL : memchr(s->at, c, s->n);
	if (at == NULL)
		return false;
	span_take(s, (size_t)(at - s->at), out);
	return span_skip(s, 1);
}

/* Takes leading digits; false without any, or beyond 2^63 - 1, which no file has. */
static bool take_number(struct span *s, uint64_t *out)
{
	uint64_t v = 0;
	size_t n = 0;
	for (; n < s->n && s->at[n] >= '0' && s->at[n] <= '9'; n++)
		if (!mul_u64(v, 10, &v) || !add_u64(v, (uint64_t)(s->at[n] - '0'), &v) || v > INT64_MAX)
			return false;
	*out = v;
	return n > 0 && span_skip(s, n);
}

static bool whole_number(struct span s, uint64_t *out)
{
	return take_number(&s, out) && s.n == 0;
}

/* HTTP-date in each of its three forms; 0 when it is none. */
static int64_t date_of(struct span s)
{
	char text[64];
	if (s.n == 0 || s.n >= sizeof text || memchr(s.at, '\0', s.n) != NULL)
		return 0;
	memcpy(text, s.at, s.n);
	text[s.n] = '\0';
	time_t t = curl_getdate(text, NULL);
	return t < 0 ? 0 : (int64_t)t;
}

/* "HTTP/1.1 206 Partial Content", "HTTP/2 206 " */
static void status_line(struct answer *a, struct span line)
{
	struct span version;
	uint64_t status;
	*a = (struct answer){ 0 };
	if (!take_until(&line, ' ', &version) || line.n < 3)
		return;
	a->framed = version.n < 7 || memcmp(version.at, "HTTP/1.", 7) != 0;
	struct span digits = span_of(line.at, 3);
	if (whole_number(digits, &status) && status >= 100 && status <= 599)
		a->status = (unsigned)status;
}

/* "bytes 0-499/1234", "bytes 0-499/" and a star, "bytes " and a star and "/1234" */
static bool content_range(struct answer *a, struct span v)
{
	struct span unit, range;
	uint64_t first = 0, last = 0, total = 0;
	if (!take_until(&v, ' ', &unit) || !same_word(unit, "bytes"))
		return false;
	v = trim(v);
	if (!take_until(&v, '/', &range))
		return false;
	bool has_total = whole_number(v, &total);
	bool has_range = !span_is(range, "*");
	if (!has_total && !span_is(v, "*"))
		return false;
	if (has_range && (!take_number(&range, &first) || range.n == 0 || range.at[0] != '-' ||
			  !span_skip(&range, 1) || !whole_number(range, &last) || first > last ||
			  (has_total && last >= total)))
		return false;
	if (!has_range && !has_total)
		return false;
	bool again = a->has_range || a->has_total;
	if (again && (a->has_range != has_range || a->has_total != has_total || a->first != first ||
		      a->last != last || a->total != total))
		return false;
	a->has_range = has_range;
	a->has_total = has_total;
	a->first = first;
	a->last = last;
	a->total = total;
	return true;
}

static void entity_tag(char etag[ANSWER_ETAG], struct span v)
{
	etag[0] = '\0';
	if (v.n == 0 || v.n >= ANSWER_ETAG)
		return;
	for (size_t i = 0; i < v.n; i++)
		if (v.at[i] <= 0x20 || v.at[i] == 0x7f)
			return;
	memcpy(etag, v.at, v.n);
	etag[v.n] = '\0';
}

/* Letters, digits and '-' of at most size - 1 bytes, else "". */
static void name_of(char *out, size_t size, struct span v)
{
	out[0] = '\0';
	if (v.n >= size)
		return;
	for (size_t i = 0; i < v.n; i++) {
		uint8_t c = v.at[i];
		if (c != '-' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
			return;
	}
	memcpy(out, v.at, v.n);
	out[v.n] = '\0';
}

/* What a server says of an error, as far as there is room. */
static void message(struct answer *a, struct span v)
{
	size_t n = (size_t)min_u64(v.n, sizeof a->message - 1);
	memcpy(a->message, v.at, n);
	a->message[n] = '\0';
}

/* One member of RateLimit: its parameters r and t, in any order. */
static uint64_t closed_for(struct span member)
{
	uint64_t r = 1, t = 0, number;
	struct span part;
	bool more = true;
	while (more) {
		more = take_until(&member, ';', &part);
		if (!more)
			part = member;
		part = trim(part);
		if (part.n < 3 || part.at[1] != '=' || !whole_number(span_of(part.at + 2, part.n - 2),
								     &number)) continue;
		if (part.at[0] == 'r')
			r = number;
		if (part.at[0] == 't')
			t = number;
	}
	return r == 0 ? t : 0;
}

static void rate_limit(struct answer *a, struct span v)
{
	struct span member;
	bool more = true;
	while (more) {
		more = take_until(&v, ',', &member);
		a->limit_s = max_u64(a->limit_s, closed_for(more ? member : v));
	}
}

static void retry_after(struct answer *a, struct span v)
{
	if (!whole_number(v, &a->retry_s))
		a->retry_at = date_of(v);
}

static void field(struct answer *a, struct span name, struct span v)
{
	if (same_word(name, "content-length")) {
		a->has_length = whole_number(v, &a->length);
		a->framed = a->framed || a->has_length;
	} else if (same_word(name, "transfer-encoding")) {
		a->framed = true;
	} else if (same_word(name, "content-range")) {
		a->malformed = !content_range(a, v) || a->malformed;
	} else if (same_word(name, "content-encoding")) {
		a->encoded = a->encoded || (v.n > 0 && !same_word(v, "identity"));
	} else if (same_word(name, "etag")) {
		entity_tag(a->etag, v);
	} else if (same_word(name, "last-modified")) {
		a->mtime = date_of(v);
	} else if (same_word(name, "date")) {
		a->date = date_of(v);
	} else if (same_word(name, "retry-after")) {
		retry_after(a, v);
	} else if (same_word(name, "ratelimit")) {
		rate_limit(a, v);
	} else if (same_word(name, "x-linked-etag")) {
		entity_tag(a->linked_etag, v);
	} else if (same_word(name, "x-repo-commit")) {
		name_of(a->commit, sizeof a->commit, v);
	} else if (same_word(name, "x-amz-bucket-region")) {
		name_of(a->region, sizeof a->region, v);
	} else if (same_word(name, "x-error-message")) {
		message(a, v);
	}
}

bool answer_line(struct answer *a, struct span line)
{
	struct span name;
	bool folded = line.n > 0 && is_blank(line.at[0]);
	line = trim(line);
	if (line.n >= 5 && memcmp(line.at, "HTTP/", 5) == 0)
		status_line(a, line);
	else if (!folded && take_until(&line, ':', &name))
		field(a, name, trim(line));
	else
		return !folded && line.n == 0;
	return false;
}

unsigned answer_wait_ms(const struct answer *a, int64_t now)
{
	uint64_t wait = max_u64(a->retry_s, a->limit_s);
	int64_t from = a->date != 0 ? a->date : now;
	if (a->retry_at > from)
		wait = max_u64(wait, (uint64_t)a->retry_at - (uint64_t)from);
	return (unsigned)min_u64(wait, WAIT_MAX_S) * 1000;
}

static const char *opaque(const char *etag)
{
	return strncmp(etag, "W/", 2) == 0 ? etag + 2 : etag;
}

bool etag_same(const char *a, const char *b)
{
	return strcmp(opaque(a), opaque(b)) == 0;
}

bool etag_strong(const char *etag)
{
	size_t n = strlen(etag);
	return n >= 2 && etag[0] == '"' && etag[n - 1] == '"' && memchr(etag + 1, '"', n - 2) == NULL;
}
