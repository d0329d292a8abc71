/* options: every option of a mount, with its one definition.
 *
 * Sizes: K M G T are 1024^n. Token counts: K M B T are 10^3n, also 38e9. Plain data; not shared while it changes.
 */
#ifndef FW_DATASET_OPTIONS_H
#define FW_DATASET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "order/epoch.h"

enum counts_mode { COUNTS_AUTO, COUNTS_COLUMN, COUNTS_EXACT };
enum on_error { ON_ERROR_FAIL, ON_ERROR_SKIP };
enum shards_form { SHARDS_RAW, SHARDS_LLMC, SHARDS_NPY, SHARDS_NANOGPT };
enum list_mode { LIST_AUTO, LIST_ALL, LIST_COUNTED };

#define ID_AUTO (-2) /* bos, eos: the tokenizer's default */
#define ID_NONE (-1)

struct options {
	char **source; /* malloc'ed strings; none: the bundled sample */
	size_t sources;
	char *name, *split, *column, *endpoint, *index, *tokenizer, *pattern, *cache, *config; /* malloc'ed or NULL; tokenizer "gpt2" */
	char fingerprint[65]; /* lower-case hex or a prefix of at least 8 digits, "" for none */
	bool repin;
	int64_t bos, eos;
	enum counts_mode counts;
	uint32_t seq_len, batch_size, world_size;
	uint64_t seed;
	uint32_t epoch, epochs;
	enum shuffle shuffle;
	enum stride stride;
	enum tail tail;
	enum on_error on_error;
	uint64_t block;
	uint32_t mix_files;
	uint64_t start, max_tokens, val_tokens;
	enum shards_form shards;
	uint64_t shard_tokens;
	enum list_mode list;
	uint64_t cache_size, memory; /* bytes; cache_size 0: automatic */
	unsigned threads;            /* 0: max(2, CPUs / 4) */
	unsigned retry, ready_timeout; /* seconds */
};

/* The defaults of the manual. */
void options_init(struct options *o);
void options_free(struct options *o);

/* Sets one option from text. `source` adds one. 0; -EINVAL: not known (the text names the nearest name), or the value is not of its kind or out of range (the text
 * says name, value, what is expected); -ENOTSUP for an option of a source that is not built in; -ENOMEM. */
int options_set(struct options *o, const char *key, const char *value, struct error *err);

/* Reads "key = value" lines ('#' begins a comment line). A missing file is -ENOENT. Errors name path and line. */
int options_read_file(struct options *o, const char *path, struct error *err);
/* Every FINEWEB_<OPTION> of the environment (upper case); an unknown one with this prefix is -EINVAL. */
int options_read_environment(struct options *o, char **environ_, struct error *err);

/* Checks what depends on more than one option (stride=piece with start or torch, epoch + epochs, ...). */
int options_check(const struct options *o, struct error *err);

/* The definitions, for --help, the manual's test and dataset.json. */
struct option_definition {
	const char *name;     /* as it is written */
	const char *values;   /* "none|block|full|torch", "tokens", "1 ... 2^20" */
	const char *standard; /* default as text */
	const char *help;     /* one line */
	bool listed_in_json;  /* stands in dataset.json */
	char json;            /* how: 's' string, 'n' number, 'b' bool, 'a' list of strings */
};
extern const struct option_definition option_definitions[];
extern const size_t option_count;
/* Value of an option as text ("block", "1024"); buf is used for numbers. NULL when it is not set. For source use o->source. */
const char *options_text(const struct options *o, const char *name, char *buf, size_t n);

#endif
