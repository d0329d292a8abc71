/* pattern: the globs by which a data set's card names files. Pure; any thread.
 *
 * As fsspec's glob, which the Python library `datasets` uses: '*' and '?' stop at '/', "[...]" and "[!...]"
 * are sets, a component "**" is any number of components, at the end at least one. A name that begins with
 * '.', and a folder that begins with "__", are only matched where the pattern names as many.
 */
#ifndef FW_IO_PATTERN_H
#define FW_IO_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Time is at most the product of both lengths. */
bool pattern_matches(const char *pattern, const char *path);

/* How many bytes of a pattern are the folder in which all that it matches lies, without the '/' behind it. */
size_t pattern_folder(const char *pattern);

/* Whether it has any of the characters that are special. */
bool pattern_is(const char *text);

#endif
