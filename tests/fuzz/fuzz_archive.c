/* The bytes are an archive but for the sum at its end: what archive_open takes, archive_add writes in the
 * same bytes. */
#include <stdlib.h>

#include "store/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct buffer in = { 0 }, out = { 0 };
	struct archive *a = NULL;
	if (buffer_add(&in, bytes, n, 0, NULL) != 0 || archive_end(&in, NULL) != 0 ||
	    archive_open(span_of(in.at, in.n), &a, NULL) != 0)
		goto out;
	archive_begin(&out, archive_entries(a), NULL);
	for (uint32_t i = 0; i < archive_entries(a); i++) {
		const uint8_t *key;
		struct span record;
		archive_entry(a, i, &key, &record);
		archive_add(&out, key, record, NULL);
		if (archive_find(a, key, &record) != 0)
			abort();
	}
	archive_end(&out, NULL);
	if (in.n != out.n || memcmp(in.at, out.at, in.n) != 0)
		abort();
out:
	archive_close(a);
	buffer_free(&in);
	buffer_free(&out);
	return 0;
}
