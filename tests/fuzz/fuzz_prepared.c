/* A dataset.json, and behind a zero byte a pieces.fwc but for its sum. What is taken is written and taken
 * again. */
#include <stdlib.h>

#include "dataset/prepared.h"
#include "store/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void again(const struct prepared *p)
{
	struct prepared q = { 0 };
	struct buffer json = { 0 };
	char sum[HASH_HEX], a[128], b[128];
	if (prepared_write(p, NULL, &json, NULL) != 0)
		abort();
	if (prepared_read(span_of(json.at, json.n), &q, sum, NULL) != 0 || q.n_shards != p->n_shards ||
	    q.n_pieces != p->n_pieces || q.n_files != p->n_files ||
	    prepared_differs(&p->terms, &q.terms, a, b) != NULL)
		abort();
	prepared_free(&q);
	buffer_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct prepared p = { 0 };
	struct buffer pieces = { 0 };
	const uint8_t *zero = n == 0 ? NULL : memchr(bytes, 0, n);
	size_t json = zero == NULL ? n : (size_t)(zero - bytes);
	char sum[HASH_HEX];
	prepared_is(span_of(bytes, json));
	int r = prepared_read(span_of(bytes, json), &p, sum, NULL);
	if (r == 0 && zero != NULL && buffer_add(&pieces, zero + 1, n - json - 1, 0, NULL) == 0 &&
	    archive_end(&pieces, NULL) == 0)
		r = prepared_read_pieces(span_of(pieces.at, pieces.n), &p, NULL);
	if (r == 0)
		again(&p);
	prepared_free(&p);
	buffer_free(&pieces);
	return 0;
}
