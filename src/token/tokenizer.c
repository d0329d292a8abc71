#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "token/model.h"

/* The vocabularies in vocab.S. */
extern const uint8_t vocab_gpt2[], vocab_cl100k[], vocab_o200k[];
extern const uint64_t vocab_gpt2_size, vocab_cl100k_size, vocab_o200k_size;

/* Words kept by one tokenizer: 32 MiB of them. */
#define WORDS (1u << 20)

struct special {
	const char *text;
	uint32_t id;
};

/* Sources: tiktoken's openai_public.py for the special ids; SHA-256 of the files as in vocab/README.md. */
struct builtin {
	const char *name;
	split_fn *split;
	const uint8_t *file;
	const uint64_t *size;
	uint32_t vocab;
	uint32_t bos;
	const char *sha256;
	struct special special[6];
};

static const struct builtin builtin[] = {
	{ "gpt2", split_gpt2, vocab_gpt2, &vocab_gpt2_size, 50257, 50256,
	  "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", { { "<|endoftext|>", 50256 } } },
	{ "cl100k", split_cl100k, vocab_cl100k, &vocab_cl100k_size, 100277, 100257,
	  "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
	  { { "<|endoftext|>", 100257 }, { "<|fim_prefix|>", 100258 }, { "<|fim_middle|>", 100259 },
	    { "<|fim_suffix|>", 100260 }, { "<|endofprompt|>", 100276 } } },
	{ "o200k", split_o200k, vocab_o200k, &vocab_o200k_size, 200019, 199999,
	  "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
	  { { "<|endoftext|>", 199999 }, { "<|endofprompt|>", 200018 } } },
};

static const struct builtin *find(const char *name)
{
	for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
		if (strcmp(name, builtin[i].name) == 0)
			return &builtin[i];
	return NULL;
}

int tokenizer_info(const char *name, const char *pattern, struct tokenizer_info *out, struct error *err)
{
	const struct builtin *b = find(name);
	(void)pattern;
	if (b == NULL)
		return fail(err, EINVAL, "tokenizer %s: not known, expected gpt2, cl100k or o200k", name);
	*out = (struct tokenizer_info){ .vocab = b->vocab, .bos = b->bos };
	snprintf(out->name, sizeof out->name, "%s", b->name);
	snprintf(out->sha256, sizeof out->sha256, "%s", b->sha256);
	return 0;
}

/* Every token is the encoding of its own bytes when they are a word. */
static void seed(struct tokenizer *t)
{
	for (uint32_t id = 0; id < t->vocab.n; id++) {
		struct span token = vocab_bytes(&t->vocab, id);
		if (token.n == 0 || token.n > WORD_BYTES)
			continue;
		struct word_key key = word_key(token.at, token.n);
		words_add(t->words, key, word_hash(key), &id, 1);
	}
}

int tokenizer_open(const char *name, const char *pattern, struct tokenizer **out, struct error *err)
{
	struct tokenizer *t = calloc(1, sizeof *t);
	if (t == NULL)
		return fail(err, ENOMEM, "tokenizer %s: out of memory", name);
	int r = tokenizer_info(name, pattern, &t->info, err);
	if (r < 0)
		goto out;
	const struct builtin *b = find(name);
	t->split = b->split;
	t->special = b->special;
	t->width = tokenizer_width(t->info.vocab);
	r = vocab_read_tiktoken(&t->vocab, span_of(b->file, *b->size), name, err);
	if (r < 0)
		goto out;
	if (pairs_of_vocab(&t->pairs, &t->vocab) < 0) {
		r = fail(err, ENOMEM, "tokenizer %s: out of memory", name);
		goto out;
	}
	t->words = calloc(1, sizeof *t->words);
	if (t->words == NULL || words_make(t->words, WORDS) < 0) {
		r = fail(err, ENOMEM, "tokenizer %s: out of memory", name);
		goto out;
	}
	seed(t);
	*out = t;
	return 0;
out:
	tokenizer_close(t);
	return r;
}

void tokenizer_close(struct tokenizer *t)
{
	if (t == NULL)
		return;
	if (t->words != NULL)
		words_free(t->words);
	free(t->words);
	pairs_free(&t->pairs);
	vocab_free(&t->vocab);
	free(t);
}

const uint8_t *tokenizer_bytes(const struct tokenizer *t, uint32_t id, size_t *n)
{
	*n = 0;
	if (id >= t->info.vocab)
		return NULL;
	for (const struct special *s = t->special; s != NULL && s->text != NULL; s++) {
		if (s->id == id) {
			*n = strlen(s->text);
			return (const uint8_t *)s->text;
		}
	}
	if (id >= t->vocab.n)
		return (const uint8_t *)"";
	struct span bytes = vocab_bytes(&t->vocab, id);
	*n = bytes.n;
	return bytes.at;
}
