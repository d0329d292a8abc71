#include "dataset/options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/nearest.h"
#include "dataset/quantity.h"

enum kind { SOURCE, TEXT, HEX, FLAG, WORD, NUMBER, BITS, SECONDS, TOKENS, SIZE, ID };

static const char *const counts_words[] = { "auto", "column", "exact", NULL };
static const char *const shuffle_words[] = { "block", "none", "full", "torch", NULL };
static const char *const stride_words[] = { "sequence", "piece", NULL };
static const char *const tail_words[] = { "drop", "pad", NULL };
static const char *const on_error_words[] = { "fail", "skip", NULL };
static const char *const shards_words[] = { "raw", "llmc", "npy", "nanogpt", NULL };
static const char *const list_words[] = { "auto", "all", "counted", NULL };

#define MEMBER(name) .offset = offsetof(struct options, name), .size = sizeof(((struct options *)NULL)->name)
#define RULE(member, ...) { MEMBER(member), .kind = __VA_ARGS__ }
#define RANGE(low, high) .min = low, .max = high
#define POWER(n) (UINT64_C(1) << (n))

const struct option_definition option_definitions[] = {
	{ "source", "path, glob, URL or list", "the bundled sample",
	  "file, folder, glob, .txt list, http(s)://, hf://, s3://; may be repeated", true, 'a',
	  { .kind = SOURCE } },
	{ "name", "text", "none", "the dataset's configuration, as sample-100BT", true, 's', RULE(name, TEXT) },
	{ "split", "text", "train", "files of this split, where names tell splits apart", true, 's',
	  RULE(split, TEXT, .preset = true) },
	{ "column", "text", "none", "column of the text; else text, raw_content or content", true, 's',
	  RULE(column, TEXT) },
	{ "endpoint", "URL", "none", "address of an S3 store", true, 's', RULE(endpoint, TEXT) },
	{ "repin", "true|false", "false", "pin the source anew", true, 'b', RULE(repin, FLAG) },
	{ "fingerprint", "8 to 64 hex digits", "none", "fail if the dataset would differ from this one", false, 's',
	  RULE(fingerprint, HEX, RANGE(8, 64)) },
	{ "index", "file", "none", "counts that `fineweb index --export` wrote on another node", true, 's',
	  RULE(index, TEXT) },
	{ "tokenizer", "gpt2|cl100k|o200k|file", "gpt2",
	  "tokenizer, a .tiktoken file or a byte-level tokenizer.json", true, 's',
	  RULE(tokenizer, TEXT, .preset = true) },
	{ "pattern", "text", "none", "named pattern that splits text for a .tiktoken file", true, 's',
	  RULE(pattern, TEXT) },
	{ "bos", "id|none|auto", "auto", "id before each document; auto is the tokenizer's own", true, 'n',
	  RULE(bos, ID, .may_be_auto = true, RANGE(0, UINT32_MAX)) },
	{ "eos", "id|none|auto", "auto", "id after each document; auto is the tokenizer's own", true, 'n',
	  RULE(eos, ID, .may_be_auto = true, RANGE(0, UINT32_MAX)) },
	{ "counts", "column|exact|auto", "auto", "count tokens by the column token_count or by tokenising", true,
	  's', RULE(counts, WORD, .words = counts_words) },
	{ "seq_len", "1 ... 2^20", "1024", "tokens of a sequence, T; a row has T+1", true, 'n',
	  RULE(seq_len, NUMBER, RANGE(1, POWER(20))) },
	{ "batch_size", "1 ... 2^20", "32", "sequences of a batch file, B", true, 'n',
	  RULE(batch_size, NUMBER, RANGE(1, POWER(20))) },
	{ "world_size", "1 ... 65536", "1", "ranks, W", true, 'n', RULE(world_size, NUMBER, RANGE(1, 65536)) },
	{ "seed", "64 bits, decimal or 0x", "0", "seed of the order", true, 'n',
	  RULE(seed, BITS, RANGE(0, UINT64_MAX)) },
	{ "epoch", "0 ... 4095", "0", "epoch of the folders rank_N", true, 'n',
	  RULE(epoch, NUMBER, RANGE(0, 4095)) },
	{ "epochs", "1 ... 4096", "1", "folders epoch_E that are listed", true, 'n',
	  RULE(epochs, NUMBER, RANGE(1, 4096)) },
	{ "shuffle", "block|none|full|torch", "block", "which sequence stands where", true, 's',
	  RULE(shuffle, WORD, .words = shuffle_words) },
	{ "stride", "sequence|piece", "sequence", "what is dealt to the ranks in turn", true, 's',
	  RULE(stride, WORD, .words = stride_words) },
	{ "tail", "drop|pad", "drop", "what becomes of the last rows that fill no batch", true, 's',
	  RULE(tail, WORD, .words = tail_words) },
	{ "on_error", "fail|skip", "fail", "what becomes of a batch that needs a damaged piece", true, 's',
	  RULE(on_error, WORD, .words = on_error_words) },
	{ "block", "tokens, 1 ... 2^40", "268435456", "tokens that are shuffled together", true, 'n',
	  RULE(block, TOKENS, RANGE(1, POWER(40))) },
	{ "mix_files", "1 ... 2^20", "32", "files whose pieces are shuffled together", true, 'n',
	  RULE(mix_files, NUMBER, RANGE(1, POWER(20))) },
	{ "start", "sequences", "0", "sequences of the epoch that are consumed already", true, 'n',
	  RULE(start, NUMBER, RANGE(0, INT64_MAX)) },
	{ "max_tokens", "tokens", "0", "tokens of the order that are kept; 0 keeps all", true, 'n',
	  RULE(max_tokens, TOKENS, RANGE(0, INT64_MAX)) },
	{ "val_tokens", "tokens", "0", "tokens that are held out for val/", true, 'n',
	  RULE(val_tokens, TOKENS, RANGE(0, INT64_MAX)) },
	{ "shards", "raw|llmc|npy|nanogpt", "raw", "form of the files in shards/", true, 's',
	  RULE(shards, WORD, .words = shards_words) },
	{ "shard_tokens", "tokens, 1 ... 2^40", "100000000", "tokens of a file in shards/", true, 'n',
	  RULE(shard_tokens, TOKENS, RANGE(1, POWER(40))) },
	{ "list", "all|counted|auto", "auto", "whether a listing waits until all is counted", true, 's',
	  RULE(list, WORD, .words = list_words) },
	{ "cache", "folder", "/var/cache/fineweb or $XDG_CACHE_HOME/fineweb", "folder of tokenised pieces", true,
	  's', RULE(cache, TEXT) },
	{ "cache_size", "size|auto", "auto", "bytes of the cache; auto is min(50G, half of what is free)", true, 'n',
	  RULE(cache_size, SIZE, .may_be_auto = true, RANGE(1, POWER(62))) },
	{ "memory", "size", "1G", "bytes of all buffers together", true, 'n',
	  RULE(memory, SIZE, RANGE(1, POWER(62))) },
	{ "threads", "1 ... 1024|auto", "auto", "threads that tokenise; auto is max(2, CPUs/4)", true, 'n',
	  RULE(threads, NUMBER, .may_be_auto = true, RANGE(1, 1024)) },
	{ "retry", "seconds, 0 ... 86400", "300", "time after which a failing read is given up", true, 'n',
	  RULE(retry, SECONDS, RANGE(0, 86400)) },
	{ "ready_timeout", "seconds, 1 ... 86400", "60", "time within which a mount is ready or fails", true, 'n',
	  RULE(ready_timeout, SECONDS, RANGE(1, 86400)) },
	{ "config", "file", "/etc/fineweb.conf", "file of options", true, 's', RULE(config, TEXT) },
};
const size_t option_count = sizeof option_definitions / sizeof option_definitions[0];

