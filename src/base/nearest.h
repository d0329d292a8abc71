/* nearest: the word that was probably meant. Pure; any thread. */
#ifndef FW_BASE_NEAREST_H
#define FW_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_LENGTH 32 /* longer words are near to nothing */

/* Whether `candidate` is like `word` (about a third of the letters may differ) and nearer than *least
 * (Levenshtein distance; SIZE_MAX at first), which it then becomes. */
bool nearest_is(const char *word, const char *candidate, size_t *least);

#endif
