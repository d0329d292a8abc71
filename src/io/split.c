#include "io/split.h"

#include <stdbool.h>
#include <string.h>

/* With lengths: a hundred thousand names are asked about when a folder is listed. */
#define WORD(text, split) { text, sizeof text - 1, split }

static const struct {
	const char *text;
	size_t n;
	unsigned split;
} words[] = {
	WORD("train", SPLIT_TRAIN),
	WORD("training", SPLIT_TRAIN),
	WORD("validation", SPLIT_VALIDATION),
	WORD("valid", SPLIT_VALIDATION),
	WORD("dev", SPLIT_VALIDATION),
	WORD("val", SPLIT_VALIDATION),
	WORD("test", SPLIT_TEST),
	WORD("testing", SPLIT_TEST),
	WORD("eval", SPLIT_TEST),
	WORD("evaluation", SPLIT_TEST),
};

static unsigned named(struct span word)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (word.n == words[i].n && memcmp(word.at, words[i].text, word.n) == 0)
			return words[i].split;
	return 0;
}

unsigned split_named(const char *word)
{
	return named(span_text(word));
}

static bool divides(uint8_t c)
{
	return c == '-' || c == '.' || c == '_' || c == ' ' || (c >= '0' && c <= '9');
}

static unsigned in_component(struct span s)
{
	unsigned splits = 0;
	size_t from = 0;
	for (size_t i = 0; i <= s.n; i++)
		if (i == s.n || divides(s.at[i])) {
			splits |= named(span_of(s.at + from, i - from));
			from = i + 1;
		}
	return splits;
}

static size_t folders_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

unsigned split_of_file(const char *path)
{
	return in_component(span_text(path + folders_of(path)));
}

unsigned split_of_folders(const char *path)
{
	unsigned splits = 0;
	size_t from = 0, n = folders_of(path);
	for (size_t i = 0; i < n; i++)
		if (path[i] == '/') {
			splits |= in_component(span_of(path + from, i - from));
			from = i + 1;
		}
	return splits;
}

bool split_of_shard(const char *path, struct span *split)
{
	static const char form[] = "-ddddd-of-ddddd";
	size_t n = strlen(path), length = sizeof form - 1;
	if (strncmp(path, "data/", 5) != 0 || strchr(path + 5, '/') != NULL)
		return false;
	/* From the end on: the name takes as much as it can. */
	for (size_t at = n; at > 5 + 1; at--) {
		const char *s = path + at - 1;
		size_t i = 0;
		while (i < length && (form[i] == 'd' ? s[i] >= '0' && s[i] <= '9' : s[i] == form[i]))
			i++;
		if (i < length || strchr(s + length, '.') == NULL)
			continue;
		*split = span_of(path + 5, at - 1 - 5);
		return true;
	}
	return false;
}

void split_text(unsigned splits, char out[SPLIT_TEXT])
{
	static const char *const names[] = { "train", "validation", "test" };
	out[0] = '\0';
	for (size_t i = 0; i < 3; i++)
		if ((splits >> i & 1) != 0) {
			if (out[0] != '\0')
				strcat(out, ", ");
			strcat(out, names[i]);
		}
}
