/* model: what a tokenizer is made of, for the files of this room. */
#ifndef FW_TOKEN_MODEL_H
#define FW_TOKEN_MODEL_H

#include "token/pairs.h"
#include "token/split.h"
#include "token/tokenizer.h"
#include "token/vocab.h"
#include "token/words.h"

struct tokenizer {
	struct tokenizer_info info;
	struct vocab vocab;
	struct pairs pairs;
	split_fn *split;
	unsigned width; /* bytes of an id */
	const struct special *special;
	struct words *words;
};

#endif