static const struct option_definition *find(const char *name)
{
	for (size_t i = 0; i < option_count; i++)
		if (strcmp(option_definitions[i].name, name) == 0)
			return &option_definitions[i];
	return NULL;
}

static const char *nearest(const char *name)
{
	const char *found = NULL;
	size_t least = SIZE_MAX;
	for (size_t i = 0; i < option_count; i++)
		if (nearest_is(name, option_definitions[i].name, &least))
			found = option_definitions[i].name;
	return found;
}

static void *member(struct options *o, const struct option_rule *rule)
{
	return (char *)o + rule->offset;
}

static void store(struct options *o, const struct option_rule *rule, uint64_t v)
{
	uint32_t narrow = (uint32_t)v;
	if (rule->size == sizeof narrow)
		memcpy(member(o, rule), &narrow, sizeof narrow);
	else
		memcpy(member(o, rule), &v, sizeof v);
}

static uint64_t load(const struct options *o, const struct option_rule *rule)
{
	uint32_t narrow;
	uint64_t wide;
	const char *at = (const char *)o + rule->offset;
	if (rule->size == sizeof narrow) {
		memcpy(&narrow, at, sizeof narrow);
		return narrow;
	}
	memcpy(&wide, at, sizeof wide);
	return wide;
}

static int set_text(struct options *o, const struct option_definition *d, const char *value,
		    struct error *err)
{
	if (value[0] == '\0' || strlen(value) > OPTIONS_VALUE)
		return fail(err, EINVAL, "%s=%.80s: expected a text of 1 to %d bytes", d->name, value, OPTIONS_VALUE);
	char *copy = strdup(value);
	if (copy == NULL)
		return fail(err, ENOMEM, "%s: out of memory", d->name);
	if (d->rule.kind == SOURCE) {
		if (o->sources >= OPTIONS_SOURCES) {
			free(copy);
			return fail(err, EINVAL, "source=%.200s: more than %d sources", value, OPTIONS_SOURCES);
		}
		char **more = realloc(o->source, (o->sources + 1) * sizeof *more);
		if (more == NULL) {
			free(copy);
			return fail(err, ENOMEM, "source: out of memory");
		}
		o->source = more;
		o->source[o->sources++] = copy;
		return 0;
	}
	char **at = member(o, &d->rule);
	free(*at);
	*at = copy;
	return 0;
}

