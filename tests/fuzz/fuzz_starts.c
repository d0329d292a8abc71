/* What starts_decode takes, starts_encode writes in the same bytes, but for what fills the last number;
 * documents begin in order, and each id ends. */
#include <stdlib.h>
#include <string.h>

#include "fetch/starts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct buffer out = { 0 };
	struct starts s;
	uint64_t text_bytes;
	if (starts_decode(span_of(bytes, n), &s, &text_bytes) != 0)
		return 0;
	size_t at = 0;
	for (size_t i = 0; i < starts_number(&s); i++) {
		if (i > 0 && starts_at(&s, i)->token < starts_at(&s, i - 1)->token)
			abort();
		at += strlen(starts_id(&s, i)) + 1;
	}
	if (starts_number(&s) > 0 && at != s.ids.n)
		abort();
	if (starts_encode(&s, text_bytes, &out) != 0 || out.n != n ||
	    memcmp(out.at, bytes, 16 + 4 * starts_number(&s) + s.ids.n) != 0)
		abort();
	buffer_free(&out);
	starts_free(&s);
	return 0;
}
