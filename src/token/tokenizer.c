#include "token/tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "token/aside.h"
#include "token/huge.h"
#include "token/huggingface.h"
#include "token/model.h"

/* The vocabularies in vocab.S. */
extern const uint8_t vocab_gpt2[], vocab_cl100k[], vocab_o200k[];
extern const uint64_t vocab_gpt2_size, vocab_cl100k_size, vocab_o200k_size;
extern const uint8_t cuts_gpt2[], cuts_cl100k[], cuts_o200k[];
extern const uint8_t words_english[], words_gpt2[], words_cl100k[], words_o200k[];
extern const uint64_t words_english_size, words_gpt2_size, words_cl100k_size, words_o200k_size;

/* For the words of one tokenizer, in bytes. */
#define WORDS (48u << 20)

/* No file of a tokenizer is longer. */
#define FILE_MOST (256u << 20)

/* Sources: tiktoken's openai_public.py for the special ids; SHA-256 of the files as in vocab/README.md. */
struct builtin {
	const char *name;
	split_fn *split;
	const uint8_t *file;
	const uint64_t *size;
	const uint8_t *cuts;
	const uint8_t *words;
	const uint64_t *words_size;
	uint32_t vocab;
	uint32_t bos;
	const char *sha256;
	struct special special[6];
};

static const struct builtin builtin[] = {
	{ "gpt2",
	  split_gpt2,
	  vocab_gpt2,
	  &vocab_gpt2_size,
	  cuts_gpt2,
	  words_gpt2,
	  &words_gpt2_size,
	  50257,
	  50256,
	  "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
	  { { "<|endoftext|>", 50256 } } },
	{ "cl100k",
	  split_cl100k,
	  vocab_cl100k,
	  &vocab_cl100k_size,
	  cuts_cl100k,
	  words_cl100k,
	  &words_cl100k_size,
	  100277,
	  100257,
	  "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
	  { { "<|endoftext|>", 100257 },
	    { "<|fim_prefix|>", 100258 },
	    { "<|fim_middle|>", 100259 },
	    { "<|fim_suffix|>", 100260 },
	    { "<|endofprompt|>", 100276 } } },
	{ "o200k",
	  split_o200k,
	  vocab_o200k,
	  &vocab_o200k_size,
	  cuts_o200k,
	  words_o200k,
	  &words_o200k_size,
	  200019,
	  199999,
	  "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
	  { { "<|endoftext|>", 199999 }, { "<|endofprompt|>", 200018 } } },
};

static const struct builtin *find_builtin(const char *name)
{
	for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
		if (strcmp(name, builtin[i].name) == 0)
			return &builtin[i];
	return NULL;
}

/* What a .tiktoken file may be cut with. */
static const struct {
	const char *name;
	split_fn *split;
} patterns[] = {
	{ "gpt2", split_gpt2 },     { "cl100k", split_cl100k }, { "o200k", split_o200k },
	{ "llama3", split_llama3 }, { "qwen2", split_qwen2 },
};

static split_fn *find_pattern(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof patterns / sizeof *patterns; i++)
		if (strcmp(name, patterns[i].name) == 0)
			return patterns[i].split;
	return NULL;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);
	return n >= k && strcmp(name + n - k, end) == 0;
}

/* A whole file. */
struct content {
	uint8_t *at;
	size_t n, room;
};

