#include "io/link.h"

#include <strings.h>

static void skip_blanks(struct span *s)
{
	while (s->n > 0 && (s->at[0] == ' ' || s->at[0] == '\t'))
		span_skip(s, 1);
}

/* A token, or what stands between quotes (a backslash is part of it: no word that is looked for has one). */
static bool take_word(struct span *s, struct span *out)
{
	size_t n = 0;
	if (s->n > 0 && s->at[0] == '"') {
		span_skip(s, 1);
		while (n < s->n && s->at[n] != '"')
			n += s->at[n] == '\\' ? 2 : 1;
		return span_take(s, n, out) && span_skip(s, 1);
	}
	while (n < s->n && memchr(";,= \t", s->at[n], 5) == NULL)
		n++;
	return span_take(s, n, out) && n > 0;
}

static bool has_next(struct span words)
{
	for (size_t at = 0; at < words.n;) {
		size_t n = 0;
		while (at + n < words.n && words.at[at + n] != ' ')
			n++;
		if (n == 4 && strncasecmp((const char *)words.at + at, "next", 4) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

bool link_next(struct span s, struct span *url)
{
	struct span name, value, target;
	for (;;) {
		skip_blanks(&s);
		const uint8_t *end = s.n == 0 ? NULL : memchr(s.at, '>', s.n);
		if (end == NULL || s.at[0] != '<')
			return false;
		span_skip(&s, 1);
		span_take(&s, (size_t)(end - s.at), &target);
		span_skip(&s, 1);
		bool next = false;
		for (skip_blanks(&s); s.n > 0 && s.at[0] == ';'; skip_blanks(&s)) {
			span_skip(&s, 1);
			skip_blanks(&s);
			if (!take_word(&s, &name))
				return false;
			skip_blanks(&s);
			value = span_of(s.at, 0);
			if (s.n > 0 && s.at[0] == '=') {
				span_skip(&s, 1);
				skip_blanks(&s);
				if (!take_word(&s, &value))
					return false;
			}
			next |= name.n == 3 && strncasecmp((const char *)name.at, "rel", 3) == 0 &&
			        has_next(value);
		}
		if (next) {
			*url = target;
			return true;
		}
		if (s.n == 0 || s.at[0] != ',')
			return false;
		span_skip(&s, 1);
	}
}
