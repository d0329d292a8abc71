/* merges: the list of merges in a tokenizer.json, which says what becomes one and in what order.
 *
 * Bytes are untrusted. Belongs to one thread.
 */
#ifndef FW_TOKEN_MERGES_H
#define FW_TOKEN_MERGES_H

#include <stdbool.h>

#include "base/error.h"
#include "token/names.h"
#include "token/pairs.h"
#include "token/vocab.h"

/* Zeroed, it has no list; its owner frees it with merges_free. */
struct merges {
	struct names names;
	struct buffer each; /* how many bytes their names have */
	bool there;
};

/* Takes the list from the front of the span; of two lists the last one counts. The file's name is only for
 * messages. 0, -ENOMEM, -EBADMSG (an item that is not two tokens), -ENOTSUP (too many). */
int merges_read(struct merges *m, struct span *s, const char *name, struct error *err);

/* Adds the pairs, ranked as the list has them; p is zeroed before. One of tokens that are no bytes never
 * meets a text, but has its rank. 0, -ENOMEM, -EBADMSG (a token that is not in the vocabulary). */
int merges_fill(const struct merges *m, const struct vocab *v, struct pairs *p, const char *name,
                struct error *err);

void merges_free(struct merges *m);

#endif