static int set_hex(struct options *o, const struct option_definition *d, const char *value,
		   struct error *err)
{
	size_t n = strlen(value);
	if (n < d->rule.min || n > d->rule.max || strspn(value, "0123456789abcdefABCDEF") != n)
		return fail(err, EINVAL, "%s=%.200s: expected %s", d->name, value, d->values);
	char *out = member(o, &d->rule);
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(value[i] >= 'A' && value[i] <= 'F' ? value[i] - 'A' + 'a' : value[i]);
	out[n] = '\0';
	return 0;
}

static int set_word(struct options *o, const struct option_definition *d, const char *value,
		    struct error *err)
{
	for (unsigned i = 0; d->rule.words[i] != NULL; i++)
		if (strcmp(d->rule.words[i], value) == 0) {
			store(o, &d->rule, i);
			return 0;
		}
	return fail(err, EINVAL, "%s=%.200s: expected one of %s", d->name, value, d->values);
}

/* What a number must be, for the message. */
static int fail_number(const struct option_definition *d, const char *value, struct error *err)
{
	const struct option_rule *rule = &d->rule;
	const char *automatic = rule->may_be_auto ? ", or auto" : "";
	switch (rule->kind) {
	case BITS:
		return fail(err, EINVAL, "%s=%.200s: expected a number of 64 bits, decimal or with 0x", d->name, value);
	case SECONDS:
		return fail(err, EINVAL, "%s=%.200s: expected seconds from %" PRIu64 " to %" PRIu64, d->name, value,
			    rule->min, rule->max);
	case TOKENS:
		return fail(err, EINVAL, "%s=%.200s: expected tokens from %" PRIu64 " to %" PRIu64
			    ", as 250000, 100M, 1.5B or 38e9", d->name, value, rule->min, rule->max);
	case SIZE:
		return fail(err, EINVAL, "%s=%.200s: expected a size in bytes, as 512M or 20G%s", d->name, value,
			    automatic);
	case ID:
		return fail(err, EINVAL, "%s=%.200s: expected a token id from %" PRIu64 " to %" PRIu64
			    ", none or auto", d->name, value, rule->min, rule->max);
	default:
		return fail(err, EINVAL, "%s=%.200s: expected a number from %" PRIu64 " to %" PRIu64 "%s", d->name,
			    value, rule->min, rule->max, automatic);
	}
}

