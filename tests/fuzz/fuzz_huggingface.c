/* A tokenizer.json: what is read of it is consistent, and brief reading says the same. */
#include <stdlib.h>

#include "token/huggingface.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct tokenizer t = { 0 }, brief = { 0 };
	struct merges merges = { 0 };
	int r = huggingface_read(&t, span_of(bytes, n), "fuzz", &merges, NULL);
	int b = huggingface_read(&brief, span_of(bytes, n), "fuzz", NULL, NULL);
	if (r == 0 && merges_fill(&merges, &t.vocab, &t.pairs, "fuzz", NULL) == 0) {
		for (uint32_t s = 0; s <= t.pairs.mask; s++) {
			uint32_t rank = ((uint32_t)t.pairs.at[s] & PAIRS_MOST) - 1;
			if (t.pairs.at[s] != 0 && t.pairs.made[rank] >= t.vocab.n)
				abort();
		}
	}
	merges_free(&merges);
	if (r == 0 &&
	    (b != 0 || t.info.vocab != brief.info.vocab || t.info.bos != brief.info.bos || t.split == NULL))
		abort();
	for (uint32_t id = 0; r == 0 && id < t.vocab.n; id++) {
		struct span token = vocab_bytes(&t.vocab, id);
		if (token.n > 0 && !vocab_is_hidden(&t.vocab, id) &&
		    vocab_find(&t.vocab, token.at, token.n) != id)
			abort();
	}
	pairs_free(&t.pairs);
	vocab_free(&t.vocab);
	return 0;
}
