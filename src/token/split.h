/* split: cuts a text into words, as the patterns of tokenizers do. Words are what is encoded by itself.
 *
 * Written by hand from the published patterns, which stand at each function; each is pure, so any thread may
 * call it. Sources: GPT-2's encoder.py; tiktoken's openai_public.py (cl100k_base, o200k_base); the
 * tokenizer.json files of Llama 3, Qwen 2 and 3, DeepSeek-V3 and SmolLM2. \p{...} and \s are those of
 * Unicode 16.0.
 */
#ifndef FW_TOKEN_SPLIT_H
#define FW_TOKEN_SPLIT_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the first word of n > 0 bytes of valid UTF-8, which end where the text ends. Never 0. */
typedef size_t split_fn(const uint8_t *p, size_t n);

/* '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
size_t split_gpt2(const uint8_t *p, size_t n);

/* '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
 * ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s */
size_t split_cl100k(const uint8_t *p, size_t n);

/* [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 * |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 * |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
size_t split_o200k(const uint8_t *p, size_t n);

/* As cl100k, without its \s+$: white space at the end of a text is cut behind its last end of line. Also OLMo
 * 2's. */
size_t split_llama3(const uint8_t *p, size_t n);

/* As llama3, with \p{N} instead of \p{N}{1,3}. Qwen 2, 2.5 and 3. */
size_t split_qwen2(const uint8_t *p, size_t n);

/* \p{N}{1,3}, then [U+4E00-U+9FA5U+3040-U+309FU+30A0-U+30FF]+, then
 * [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
 * ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+: each cuts what the one before left, and what nothing
 * matches is a word too. */
size_t split_deepseek3(const uint8_t *p, size_t n);

/* \p{N}, then GPT-2's pattern on what that left. SmolLM2. */
size_t split_smollm2(const uint8_t *p, size_t n);

#endif
