/* A record of the index: the first byte is the length of the key, which follows; then the record. */
#include <stdlib.h>

#include "store/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct span in = span_of(bytes, n), key, value;
	struct buffer b = { 0 };
	uint8_t length;
	if (!span_u8(&in, &length) || !span_take(&in, length, &key))
		return 0;
	if (record_parse(key, in, &value) == 0) {
		if (record_store(key, value, &b) != 0 || b.n != in.n || memcmp(b.at, in.at, in.n) != 0)
			abort();
	} else if (record_store(key, in, &b) != 0 || record_parse(key, span_of(b.at, b.n), &value) != 0 ||
		   value.n != in.n) {
		abort();
	}
	buffer_free(&b);
	return 0;
}
