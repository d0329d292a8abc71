/* A data set's card, and its patterns against a path. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/card.h"
#include "io/pattern.h"
#include "io/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void match(const char *pattern)
{
	static const char *const paths[] = { "data/train-00000-of-00001.parquet", "a/.b/__c/d", "x" };
	struct span split;
	if (pattern_folder(pattern) > strlen(pattern))
		abort();
	for (size_t i = 0; i < 3; i++)
		pattern_matches(pattern, paths[i]);
	pattern_matches("**/*a*b*[!c]?", pattern);
	pattern_matches(pattern, pattern);
	if (split_of_shard(pattern, &split) && split.n == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const char *const names[] = { NULL, "default", "a" };
	struct card_files f;
	for (size_t i = 0; i < 3; i++) {
		if (card_choose(span_of(bytes, n), names[i], i == 2 ? "test" : "train", &f, NULL) != 0)
			continue;
		for (size_t k = 0; k < f.n; k++)
			match(f.patterns[k]);
		card_free(&f);
	}
	if (n < 256) {
		char text[257];
		memcpy(text, bytes, n);
		text[n] = '\0';
		match(text);
	}
	return 0;
}
