/* The header of an HTTP answer, line by line, as libcurl hands it over. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct answer a = { 0 };
	struct span rest = span_of(bytes, n), line;
	while (rest.n > 0) {
		const uint8_t *end = memchr(rest.at, '\n', rest.n);
		span_take(&rest, end == NULL ? rest.n : (size_t)(end - rest.at) + 1, &line);
		answer_line(&a, line);
		if (a.has_range && (a.first > a.last || (a.has_total && a.last >= a.total)))
			abort();
		if (strlen(a.etag) >= ANSWER_ETAG || answer_wait_ms(&a, 784111777) > 3600000)
			abort();
		if ((a.status != 0 && (a.status < 100 || a.status > 599)) || !etag_same(a.etag, a.etag))
			abort();
		etag_strong(a.etag);
	}
	return 0;
}
