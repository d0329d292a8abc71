/* A list of paths and URLs, what its lines are beside a list's URL, and what their names say. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/kind.h"
#include "io/list.h"
#include "io/split.h"
#include "io/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void one(const char *line)
{
	const char *const lists[] = { "http://u:p@h:8/d/list.txt?x=1", "https://h", line };
	struct kind kind;
	char *out, *plain = url_plain(line), text[SPLIT_TEXT];
	if (plain != NULL && (strlen(plain) > strlen(line) || strpbrk(plain, "?#") != NULL))
		abort();
	free(plain);
	for (size_t i = 0; i < 3; i++) {
		if (i == 2 && !url_is_http(line))
			continue;
		if (url_join(lists[i], line, &out, NULL) != 0)
			continue;
		if (strlen(out) > URL_MAX || !url_is_http(out))
			abort();
		free(out);
	}
	kind_of_name(url_file(line), &kind);
	kind_of_name(span_text(line), &kind);
	kind_of_head(span_text(line), &kind);
	kind_ignored(line);
	split_text(split_of_file(line) | split_of_folders(line), text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct list l;
	const char *line;
	char *text = malloc(n + 1);
	if (text == NULL)
		return 0;
	memcpy(text, bytes, n);
	text[n] = '\0';
	if (list_begin(&l, text, n, "fuzz", NULL) == 0)
		while ((line = list_next(&l)) != NULL) {
			if (line[0] == '#' || line[0] == '\0' || strchr(line, '\n') != NULL)
				abort();
			one(line);
		}
	free(text);
	return 0;
}
