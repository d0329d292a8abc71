/* options: every option of a mount, with its one definition.
 *
 * Sizes: K M G T are 1024^n. Token counts: K M B T are 10^3n, also 38e9. Plain data; not shared
 * while it changes.
 */
#ifndef FW_DATASET_OPTIONS_H
#define FW_DATASET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
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
	/* malloc'ed or NULL; tokenizer "gpt2", split "train" */
	char *name, *split, *column, *endpoint, *index, *tokenizer, *pattern, *cache, *config;
	char fingerprint[65]; /* lower-case hex, the first 8 digits or more; "" for none */
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

#define OPTIONS_SOURCES 65536 /* sources at most */
#define OPTIONS_VALUE 65535   /* bytes of a value at most */
#define OPTIONS_LINE 65536    /* bytes of a line of a file at most */
#define OPTIONS_FILE (1 << 20) /* bytes of a file at most */

/* Sets one option from text. `source` adds one, any other takes the place of what was set before.
 * value may be NULL for a flag (repin): true. 0; -EINVAL: not known (the text names the nearest
 * name), or the value is not of its kind or out of range (the text says name, value, what is
 * expected); -ENOMEM. After an error *o is as it was. */
int options_set(struct options *o, const char *key, const char *value, struct error *err);
/* Forgets all sources: the first `source` of the command line takes the place of what file and
 * environment said. */
void options_clear_sources(struct options *o);

/* Reads "key = value" lines ('#' begins a comment line; UTF-8, a BOM is dropped; blanks around key
 * and value are dropped). A missing file is -ENOENT, a wrong line -EINVAL; -EACCES, -EIO, -ENOMEM.
 * Errors name path and line ("path:3: ..."). `config` can not be set in a file. */
int options_read_file(struct options *o, const char *path, struct error *err);
/* The same of lines in memory; name stands for the path. */
int options_parse_lines(struct options *o, struct span lines, const char *name, struct error *err);
/* Every FINEWEB_<OPTION> of the environment (upper case); an unknown one with this prefix is
 * -EINVAL. FINEWEB_SOURCE takes the place of the sources so far. FINEWEB_SHARED and FINEWEB_TEST_*
 * belong to the tests and are ignored. */
int options_read_environment(struct options *o, char **environ_, struct error *err);

/* Checks what depends on more than one option: stride=piece with start or shuffle=torch, a batch
 * of 2^40 bytes and more, shards=llmc with 2^31 tokens and more. 0, -EINVAL with both names in the
 * text; -ENOMEM when options_init had no memory for a default. */
int options_check(const struct options *o, struct error *err);

/* The definitions, for --help, the manual's test and dataset.json. */
struct option_definition {
	const char *name;     /* as it is written */
	const char *values;   /* "none|block|full|torch", "tokens", "1 ... 2^20" */
	const char *standard; /* default as text; "none": there is none */
	const char *help;     /* one line */
	bool listed_in_json;  /* stands in dataset.json */
	char json;            /* 's' string, 'n' number (null for "none"), 'b' bool, 'a' list of strings */
	struct option_rule {  /* private to options.c */
		unsigned char kind;
		bool may_be_auto;      /* "auto" may be written */
		bool preset;           /* a text whose default is its value from the start */
		unsigned short offset; /* of the member in struct options */
		unsigned short size;
		uint64_t min, max;
		const char *const *words; /* of an enum, by value */
	} rule;
};
extern const struct option_definition option_definitions[];
extern const size_t option_count;
/* Value of an option as text ("block", "1024", "true"); buf is used for numbers (n of 24 is
 * enough). NULL when it is not set, automatic or not known. Numbers are decimal without a unit.
 * Valid until the option changes. For source use o->source. */
const char *options_text(const struct options *o, const char *name, char *buf, size_t n);

#endif
