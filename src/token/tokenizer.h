/* tokenizer: byte-pair encoding exactly as tiktoken's encode_ordinary does it. Usable on its own: needs
 * src/base only.
 *
 * A tokenizer is immutable after it was opened and may be shared by any number of threads;
 * an encoder belongs to one thread at a time. Each of these calls can fail:
 *
 *	struct tokenizer *t;
 *	tokenizer_open("gpt2", NULL, &t, NULL);
 *	struct encoder *e = encoder_new(t);
 *	uint16_t *ids = malloc(encoder_bound(n) * sizeof *ids);
 *	int64_t count = encoder_encode(e, text, n, ids);
 *
 * Another program has it with #include <token/tokenizer.h> and pkg-config fineweb-token, as examples/encode.c
 * shows. Words that were seen are remembered in t, for all its encoders.
 * Sources: GPT-2's encoder.py and published pattern, tiktoken's openai_public.py and core BPE, Unicode 16.0
 * (tables in unicode.c).
 */
#ifndef FW_TOKEN_TOKENIZER_H
#define FW_TOKEN_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct tokenizer;
struct encoder;

/* Opens "gpt2", "cl100k", "o200k" (built in), or a path of a .tiktoken file (pattern: "gpt2", "cl100k",
 * "o200k", "llama3", "qwen2") or of a byte-level tokenizer.json (GPT-2, Llama 3, Qwen 2 to 3, OLMo 2,
 * SmolLM2, DeepSeek-V3 and their kin: known by their exact patterns). pattern is NULL or "" where it does not
 * apply. 0; -ENOENT, -EACCES, -EIO; -EINVAL (a name that is none, a pattern that is missing or not known: the
 * text lists them); -EBADMSG (the file is damaged: line, what was expected); -ENOTSUP (a model or pattern
 * that is not supported, named). */
int tokenizer_open(const char *name, const char *pattern, struct tokenizer **out, struct error *err);
void tokenizer_close(struct tokenizer *t);

/* Bounds the memory for words that were seen, which all encoders of t share, to `bytes` (48 MiB at first); 0
 * turns it off. The ids are the same. Only while t has no encoder. 0 or -ENOMEM. */
int tokenizer_cache(struct tokenizer *t, size_t bytes);

/* What is known of a name without opening it whole, so that a mount of token files starts at once. */
struct tokenizer_info {
	char name[64];   /* "gpt2", or the file's base name */
	uint32_t vocab;  /* ids are 0 ... vocab - 1; special ids included (gpt2: 50257, cl100k: 100277, o200k:
	                    200019) */
	int64_t bos;     /* end-of-text id that stands before each document by default, -1: none; of a
	                  * tokenizer.json its added token
	                  * <|endoftext|>, else <|begin_of_text|>, else DeepSeek's begin of sentence */
	char sha256[65]; /* of the file as published */
	unsigned revision; /* how often ids that were wrong were corrected: part of the name of what is stored */
};
int tokenizer_info(const char *name, const char *pattern, struct tokenizer_info *out, struct error *err);

/* Bytes of an id: 2 when vocab <= 65,536, else 4. */
static inline unsigned tokenizer_width(uint32_t vocab)
{
	return vocab <= 65536 ? 2 : 4;
}

/* A new encoder over t, which must outlive it. NULL: out of memory. */
struct encoder *encoder_new(const struct tokenizer *t);
void encoder_free(struct encoder *e);

/* Most ids that n bytes of text can become (invalid UTF-8 is replaced, which can make it longer). */
size_t encoder_bound(size_t n);

/* Encodes one text of n bytes; literal special tokens in it are text; invalid UTF-8 is replaced as Python's
 * bytes.decode("utf-8", "replace") does. Writes ids of tokenizer_width bytes each, in the machine's order, to
 * ids, which has room for encoder_bound(n) of them, aligned to their width. Returns their number, -ENOMEM, or
 * -ENOTSUP: a word of more than a mebibyte that cannot be encoded in parts, which is not known of any
 * vocabulary (see merge.h). */
int64_t encoder_encode(struct encoder *e, const void *text, size_t n, void *ids);

/* A text that comes in parts, which are cut anywhere: the ids are those of encoder_encode of all parts
 * together. At most STREAM_HELD bytes are held back until more is known; a text that has no space between two
 * letters, no letter beside a digit and no single end of line between two characters for so long is -ENOTSUP.
 * A zeroed struct with an encoder in it, which nothing else uses meanwhile, is a new stream; after
 * textstream_end, which frees what is held, it is new again. One thread. */
#define STREAM_HELD (64u << 20)
struct textstream {
	struct encoder *e;
	struct buffer held;
};

/* Appends the ids that are certain, each of tokenizer_width bytes in the machine's order. 0, -ENOMEM,
 * -ENOTSUP. */
int textstream_put(struct textstream *s, const void *part, size_t n, struct buffer *ids, struct error *err);

/* Nothing follows: appends the last ids. 0, -ENOMEM, -ENOTSUP. */
int textstream_end(struct textstream *s, struct buffer *ids, struct error *err);

/* Where a text that is whole in memory, n > 0 bytes, may be cut so that both sides are encoded as if
 * together: at `most` bytes or before, else as near behind it as is easily found; n where there is no such
 * place. */
size_t textstream_cut(const void *text, size_t n, size_t most);

/* The instruction sets that the encoder has a path for on this machine ("vbmi2", "avx512", "avx2", "sse2",
 * "scalar", "plain"), best first, NULL behind the last. All give the same ids; a new encoder has the best.
 * encoder_use chooses one by name: 0, or -EINVAL. */
const char *const *encoder_paths(void);
int encoder_use(struct encoder *e, const char *path);

/* The bytes of one id (empty for ids that have none); valid as long as t. *n = 0 and NULL for an id out of
 * range. Special ids give their text ("<|endoftext|>"). */
const uint8_t *tokenizer_bytes(const struct tokenizer *t, uint32_t id, size_t *n);

#endif
