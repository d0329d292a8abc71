/* classify: which of 64 bytes are letters, numbers, white space: a bit each, and what bits are set.
 *
 * There is a path for each instruction set, all with the same result; the best one that the machine has is
 * chosen when a tokenizer is opened. Pure functions, for any thread.
 */
#ifndef FW_TOKEN_CLASSIFY_H
#define FW_TOKEN_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

/* Bit i is byte i. Only ASCII is told apart: a byte of a longer code point is in `high` alone, but `two` and
 * `three` have the first bytes of some of so many bytes that are surely letters: of Latin, Cyrillic, Han and
 * Hangul. */
struct masks {
	uint64_t letter, upper, number, blank, space, newline, quote, slash, high, two, three;
};

/* Classifies `blocks` times 64 bytes. */
typedef void classify_fn(const uint8_t *p, size_t blocks, struct masks *out);

/* Writes the numbers of the bits that are set, `at` being that of the first one, and returns how many there
 * are; up to SPREAD_MORE more places are overwritten. */
typedef size_t spread_fn(const uint64_t *bits, size_t blocks, size_t at, size_t *out);
#define SPREAD_MORE 24

struct classify_path {
	const char *name; /* "vbmi2", "avx512", "avx2", "sse2", "scalar", "plain" */
	classify_fn *run; /* NULL: nothing is classified, the words are found one by one */
	spread_fn *spread;
};

/* The paths that this machine has, best first; the list ends with a NULL name. */
const struct classify_path *classify_paths(void);

/* Their names, NULL behind the last. */
const char *const *classify_names(void);

#endif
