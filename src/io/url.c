#include "io/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool url_is(const char *text)
{
	size_t i = 0;
	if (!is_letter(text[0]))
		return false;
	while (is_letter(text[i]) || (text[i] >= '0' && text[i] <= '9') || text[i] == '+' || text[i] == '-' ||
	       text[i] == '.')
		i++;
	return strncmp(text + i, "://", 3) == 0;
}

bool url_is_https(const char *text)
{
	return strncasecmp(text, "https://", 8) == 0;
}

bool url_is_http(const char *text)
{
	return strncasecmp(text, "http://", 7) == 0 || url_is_https(text);
}

/* Where the parts of a URL are, in bytes from its start. */
struct parts {
	size_t authority, host, path, end; /* end: of the path, where query or fragment begin */
};

static struct parts parts_of(const char *url)
{
	struct parts p;
	p.authority = url_is(url) ? strcspn(url, ":") + 3 : 0;
	p.path = p.authority + strcspn(url + p.authority, "/?#");
	p.host = p.authority;
	for (size_t i = p.authority; i < p.path; i++)
		if (url[i] == '@')
			p.host = i + 1;
	p.end = p.path + strcspn(url + p.path, "?#");
	return p;
}

char *url_plain(const char *url)
{
	struct parts p = parts_of(url);
	char *out = malloc(p.authority + (p.end - p.host) + 1);
	if (out == NULL)
		return NULL;
	memcpy(out, url, p.authority);
	memcpy(out + p.authority, url + p.host, p.end - p.host);
	out[p.authority + p.end - p.host] = '\0';
	return out;
}

struct span url_authority(const char *url)
{
	struct parts p = parts_of(url);
	return span_of(url + p.host, p.path - p.host);
}

struct span url_file(const char *url)
{
	struct parts p = parts_of(url);
	size_t at = p.end;
	while (at > p.path && url[at - 1] != '/')
		at--;
	return span_of(url + at, p.end - at);
}

static int add_encoded(struct buffer *b, const char *text, struct error *err)
{
	static const char digits[] = "0123456789ABCDEF";
	int r = 0;
	for (; *text != '\0' && r == 0; text++) {
		uint8_t c = (uint8_t)*text;
		char code[3] = { '%', digits[c >> 4], digits[c & 15] };
		r = c <= 0x20 || c >= 0x7f ? buffer_add(b, code, 3, URL_MAX, err) :
					     buffer_add(b, text, 1, URL_MAX, err);
	}
	return r;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void url_decode(const char *text, char *out, size_t size)
{
	size_t n = 0;
	for (; *text != '\0' && n + 1 < size; text++) {
		int a = text[0] == '%' ? hex(text[1]) : -1, b = a >= 0 ? hex(text[2]) : -1;
		if (b >= 0 && a * 16 + b != 0) {
			out[n++] = (char)(a * 16 + b);
			text += 2;
		} else {
			out[n++] = *text;
		}
	}
	out[n] = '\0';
}

int url_add_encoded(struct buffer *b, const char *text, const char *keep, struct error *err)
{
	static const char digits[] = "0123456789ABCDEF";
	int r = 0;
	for (; *text != '\0' && r == 0; text++) {
		uint8_t c = (uint8_t)*text;
		char code[3] = { '%', digits[c >> 4], digits[c & 15] };
		bool plain = is_letter(*text) || (c >= '0' && c <= '9') || strchr("-._~", c) != NULL || strchr(keep, c) != NULL;
		r = plain ? buffer_add(b, text, 1, 0, err) : buffer_add(b, code, 3, 0, err);
	}
	return r;
}

int url_join(const char *list, const char *line, char **out, struct error *err)
{
	struct buffer b = { 0 };
	struct parts p = parts_of(list);
	int r = 0;
	if (url_is(line) && !url_is_http(line))
		return fail(err, EINVAL, "%.*s: only http and https URLs can stand in a list of URLs",
			    (int)strcspn(line, ":"), line);
	if (strlen(line) > URL_MAX)
		return fail(err, EINVAL, "a line of %zu bytes in a list of URLs, at most %d are expected",
			    strlen(line), URL_MAX);
	if (!url_is(line)) {
		size_t keep = line[0] == '/' ? p.path : p.path + (p.end - p.path - url_file(list).n);
		r = buffer_add(&b, list, keep, URL_MAX, err);
		if (r == 0 && keep == p.path && line[0] != '/')
			r = buffer_add(&b, "/", 1, URL_MAX, err);
	}
	if (r == 0)
		r = add_encoded(&b, line, err);
	if (r == 0)
		r = buffer_add(&b, "", 1, URL_MAX + 1, err);
	if (r == -ENOTSUP)
		r = fail(err, EINVAL, "a URL of more than %d bytes in a list", URL_MAX);
	if (r != 0) {
		buffer_free(&b);
		return r;
	}
	*out = (char *)b.at;
	return 0;
}
