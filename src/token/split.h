/* split: cuts a text into words, as the patterns of tokenizers do. Words are what is encoded by itself.
 *
 * Written by hand from the published patterns; each is a pure function, so any thread may call it.
 * Sources: GPT-2's encoder.py; tiktoken's openai_public.py (cl100k_base, o200k_base).
 */
#ifndef FW_TOKEN_SPLIT_H
#define FW_TOKEN_SPLIT_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the first word of n > 0 bytes of valid UTF-8, which end where the text ends. Never 0. */
typedef size_t split_fn(const uint8_t *p, size_t n);

/* '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
size_t split_gpt2(const uint8_t *p, size_t n);

#endif
