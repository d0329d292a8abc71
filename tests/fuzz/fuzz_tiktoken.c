/* A .tiktoken file: what is read of it is consistent. */
#include <stdlib.h>

#include "token/pairs.h"
#include "token/vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct vocab v = { 0 };
	struct pairs p = { 0 };
	uint32_t ids = 0;
	int r = vocab_read_tiktoken(&v, span_of(bytes, n), "fuzz", NULL);
	if (r == 0 && (vocab_count_tiktoken(span_of(bytes, n), "fuzz", &ids, NULL) != 0 || ids != v.n))
		abort();
	for (uint32_t id = 0; r == 0 && id < v.n; id++) {
		struct span token = vocab_bytes(&v, id);
		if (token.n > 0 && vocab_find(&v, token.at, token.n) != id)
			abort();
	}
	if (r == 0)
		pairs_of_vocab(&p, &v, NULL);
	pairs_free(&p);
	vocab_free(&v);
	return 0;
}