/* Reads a file; its content is the caller's to free, also after a failure. */
static int read_file(const char *path, struct content *c, struct error *err)
{
	struct stat st;
	/* A pipe that nobody writes must not stop it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int code = errno;
		if (fd >= 0)
			close(fd);
		return fail(err, code, "tokenizer %s: %s", path, strerror(code));
	}
	int r = 0;
	c->room = (size_t)st.st_size + 1;
	if (!S_ISREG(st.st_mode))
		r = fail(err, EINVAL, "tokenizer %s: not a file", path);
	else if (st.st_size > FILE_MOST)
		r = fail(err, ENOTSUP, "tokenizer %s: longer than %u MiB", path, FILE_MOST >> 20);
	else if ((c->at = huge_make(c->room)) == NULL)
		r = fail(err, ENOMEM, "tokenizer %s: out of memory", path);
	while (r == 0 && c->n < (size_t)st.st_size) {
		ssize_t got = read(fd, c->at + c->n, (size_t)st.st_size - c->n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			r = fail(err, EIO, "tokenizer %s: %s", path,
			         got < 0 ? strerror(errno) : "shorter than it was");
		else
			c->n += (size_t)got;
	}
	close(fd);
	return r;
}

struct digest {
	struct span file;
	uint8_t bytes[HASH_SIZE];
};

static void *make_digest(void *arg)
{
	struct digest *d = arg;
	hash_of(d->file.at, d->file.n, d->bytes);
	return NULL;
}

/* Fills the vocabulary of t from a file, and the merges where the file has some; only t->info when merges is
 * NULL. */
static int load_file(struct tokenizer *t, const char *path, const char *pattern, struct merges *merges,
                     struct error *err)
{
	bool json = ends_with(path, ".json");
	const char *slash = strrchr(path, '/');
	struct content file = { 0 };
	struct digest digest;
	struct aside aside;
	if (!json && !ends_with(path, ".tiktoken"))
		return fail(err, EINVAL,
		            "tokenizer %s: not known; expected gpt2, cl100k, o200k, a .tiktoken file or a "
		            "tokenizer.json",
		            path);
	t->split = find_pattern(pattern);
	bool given = pattern != NULL && pattern[0] != '\0';
	if (!json && t->split == NULL)
		return fail(err, EINVAL,
		            "tokenizer %s: %s%s%s; expected gpt2, cl100k, o200k, llama3 or qwen2", path,
		            given ? "pattern \"" : "needs a pattern", given ? pattern : "",
		            given ? "\" is not known" : "");
	if (json && given)
		return fail(err, EINVAL, "tokenizer %s: has its own pattern, none may be given", path);
	int r = read_file(path, &file, err);
	if (r < 0)
		goto out;
	snprintf(t->info.name, sizeof t->info.name, "%s", slash != NULL ? slash + 1 : path);
	digest.file = span_of(file.at, file.n);
	aside_start(&aside, make_digest, &digest);
	t->info.bos = -1;
	t->whole = true;
	if (json)
		r = huggingface_read(t, span_of(file.at, file.n), path, merges, err);
	else if (merges == NULL)
		r = vocab_count_tiktoken(span_of(file.at, file.n), path, &t->info.vocab, err);
	else
		r = vocab_read_tiktoken(&t->vocab, span_of(file.at, file.n), path, err);
	if (!json && merges != NULL)
		t->info.vocab = t->vocab.n;
	aside_end(&aside);
	hash_hex(digest.bytes, HASH_SIZE, t->info.sha256);
out:
	huge_free(file.at, file.room);
	return r;
}

/* The same of any name. */
static int load(struct tokenizer *t, const char *name, const char *pattern, struct merges *merges,
                struct error *err)
{
	const struct builtin *b = find_builtin(name);
	if (b == NULL)
		return load_file(t, name, pattern, merges, err);
	if (pattern != NULL && pattern[0] != '\0' && strcmp(pattern, name) != 0)
		return fail(err, EINVAL, "tokenizer %s: has its own pattern, not \"%s\"", name, pattern);
	t->info.vocab = b->vocab;
	t->info.bos = b->bos;
	snprintf(t->info.name, sizeof t->info.name, "%s", b->name);
	snprintf(t->info.sha256, sizeof t->info.sha256, "%s", b->sha256);
	t->split = b->split;
	t->cuts = b->cuts;
	t->dictionary.words = span_of(words_english, words_english_size);
	t->dictionary.ids = span_of(b->words, *b->words_size);
	t->special = b->special;
	t->whole = true;
	if (merges == NULL)
		return 0;
	return vocab_read_tiktoken(&t->vocab, span_of(b->file, *b->size), name, err);
}

/* o200k: contractions behind capital letters; DeepSeek-V3: punctuation within kana. */
static unsigned revision_of(const struct tokenizer *t)
{
	return t->split == split_o200k || t->split == split_deepseek3;
}

int tokenizer_info(const char *name, const char *pattern, struct tokenizer_info *out, struct error *err)
{
	struct tokenizer t = { 0 };
	int r = load(&t, name, pattern, NULL, err);
	t.info.revision = revision_of(&t);
	if (r == 0)
		*out = t.info;
	return r;
}

/* Puts tokens that become themselves among the words. Once all are there, a short word that is not is none.
 */
static void seed(struct tokenizer *t)
{
	enum { AHEAD = 128 };
	struct word_key key[AHEAD];
	uint64_t hash[AHEAD];
	uint32_t ids[AHEAD], n = 0;
	t->seeded = t->whole;
	for (uint32_t id = 0; t->whole && id <= t->vocab.n; id++) {
		/* Many at a time, so that their memory is fetched together. */
		if (n == AHEAD || id == t->vocab.n) {
			for (uint32_t i = 0; i < n; i++)
				t->seeded = words_seed(&t->words, key[i], hash[i], &ids[i], 1, t->width) &&
				            t->seeded;
			n = 0;
		}
		struct span token = id < t->vocab.n ? vocab_bytes(&t->vocab, id) : span_of(NULL, 0);
		if (token.n == 0 || token.n > WORD_BYTES || vocab_is_hidden(&t->vocab, id))
			continue;
		key[n] = word_key_at(t->vocab.bytes, t->vocab.at[t->vocab.n], t->vocab.at[id], token.n);
		hash[n] = word_hash(key[n]);
		__builtin_prefetch(&t->words.at[words_place(&t->words, hash[n])], 1);
		ids[n++] = id;
	}
}

int tokenizer_cache(struct tokenizer *t, size_t bytes)
{
	words_free(&t->words);
	int r = words_make(&t->words, bytes);
	if (r == 0) {
		seed(t);
		dictionary_seed(&t->words, t->dictionary, t->width);
	}
	return r;
}

struct making {
	struct tokenizer *t;
	int result;
};

static void *make_words(void *arg)
{
	struct making *m = arg;
	m->result = tokenizer_cache(m->t, WORDS);
	return NULL;
}

static int make_pairs(struct tokenizer *t, const char *name, const struct merges *merges, struct error *err)
{
	int r = merges->there ? merges_fill(merges, &t->vocab, &t->pairs, name, err)
	                      : pairs_of_vocab(&t->pairs, &t->vocab, t->cuts);
	if (r == 0)
		r = pairs_of_bytes(&t->pairs, &t->vocab);
	return r == -ENOMEM ? fail(err, ENOMEM, "tokenizer %s: out of memory", name) : r;
}

int tokenizer_open(const char *name, const char *pattern, struct tokenizer **out, struct error *err)
{
	struct merges merges = { 0 };
	struct aside aside;
	struct tokenizer *t = calloc(1, sizeof *t);
	if (t == NULL)
		return fail(err, ENOMEM, "tokenizer %s: out of memory", name);
	int r = load(t, name, pattern, &merges, err);
	if (r < 0)
		goto out;
	t->width = tokenizer_width(t->info.vocab);
	struct making words = { .t = t };
	aside_start(&aside, make_words, &words);
	r = make_pairs(t, name, &merges, err);
	aside_end(&aside);
	if (r == 0 && words.result < 0)
		r = fail(err, ENOMEM, "tokenizer %s: out of memory", name);
out:
	merges_free(&merges);
	if (r == 0)
		*out = t;
	else
		tokenizer_close(t);
	return r;
}

void tokenizer_close(struct tokenizer *t)
{
	if (t == NULL)
		return;
	words_free(&t->words);
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