static int set_number(struct options *o, const struct option_definition *d, const char *value,
		      struct error *err)
{
	const struct option_rule *rule = &d->rule;
	uint64_t v;
	bool good;
	if (rule->may_be_auto && strcmp(value, "auto") == 0) {
		store(o, rule, rule->kind == ID ? (uint64_t)ID_AUTO : 0);
		return 0;
	}
	if (rule->kind == ID && strcmp(value, "none") == 0) {
		store(o, rule, (uint64_t)ID_NONE);
		return 0;
	}
	if (rule->kind == BITS)
		good = quantity_bits(value, &v);
	else if (rule->kind == TOKENS)
		good = quantity_tokens(value, &v);
	else if (rule->kind == SIZE)
		good = quantity_size(value, &v);
	else
		good = quantity_number(value, &v);
	if (!good || v < rule->min || v > rule->max)
		return fail_number(d, value, err);
	store(o, rule, v);
	return 0;
}

static int set_flag(struct options *o, const struct option_definition *d, const char *value,
		    struct error *err)
{
	bool v = value == NULL || strcmp(value, "true") == 0;
	if (!v && strcmp(value, "false") != 0)
		return fail(err, EINVAL, "%s=%.200s: expected true or false", d->name, value);
	*(bool *)member(o, &d->rule) = v;
	return 0;
}

int options_set(struct options *o, const char *key, const char *value, struct error *err)
{
	const struct option_definition *d = find(key);
	if (d == NULL) {
		const char *near = nearest(key);
		if (near == NULL)
			return fail(err, EINVAL, "unknown option '%.200s'", key);
		return fail(err, EINVAL, "unknown option '%s': did you mean '%s'?", key, near);
	}
	if (d->rule.kind == FLAG)
		return set_flag(o, d, value, err);
	if (value == NULL)
		return fail(err, EINVAL, "%s: expected %s=VALUE (%s)", key, key, d->values);
	switch (d->rule.kind) {
	case SOURCE:
	case TEXT:
		return set_text(o, d, value, err);
	case HEX:
		return set_hex(o, d, value, err);
	case WORD:
		return set_word(o, d, value, err);
	default:
		return set_number(o, d, value, err);
	}
}

void options_init(struct options *o)
{
	memset(o, 0, sizeof *o);
	for (size_t i = 0; i < option_count; i++) {
		const struct option_definition *d = &option_definitions[i];
		unsigned kind = d->rule.kind;
		if (d->rule.preset || (kind != SOURCE && kind != TEXT && kind != HEX))
			options_set(o, d->name, d->standard, NULL);
	}
}

void options_clear_sources(struct options *o)
{
	for (size_t i = 0; i < o->sources; i++)
		free(o->source[i]);
	free(o->source);
	o->source = NULL;
	o->sources = 0;
}

void options_free(struct options *o)
{
	if (o == NULL)
		return;
	options_clear_sources(o);
	for (size_t i = 0; i < option_count; i++) {
		const struct option_rule *rule = &option_definitions[i].rule;
		if (rule->kind == TEXT)
			free(*(char **)member(o, rule));
	}
	memset(o, 0, sizeof *o);
}

