#include "token/scan.h"

static bool hex4(struct span *s, uint32_t *out)
{
	struct span four;
	*out = 0;
	if (!span_take(s, 4, &four))
		return false;
	for (size_t i = 0; i < 4; i++) {
		uint8_t c = four.at[i], low = c | 0x20;
		if (c >= '0' && c <= '9')
			*out = *out << 4 | (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			*out = *out << 4 | (uint32_t)(low - 'a' + 10);
		else
			return false;
	}
	return true;
}

static bool add_point(struct buffer *out, uint32_t c)
{
	uint8_t b[4];
	size_t n = 0;
	if (c >= 0xD800 && c < 0xE000)
		c = 0xFFFD;
	if (c < 0x80) {
		b[n++] = (uint8_t)c;
	} else {
		if (c < 0x800) {
			b[n++] = (uint8_t)(0xC0 | c >> 6);
		} else {
			if (c < 0x10000) {
				b[n++] = (uint8_t)(0xE0 | c >> 12);
			} else {
				b[n++] = (uint8_t)(0xF0 | c >> 18);
				b[n++] = (uint8_t)(0x80 | (c >> 12 & 63));
			}
			b[n++] = (uint8_t)(0x80 | (c >> 6 & 63));
		}
		b[n++] = (uint8_t)(0x80 | (c & 63));
	}
	return buffer_add(out, b, n, 0, NULL) == 0;
}

/* What stands behind a backslash. */
static bool escape(struct span *s, struct buffer *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint8_t c;
	uint32_t point, low;
	if (!span_u8(s, &c))
		return false;
	const char *found = c != 0 ? strchr(from, c) : NULL;
	if (found != NULL)
		return buffer_add(out, &to[found - from], 1, 0, NULL) == 0;
	if (c != 'u' || !hex4(s, &point))
		return false;
	if (point >= 0xD800 && point < 0xDC00 && s->n >= 6 && s->at[0] == '\\' && s->at[1] == 'u') {
		struct span after = span_of(s->at + 2, s->n - 2);
		if (!hex4(&after, &low))
			return false;
		if (low >= 0xDC00 && low < 0xE000) {
			point = 0x10000 + ((point & 0x3FF) << 10 | (low & 0x3FF));
			*s = after;
		}
	}
	return add_point(out, point);
}

bool scan_string(struct span *s, struct buffer *out)
{
	out->n = 0;
	if (!scan_mark(s, '"'))
		return false;
	while (s->n > 0) {
		size_t plain = 0;
		while (plain < s->n && s->at[plain] != '"' && s->at[plain] != '\\' && s->at[plain] >= 0x20)
			plain++;
		uint8_t c;
		if (plain > 0 && buffer_add(out, s->at, plain, 0, NULL) < 0)
			return false;
		span_skip(s, plain);
		if (!span_u8(s, &c) || c < 0x20)
			return false;
		if (c == '"')
			return true;
		if (!escape(s, out))
			return false;
	}
	return false;
}

bool scan_number(struct span *s, uint32_t *out)
{
	size_t digits = 0;
	*out = 0;
	scan_peek(s);
	for (; s->n > 0 && *s->at >= '0' && *s->at <= '9' && digits < 9; digits++) {
		*out = *out * 10 + (uint32_t)(*s->at - '0');
		span_skip(s, 1);
	}
	/* A tenth digit, a fraction or an exponent is not such a number. */
	return digits > 0 && (s->n == 0 || strchr("0123456789.eE", *s->at) == NULL || *s->at == 0);
}

bool scan_skip(struct span *s, struct span *value)
{
	scan_peek(s);
	struct span start = *s;
	uint32_t depth = 0;
	bool quoted = false;
	while (s->n > 0) {
		uint8_t c = *s->at;
		if (quoted) {
			if (c == '\\' && s->n > 1)
				span_skip(s, 1);
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (depth == 0)
				break;
			depth--;
		} else if (depth == 0 && (c == ',' || c == ':')) {
			break;
		}
		span_skip(s, 1);
		if (depth == 0 && !quoted && (c == '}' || c == ']' || c == '"'))
			break;
	}
	if (value != NULL)
		*value = span_of(start.at, start.n - s->n);
	return start.n > s->n && depth == 0 && !quoted;
}

int scan_member(struct span *s, bool *first, struct buffer *key)
{
	if (scan_mark(s, '}'))
		return 0;
	if (!*first && !scan_mark(s, ','))
		return -1;
	*first = false;
	return scan_string(s, key) && scan_mark(s, ':') ? 1 : -1;
}
