/* model: what a tokenizer is made of, for the files of this room. */
#ifndef FW_TOKEN_MODEL_H
#define FW_TOKEN_MODEL_H

#include <stdbool.h>

#include "token/dictionary.h"
#include "token/pairs.h"
#include "token/split.h"
#include "token/tokenizer.h"
#include "token/vocab.h"
#include "token/words.h"

/* A special id of a tokenizer that is built in. */
struct special {
	const char *text;
	uint32_t id;
};

struct tokenizer {
	struct tokenizer_info info;
	struct vocab vocab;
	struct pairs pairs;
	struct words words;
	/* Of a vocabulary that is built in. */
	const uint8_t *cuts;
	struct dictionary dictionary;
	split_fn *split;
	bool whole;  /* a word whose bytes are a token is that token, whatever the pairs would make of it */
	bool nfc;    /* texts are normalised first */
	bool seeded; /* all tokens of at most WORD_BYTES bytes are among the words */
	unsigned width; /* bytes of an id */
	const struct special *special;
};

/* The tokenizer of an encoder. */
const struct tokenizer *encoder_tokenizer(const struct encoder *e);

#endif