int options_check(const struct options *o, struct error *err)
{
	if (o->tokenizer == NULL || o->split == NULL)
		return fail(err, ENOMEM, "options: out of memory");
	if (o->stride == STRIDE_PIECE && o->shuffle == SHUFFLE_TORCH)
		return fail(err, EINVAL, "stride=piece does not go with shuffle=torch: expected stride=sequence");
	if (o->stride == STRIDE_PIECE && o->start > 0)
		return fail(err, EINVAL, "stride=piece does not go with start=%" PRIu64 ": expected stride=sequence",
			    o->start);
	/* A token takes at most 4 bytes; the factors are at most 2^20 and 2^20 + 1. */
	uint64_t bytes = (uint64_t)o->batch_size * ((uint64_t)o->seq_len + 1) * 4;
	if (bytes >= POWER(40))
		return fail(err, EINVAL, "batch_size=%" PRIu32 ", seq_len=%" PRIu32 ": expected fewer than 2^38 tokens",
			    o->batch_size, o->seq_len);
	if (o->shards == SHARDS_LLMC && o->shard_tokens >= POWER(31))
		return fail(err, EINVAL, "shard_tokens=%" PRIu64 " with shards=llmc: expected less than 2^31 tokens",
			    o->shard_tokens);
	return 0;
}

const char *options_text(const struct options *o, const char *name, char *buf, size_t n)
{
	const struct option_definition *d = find(name);
	if (d == NULL || d->rule.kind == SOURCE)
		return NULL;
	const struct option_rule *rule = &d->rule;
	const char *at = (const char *)o + rule->offset;
	switch (rule->kind) {
	case TEXT:
		return *(char *const *)(const void *)at;
	case HEX:
		return at[0] == '\0' ? NULL : at;
	case FLAG:
		return *(const bool *)at ? "true" : "false";
	case WORD:
		at = rule->words[load(o, rule)];
		return strcmp(at, "auto") == 0 ? NULL : at;
	default:
		break;
	}
	uint64_t v = load(o, rule);
	if (rule->may_be_auto && v == (rule->kind == ID ? (uint64_t)ID_AUTO : 0))
		return NULL;
	if (rule->kind == ID && v == (uint64_t)ID_NONE)
		return "none";
	snprintf(buf, n, "%" PRIu64, v);
	return buf;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* s without the blanks around it, as a string in place: `to` has room for it and a NUL. */
static void trim(struct span s, char *to)
{
	while (s.n > 0 && is_blank(s.at[0]))
		span_skip(&s, 1);
	while (s.n > 0 && is_blank(s.at[s.n - 1]))
		s.n--;
	if (s.n > 0)
		memcpy(to, s.at, s.n);
	to[s.n] = '\0';
}

static int parse_line(struct options *o, struct span line, char *key, char *value, struct error *err)
{
	struct span left = { 0 };
	if (line.n >= OPTIONS_LINE)
		return fail(err, EINVAL, "expected a line of less than %d bytes", OPTIONS_LINE);
	if (line.n > 0 && memchr(line.at, '\0', line.n) != NULL)
		return fail(err, EINVAL, "expected text, found a zero byte");
	trim(line, key);
	if (key[0] == '\0' || key[0] == '#')
		return 0;
	const uint8_t *equals = memchr(line.at, '=', line.n);
	if (equals == NULL)
		return fail(err, EINVAL, "expected key = value, found '%.80s'", key);
	span_take(&line, (size_t)(equals - line.at), &left);
	span_skip(&line, 1);
	trim(left, key);
	trim(line, value);
	if (strcmp(key, "config") == 0)
		return fail(err, EINVAL, "config=%.200s: a file can not name another one", value);
	return options_set(o, key, value, err);
}

int options_parse_lines(struct options *o, struct span lines, const char *name, struct error *err)
{
	int r = 0;
	char *key = malloc(OPTIONS_LINE), *value = malloc(OPTIONS_LINE);
	if (key == NULL || value == NULL) {
		r = fail(err, ENOMEM, "%s: out of memory", name);
		goto out;
	}
	if (lines.n >= 3 && memcmp(lines.at, "\xef\xbb\xbf", 3) == 0)
		span_skip(&lines, 3);
	for (unsigned number = 1; lines.n > 0; number++) {
		struct span line = { 0 };
		const uint8_t *end = memchr(lines.at, '\n', lines.n);
		span_take(&lines, end == NULL ? lines.n : (size_t)(end - lines.at), &line);
		span_skip(&lines, 1);
		r = parse_line(o, line, key, value, err);
		if (r != 0) {
			r = err == NULL ? r : fail_in(err, "%s:%u", name, number);
			break;
		}
	}
out:
	free(key);
	free(value);
	return r;
}

int options_read_file(struct options *o, const char *path, struct error *err)
{
	struct buffer b = { 0 };
	int r = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fail(err, errno, "%s: %s", path, strerror(errno));
	for (;;) {
		r = buffer_reserve(&b, 4096, OPTIONS_FILE, err);
		if (r == -ENOTSUP)
			r = fail(err, EINVAL, "%s: expected a file of at most %d bytes", path, OPTIONS_FILE);
		if (r != 0)
			goto out;
		ssize_t got = read(fd, b.at + b.n, 4096);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			r = fail(err, errno, "%s: %s", path, strerror(errno));
			goto out;
		}
		if (got == 0)
			break;
		b.n += (size_t)got;
	}
	r = options_parse_lines(o, span_of(b.at, b.n), path, err);
out:
	close(fd);
	buffer_free(&b);
	return r;
}

