/* The header of a cached file: what is taken promises the bytes that are there, and is written in the same
 * bytes. */
#include <stdlib.h>

#include "store/header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const uint8_t *bytes, size_t n, const char *magic, const uint8_t *key)
{
	struct header h;
	struct error err;
	uint8_t out[HEADER_SIZE];
	if (header_parse(span_of(bytes, n < HEADER_SIZE ? n : HEADER_SIZE), magic, key, n, &h, &err) != 0)
		return;
	if (n < HEADER_SIZE || h.tokens != (n - HEADER_SIZE) / h.width || (n - HEADER_SIZE) % h.width != 0)
		abort();
	header_store(&h, out);
	if (memcmp(out, bytes, HEADER_SIZE) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const uint8_t zero[HEADER_KEY];
	const uint8_t *key = n >= 48 ? bytes + 32 : zero;
	check(bytes, n, HEADER_PIECE, key);
	check(bytes, n, HEADER_COUNT, key);
	check(bytes, n, HEADER_PIECE, zero);
	return 0;
}
