#include "io/pattern.h"

#include <stdint.h>
#include <string.h>

#include "base/span.h"

bool pattern_is(const char *text)
{
	return text[strcspn(text, "*?[")] != '\0';
}

size_t pattern_folder(const char *pattern)
{
	size_t n = strcspn(pattern, "*?[");
	while (n > 0 && pattern[n] != '/')
		n--;
	return n;
}

/* Bytes of the set that begins at p (a '['), 0 when it does not end: it is then a '[' itself. */
static size_t set_length(struct span p)
{
	size_t i = 1;
	if (i < p.n && p.at[i] == '!')
		i++;
	if (i < p.n && p.at[i] == ']')
		i++;
	while (i < p.n && p.at[i] != ']')
		i++;
	return i < p.n ? i + 1 : 0;
}

static bool in_set(const uint8_t *set, size_t n, uint8_t c)
{
	bool no = set[1] == '!', found = false;
	for (size_t i = no ? 2 : 1; i + 1 < n; i++) {
		if (i + 3 < n && set[i + 1] == '-') {
			found |= set[i] <= c && c <= set[i + 2];
			i += 2;
		} else {
			found |= set[i] == c;
		}
	}
	return found != no;
}

/* One component. Going back to the last '*' is enough: an earlier one could not do better. */
static bool component(struct span p, struct span s)
{
	size_t i = 0, j = 0, star = SIZE_MAX, from = 0;
	while (j < s.n) {
		size_t set = i < p.n && p.at[i] == '[' ? set_length(span_of(p.at + i, p.n - i)) : 0;
		if (i < p.n && p.at[i] == '*') {
			star = i++;
			from = j;
		} else if (i < p.n && (set > 0 ? in_set(p.at + i, set, s.at[j])
		                               : p.at[i] == '?' || p.at[i] == s.at[j])) {
			i += set > 0 ? set : 1;
			j++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			j = ++from;
		} else {
			return false;
		}
	}
	while (i < p.n && p.at[i] == '*')
		i++;
	return i == p.n;
}

static struct span first_of(const char *path)
{
	return span_of(path, strcspn(path, "/"));
}

/* What follows a component; NULL at the end. */
static const char *after(const char *path)
{
	path += strcspn(path, "/");
	return *path == '/' ? path + 1 : NULL;
}

static bool components(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL;
	while (s != NULL) {
		if (p != NULL && span_is(first_of(p), "**")) {
			star = p;
			from = s;
			p = after(p);
			if (p == NULL)
				return true;
		} else if (p != NULL && component(first_of(p), first_of(s))) {
			p = after(p);
			s = after(s);
		} else if (star != NULL) {
			from = after(from);
			s = from;
			p = after(star);
		} else {
			return false;
		}
	}
	return p == NULL;
}

/* Components that begin with '.' (all), or folders that begin with "__". */
static size_t hidden(const char *path, const char *start, bool folders)
{
	size_t n = 0;
	for (; path != NULL; path = after(path)) {
		struct span c = first_of(path);
		if (c.n > strlen(start) - 1 && memcmp(c.at, start, strlen(start)) == 0 &&
		    (!folders || after(path) != NULL) && !span_is(c, ".") && !span_is(c, ".."))
			n++;
	}
	return n;
}

bool pattern_matches(const char *pattern, const char *path)
{
	return components(pattern, path) && hidden(pattern, ".", false) == hidden(path, ".", false) &&
	       hidden(pattern, "__", true) == hidden(path, "__", true);
}
