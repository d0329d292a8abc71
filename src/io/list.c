#include "io/list.h"

#include <errno.h>
#include <string.h>

int list_begin(struct list *l, char *text, size_t n, const char *name, struct error *err)
{
	if (memchr(text, '\0', n) != NULL)
		return fail(err, EINVAL, "%s: has a zero byte, a list of paths and URLs is expected", name);
	l->at = text + (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
	return 0;
}

char *list_next(struct list *l)
{
	while (*l->at != '\0') {
		char *line = l->at + strspn(l->at, " \t\r");
		size_t n = strcspn(line, "\n");
		l->at = line + n + (line[n] == '\n');
		while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
			n--;
		line[n] = '\0';
		if (n > 0 && line[0] != '#')
			return line;
	}
	return NULL;
}