static const char prefix[] = "FINEWEB_";
#define PREFIX (sizeof prefix - 1)

/* Sets the option of one variable "FINEWEB_SEQ_LEN=1024". */
static int read_variable(struct options *o, const char *variable, struct error *err)
{
	char key[NEAREST_LENGTH + 2];
	const char *equals = strchr(variable, '=');
	size_t n = equals == NULL ? strlen(variable) : (size_t)(equals - variable);
	size_t i = 0;
	for (; i < n - PREFIX && i < sizeof key - 1; i++) {
		char c = variable[PREFIX + i];
		/* Names have no upper case, so that one in lower case must not become one that is known. */
		key[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
	}
	key[i] = '\0';
	if (find(key) == NULL) {
		const char *near = nearest(key);
		char upper[NEAREST_LENGTH + 1] = "";
		for (i = 0; near != NULL && near[i] != '\0'; i++)
			upper[i] = (char)(near[i] >= 'a' && near[i] <= 'z' ? near[i] - 'a' + 'A' : near[i]);
		if (near == NULL)
			return fail(err, EINVAL, "unknown environment variable '%.*s'", (int)(n > 200 ? 200 : n), variable);
		return fail(err, EINVAL, "unknown environment variable '%.*s': did you mean '%s%s'?", (int)n, variable,
			    prefix, upper);
	}
	if (equals == NULL)
		return fail(err, EINVAL, "%s: expected %s=VALUE", variable, variable);
	if (strcmp(key, "source") == 0)
		options_clear_sources(o);
	int r = options_set(o, key, equals + 1, err);
	return r == 0 || err == NULL ? r : fail_in(err, "environment");
}

int options_read_environment(struct options *o, char **environ_, struct error *err)
{
	for (; environ_ != NULL && *environ_ != NULL; environ_++) {
		if (strncmp(*environ_, prefix, PREFIX) != 0 || strncmp(*environ_, "FINEWEB_SHARED=", 15) == 0 ||
		    strncmp(*environ_, "FINEWEB_TEST_", 13) == 0)
			continue;
		int r = read_variable(o, *environ_, err);
		if (r != 0)
			return r;
	}
	return 0;
}
