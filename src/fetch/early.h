/* early: the tokenizer, opened by a thread of its own while the first bytes are still to come.
 *
 * Opening takes about as long as tokenising a piece. The functions are for one thread at a time.
 */
#ifndef FW_FETCH_EARLY_H
#define FW_FETCH_EARLY_H

#include "base/error.h"
#include "token/tokenizer.h"

struct early;

/* Starts to open it; the strings must last until early_take or early_free. NULL: there is no thread for it.
 */
struct early *early_open(const char *tokenizer, const char *pattern);
/* Waits for it and hands it over, once: 0 or what tokenizer_open says. */
int early_take(struct early *e, struct tokenizer **out, struct error *err);
/* NULL-safe. */
void early_free(struct early *e);

#endif
