#define _GNU_SOURCE
#include "io/indexpage.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/url.h"

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

static bool begins(struct span s, const char *text)
{
	return s.n >= strlen(text) && strncasecmp((const char *)s.at, text, strlen(text)) == 0;
}

/* The next tag <a ...>, as the bytes between; false at the end. */
static bool next_anchor(struct span *s, struct span *tag)
{
	for (;;) {
		const uint8_t *at = s->n == 0 ? NULL : memchr(s->at, '<', s->n);
		if (at == NULL)
			return false;
		span_skip(s, (size_t)(at - s->at) + 1);
		if (s->n < 2 || (s->at[0] | 0x20) != 'a' || !is_blank(s->at[1]))
			continue;
		const uint8_t *end = memchr(s->at, '>', s->n);
		if (end == NULL)
			return false;
		span_take(s, (size_t)(end - s->at), tag);
		return true;
	}
}

/* The value of href in a tag. */
static bool href_of(struct span tag, struct span *value)
{
	for (; tag.n > 5; span_skip(&tag, 1)) {
		if (!is_blank(tag.at[0]) || !begins(span_of(tag.at + 1, tag.n - 1), "href"))
			continue;
		span_skip(&tag, 5);
		while (tag.n > 0 && is_blank(tag.at[0]))
			span_skip(&tag, 1);
		if (tag.n == 0 || tag.at[0] != '=')
			return false;
		span_skip(&tag, 1);
		while (tag.n > 0 && is_blank(tag.at[0]))
			span_skip(&tag, 1);
		uint8_t quote = tag.n > 0 && (tag.at[0] == '"' || tag.at[0] == '\'') ? tag.at[0] : 0;
		if (quote != 0)
			span_skip(&tag, 1);
		size_t n = 0;
		while (n < tag.n && (quote != 0 ? tag.at[n] != quote : !is_blank(tag.at[n])))
			n++;
		return span_take(&tag, n, value);
	}
	return false;
}

/* A value with the few entities that servers write, NUL-terminated; false when it does not fit or has odd
 * bytes. */
static bool decode(struct span s, char out[INDEXPAGE_NAME + 1])
{
	static const struct {
		const char *name;
		char c;
	} table[] = { { "&amp;", '&' },  { "&lt;", '<' },   { "&gt;", '>' },
		      { "&quot;", '"' }, { "&#39;", '\'' }, { "&#x27;", '\'' } };
	size_t n = 0;
	while (s.n > 0) {
		size_t skip = 1;
		char c = (char)s.at[0];
		for (size_t i = 0; c == '&' && i < sizeof table / sizeof *table; i++)
			if (begins(s, table[i].name)) {
				c = table[i].c;
				skip = strlen(table[i].name);
				break;
			}
		if (n == INDEXPAGE_NAME || (unsigned char)c < 0x20 || c == 0x7f)
			return false;
		out[n++] = c;
		span_skip(&s, skip);
	}
	out[n] = '\0';
	return n > 0;
}

/* What is left of a URL behind the folder's, when it is just one name. */
static bool name_in(const char *url, const char *folder, const char **name)
{
	size_t n = strlen(folder);
	if (strncmp(url, folder, n) != 0)
		return false;
	*name = url + n;
	size_t length = strcspn(*name, "/");
	if (length == 0 || strpbrk(*name, "?#") != NULL ||
	    ((*name)[length] == '/' && (*name)[length + 1] != '\0'))
		return false;
	return !(length <= 2 && (*name)[0] == '.' && (length == 1 || (*name)[1] == '.'));
}

int indexpage_links(struct span html, const char *url, indexpage_fn *fn, void *arg, struct error *err)
{
	char text[INDEXPAGE_NAME + 1];
	struct span tag = { 0 }, value;
	int r = 0;
	while (r == 0 && next_anchor(&html, &tag)) {
		char *full = NULL;
		const char *name;
		if (!href_of(tag, &value) || !decode(value, text))
			continue;
		char *at = strncmp(text, "./", 2) == 0 ? text + 2 : text;
		/* "mailto:" and such: a name with ':' has to be written otherwise (RFC 3986, 4.2). */
		if (at == text && !url_is(text) && strcspn(text, ":") < strcspn(text, "/?#"))
			continue;
		if (url_join(url, at, &full, NULL) == 0 && name_in(full, url, &name) &&
		    strlen(name) <= INDEXPAGE_NAME)
			r = fn(arg, name, err);
		free(full);
	}
	return r;
}
