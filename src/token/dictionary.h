/* dictionary: words that are frequent on the web, with their ids, so that even the first text finds them.
 *
 * Source of the words and form of the data: vocab/mkwords.py. Constant, for any thread.
 */
#ifndef FW_TOKEN_DICTIONARY_H
#define FW_TOKEN_DICTIONARY_H

#include "base/span.h"
#include "token/words.h"

struct dictionary {
	struct span words; /* words.txt */
	struct span ids;   /* NAME.words */
};

/* Puts the words of a dictionary that belongs to a vocabulary of this width among the words of w, which no
 * other thread knows yet; as many as there is room for. */
void dictionary_seed(struct words *w, struct dictionary d, unsigned width);

#endif
