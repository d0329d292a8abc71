/* A text: every path gives the same ids, and their bytes are the text, made valid. The first byte chooses the
 * tokenizer. */
#include <stdlib.h>
#include <string.h>

#include "token/tokenizer.h"
#include "token/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct one {
	struct tokenizer *t;
	struct encoder *e;
	unsigned width;
};

static struct one *get(unsigned which)
{
	static const char *const names[] = { "gpt2", "cl100k", "o200k" };
	static struct one all[3];
	struct one *o = &all[which % 3];
	if (o->t == NULL) {
		struct tokenizer_info info;
		if (tokenizer_open(names[which % 3], NULL, &o->t, NULL) < 0 ||
		    tokenizer_info(names[which % 3], NULL, &info, NULL) < 0)
			abort();
		o->e = encoder_new(o->t);
		o->width = tokenizer_width(info.vocab);
		if (o->e == NULL)
			abort();
	}
	return o;
}

static void check_bytes(const struct one *o, const uint32_t *ids, size_t n, const uint8_t *text, size_t size)
{
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		size_t more;
		const uint8_t *token = tokenizer_bytes(
		        o->t, o->width == 2 ? ((const uint16_t *)(const void *)ids)[i] : ids[i], &more);
		if (token == NULL || more > size - at || memcmp(token, text + at, more) != 0)
			abort();
		at += more;
	}
	if (at != size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	if (n == 0)
		return 0;
	struct one *o = get(*bytes++);
	n--;
	size_t bound = encoder_bound(n);
	uint32_t *want = malloc(bound * 4), *ids = malloc(bound * 4);
	uint8_t *text = malloc(3 * n + 1);
	if (want == NULL || ids == NULL || text == NULL)
		abort();
	size_t size = utf8_replace(bytes, n, text);
	int64_t count = -1;
	/* From the plainest on. */
	const char *const *paths = encoder_paths();
	size_t k = 0;
	while (paths[k] != NULL)
		k++;
	while (k-- > 0) {
		if (encoder_use(o->e, paths[k]) < 0)
			abort();
		int64_t got = encoder_encode(o->e, bytes, n, ids);
		if (got < 0 ||
		    (count >= 0 && (got != count || memcmp(ids, want, (size_t)got * o->width) != 0)))
			abort();
		count = got;
		memcpy(want, ids, (size_t)got * o->width);
	}
	check_bytes(o, want, (size_t)count, text, size);
	free(want);
	free(ids);
	free(text);
	return 0;
}
