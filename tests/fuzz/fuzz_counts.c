/* What counts_decode takes, counts_encode writes in the same bytes. */
#include <stdlib.h>

#include "store/counts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct counts c;
	struct buffer b = { 0 };
	if (counts_decode(span_of(bytes, n), &c) != 0)
		return 0;
	if (counts_encode(&c, &b) != 0 || b.n != n || memcmp(b.at, bytes, n) != 0)
		abort();
	buffer_free(&b);
	free(c.numbers);
	return 0;
}
