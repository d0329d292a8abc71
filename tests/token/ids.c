/* ids: encodes texts from stdin for differential.py. Usage: ids TOKENIZER [PATTERN [PATH]]
 *
 * In: for each text its length in 4 bytes, and its bytes; out: the number of ids in 4 bytes, and each id in 4
 * bytes; both little-endian.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/span.h"
#include "token/tokenizer.h"

static bool answer(struct encoder *e, unsigned width, const uint8_t *text, size_t n)
{
	void *ids = malloc((encoder_bound(n) + 1) * width);
	uint8_t *out = malloc((encoder_bound(n) + 1) * 4);
	int64_t count = ids != NULL && out != NULL ? encoder_encode(e, text, n, ids) : -1;
	bool good = count >= 0;
	if (good) {
		store_u32(out, (uint32_t)count);
		for (int64_t i = 0; i < count; i++)
			store_u32(out + 4 * (i + 1),
			          width == 2 ? ((uint16_t *)ids)[i] : ((uint32_t *)ids)[i]);
		good = fwrite(out, 4, (size_t)count + 1, stdout) == (size_t)count + 1 && fflush(stdout) == 0;
	}
	free(ids);
	free(out);
	return good;
}

int main(int argc, char **argv)
{
	struct tokenizer *t;
	struct tokenizer_info info;
	struct error err;
	if (argc < 2 || tokenizer_open(argv[1], argc > 2 ? argv[2] : NULL, &t, &err) < 0 ||
	    tokenizer_info(argv[1], argc > 2 ? argv[2] : NULL, &info, &err) < 0) {
		fprintf(stderr, "%s\n", argc < 2 ? "usage: ids TOKENIZER [PATTERN [PATH]]" : err.text);
		return 2;
	}
	struct encoder *e = encoder_new(t);
	uint8_t head[4];
	bool good = e != NULL && (argc < 4 || encoder_use(e, argv[3]) == 0);
	while (good && fread(head, 4, 1, stdin) == 1) {
		size_t n = load_u32(head);
		/* Exactly as long as the text, so that a sanitizer sees a read behind it. */
		uint8_t *text = malloc(n > 0 ? n : 1);
		good = text != NULL && fread(text, 1, n, stdin) == n &&
		       answer(e, tokenizer_width(info.vocab), text, n);
		free(text);
	}
	encoder_free(e);
	tokenizer_close(t);
	return good ? 0 : 1;
}
