/* nfc: Normalization Form C of UTF-8.
 *
 * Of Unicode 9.0, which is what the normalizer of HF tokenizers knows; younger code points stay as they are.
 * Source: Unicode Standard Annex 15 and chapter 3.12 (Hangul).
 */
#ifndef FW_TOKEN_NFC_H
#define FW_TOKEN_NFC_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* How many of n bytes of valid UTF-8, from the first, are surely the same in NFC whatever follows. Ends at
 * the start of a code point. */
size_t nfc_same(const uint8_t *p, size_t n);

/* Appends n bytes of valid UTF-8 in NFC to out, at most 3 n bytes. 0 or -ENOMEM. */
int nfc_append(const uint8_t *p, size_t n, struct buffer *out);

#endif
