/* Token files. The first byte chooses: bit 0 an .npy, bit 1 raw ids of 4 bytes, bit 2 ids of 4 bytes are
 * wanted. */
#include <stdlib.h>

#include "base/span.h"
#include "format/tokenfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void convert(const struct tokenfile *t, const uint8_t *in, size_t tokens, unsigned to)
{
	size_t bad = 0;
	int64_t id = 0;
	uint32_t vocab = to == 2 ? 50257 : 128256;
	uint8_t *out = malloc(tokens * to + 1);
	if (out == NULL)
		return;
	if (tokenfile_convert(t, in, tokens, vocab, to, out, &bad, &id) == 0) {
		for (size_t i = 0; i < tokens; i++)
			if ((to == 2 ? load_u16(out + 2 * i) : load_u32(out + 4 * i)) >= vocab)
				abort();
	} else if (bad >= tokens || (id >= 0 && id < vocab)) {
		abort();
	}
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct tokenfile t;
	struct error err;
	if (n == 0)
		return 0;
	unsigned choice = *bytes++;
	struct source *s = source_memory(bytes, --n, "fuzz");
	if (s == NULL)
		return 0;
	if (tokenfile_open(s, choice & 1, choice & 2 ? 4 : 2, &t, &err) == 0) {
		if (t.offset > n || t.tokens != (n - t.offset) / t.width || (n - t.offset) % t.width != 0)
			abort();
		convert(&t, bytes + t.offset, (size_t)t.tokens, choice & 4 ? 4 : 2);
	}
	source_close(s);
	return 0;
}
