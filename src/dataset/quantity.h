/* quantity: numbers as people write them, exact or refused.
 *
 * Pure; any thread.
 */
#ifndef FW_DATASET_QUANTITY_H
#define FW_DATASET_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits, nothing else. false: another text, or it does not fit. */
bool quantity_number(const char *text, uint64_t *out);

/* The same, or 0x and hexadecimal digits. */
bool quantity_bits(const char *text, uint64_t *out);

/* Bytes: digits, perhaps a fraction, perhaps one of K M G T (1024^n), in either case. false:
 * another text, does not fit, or is no whole number. */
bool quantity_size(const char *text, uint64_t *out);

/* Tokens: digits, perhaps a fraction, perhaps one of K M B T (10^3n), in either case, or e and an
 * exponent ("38e9", "1.5B"). false as above. */
bool quantity_tokens(const char *text, uint64_t *out);

#endif
