#include "dataset/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataset/quantity.h"
#include "unit/unit.h"

/* True when setting key to value gives `text` back (NULL: not set), or, for an `=` at the start of
 * text, fails with -EINVAL and a text that is the rest. */
static bool set_gives(const char *key, const char *value, const char *text)
{
	struct options o;
	struct error err = { 0 };
	char buf[32];
	options_init(&o);
	int r = options_set(&o, key, value, &err);
	const char *got = r == 0 ? options_text(&o, key, buf, sizeof buf) : err.text;
	bool same = got == NULL ? text == NULL :
		    text != NULL && r == (text[0] == '=' ? -EINVAL : 0) && strcmp(got, text + (text[0] == '=')) == 0;
	if (!same)
		printf("# %s=%s: %d %s\n", key, value == NULL ? "(null)" : value, r, got == NULL ? "(null)" : got);
	options_free(&o);
	return same;
}

/* True when the value is refused and the text is "key=value: expected ...". */
static bool refused(const char *key, const char *value)
{
	struct options o;
	struct error err = { 0 };
	char begin[256], before[32], after[32];
	options_init(&o);
	const char *old = options_text(&o, key, before, sizeof before);
	int r = options_set(&o, key, value, &err);
	const char *new = options_text(&o, key, after, sizeof after);
	snprintf(begin, sizeof begin, "%s=%s: expected ", key, value);
	bool good = r == -EINVAL && err.code == EINVAL && strncmp(err.text, begin, strlen(begin)) == 0;
	good = good && (old == NULL ? new == NULL : new != NULL && strcmp(old, new) == 0);
	if (!good)
		printf("# %s=%s: %d %s\n", key, value, r, err.text);
	options_free(&o);
	return good;
}

static void defaults(void)
{
	/* The table of the manual. */
	static const char *const expected[][2] = {
		{ "name", NULL }, { "split", "train" }, { "column", NULL }, { "endpoint", NULL },
		{ "repin", "false" }, { "fingerprint", NULL }, { "index", NULL }, { "tokenizer", "gpt2" },
		{ "pattern", NULL }, { "bos", NULL }, { "eos", NULL }, { "counts", NULL }, { "seq_len", "1024" },
		{ "batch_size", "32" }, { "world_size", "1" }, { "seed", "0" }, { "epoch", "0" }, { "epochs", "1" },
		{ "shuffle", "block" }, { "stride", "sequence" }, { "tail", "drop" }, { "on_error", "fail" },
		{ "block", "268435456" }, { "mix_files", "32" }, { "start", "0" }, { "max_tokens", "0" },
		{ "val_tokens", "0" }, { "shards", "raw" }, { "shard_tokens", "100000000" }, { "list", NULL },
		{ "cache", NULL }, { "cache_size", NULL }, { "memory", "1073741824" }, { "threads", NULL },
		{ "retry", "300" }, { "ready_timeout", "60" }, { "config", NULL },
	};
	struct options o;
	char buf[32];
	options_init(&o);
	CU_ASSERT_EQUAL(option_count, sizeof expected / sizeof expected[0] + 1);
	for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
		const char *text = options_text(&o, expected[i][0], buf, sizeof buf);
		CU_ASSERT((text == NULL) == (expected[i][1] == NULL));
		if (text != NULL && expected[i][1] != NULL)
			CU_ASSERT_STRING_EQUAL(text, expected[i][1]);
	}
	CU_ASSERT_EQUAL(o.sources, 0);
	CU_ASSERT_EQUAL(o.bos, ID_AUTO);
	CU_ASSERT_EQUAL(o.counts, COUNTS_AUTO);
	CU_ASSERT_EQUAL(o.list, LIST_AUTO);
	CU_ASSERT_EQUAL(o.shuffle, SHUFFLE_BLOCK);
	CU_ASSERT_EQUAL(o.memory, UINT64_C(1) << 30);
	CU_ASSERT_EQUAL(options_check(&o, NULL), 0);
	options_free(&o);
}

static void definitions(void)
{
	struct options o;
	options_init(&o);
	for (size_t i = 0; i < option_count; i++) {
		const struct option_definition *d = &option_definitions[i];
		CU_ASSERT(d->name[0] != '\0' && d->values[0] != '\0' && d->standard[0] != '\0');
		CU_ASSERT(d->help[0] != '\0' && strchr(d->help, '\n') == NULL);
		CU_ASSERT_PTR_NOT_NULL(strchr("snba", d->json));
		/* Every name has a member of its own kind: a text that it takes is not an unknown option. */
		struct error err = { 0 };
		options_set(&o, d->name, "?", &err);
		CU_ASSERT(strncmp(err.text, "unknown", 7) != 0);
	}
	options_free(&o);
}

static void bounds(void)
{
	static const struct {
		const char *key, *low, *high, *below, *above;
	} rows[] = {
		{ "seq_len", "1", "1048576", "0", "1048577" },
		{ "batch_size", "1", "1048576", "0", "1048577" },
		{ "world_size", "1", "65536", "0", "65537" },
		{ "epoch", "0", "4095", "-1", "4096" },
		{ "epochs", "1", "4096", "0", "4097" },
		{ "block", "1", "1099511627776", "0", "1099511627777" },
		{ "mix_files", "1", "1048576", "0", "1048577" },
		{ "shard_tokens", "1", "1099511627776", "0", "1099511627777" },
		{ "threads", "1", "1024", "0", "1025" },
		{ "retry", "0", "86400", "-1", "86401" },
		{ "ready_timeout", "1", "86400", "0", "86401" },
		{ "seed", "0", "18446744073709551615", "-1", "18446744073709551616" },
		{ "start", "0", "9223372036854775807", "-1", "9223372036854775808" },
		{ "bos", "0", "4294967295", "-1", "4294967296" },
		{ "eos", "0", "4294967295", "-2", "4294967296" },
		{ "cache_size", "1", "4611686018427387904", "0", "4611686018427387905" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		CU_ASSERT(set_gives(rows[i].key, rows[i].low, rows[i].low));
		CU_ASSERT(set_gives(rows[i].key, rows[i].high, rows[i].high));
		CU_ASSERT(refused(rows[i].key, rows[i].below));
		CU_ASSERT(refused(rows[i].key, rows[i].above));
		CU_ASSERT(refused(rows[i].key, ""));
		CU_ASSERT(refused(rows[i].key, "1 "));
		CU_ASSERT(refused(rows[i].key, "x"));
	}
}

static void values(void)
{
	CU_ASSERT(set_gives("seed", "0xdeadBEEF00000001", "16045690981097406465"));
	CU_ASSERT(refused("seed", "0x"));
	CU_ASSERT(refused("seed", "0x10000000000000000"));
	CU_ASSERT(refused("seq_len", "0x10"));
	CU_ASSERT(refused("seq_len", "1K"));
	CU_ASSERT(set_gives("block", "38e9", "38000000000"));
	CU_ASSERT(set_gives("max_tokens", "1.5B", "1500000000"));
	CU_ASSERT(set_gives("val_tokens", "10m", "10000000"));
	CU_ASSERT(refused("block", "0.1"));
	CU_ASSERT(refused("block", "1G"));
	CU_ASSERT(set_gives("memory", "1.5G", "1610612736"));
	CU_ASSERT(set_gives("cache_size", "50g", "53687091200"));
	CU_ASSERT(set_gives("cache_size", "auto", NULL));
	CU_ASSERT(refused("memory", "auto"));
	CU_ASSERT(refused("memory", "1B"));
	CU_ASSERT(refused("memory", "1GB"));
	CU_ASSERT(set_gives("threads", "auto", NULL));
	CU_ASSERT(set_gives("bos", "none", "none"));
	CU_ASSERT(set_gives("eos", "auto", NULL));
	CU_ASSERT(set_gives("counts", "column", "column"));
	CU_ASSERT(set_gives("list", "auto", NULL));
	CU_ASSERT(set_gives("shuffle", "torch", "torch"));
	CU_ASSERT(refused("shuffle", "Torch"));
	CU_ASSERT(set_gives("repin", NULL, "true"));
	CU_ASSERT(set_gives("repin", "true", "true"));
	CU_ASSERT(set_gives("repin", "false", "false"));
	CU_ASSERT(refused("repin", "1"));
	CU_ASSERT(set_gives("fingerprint", "0123ABCD", "0123abcd"));
	CU_ASSERT(refused("fingerprint", "0123abc"));
	CU_ASSERT(refused("fingerprint", "0123abcg"));
	CU_ASSERT(set_gives("column", "my text", "my text"));
	CU_ASSERT(refused("column", ""));
}

static void messages(void)
{
	CU_ASSERT(set_gives("seqlen", "1", "=unknown option 'seqlen': did you mean 'seq_len'?"));
	CU_ASSERT(set_gives("shufle", "1", "=unknown option 'shufle': did you mean 'shuffle'?"));
	CU_ASSERT(set_gives("wordl_size", "1", "=unknown option 'wordl_size': did you mean 'world_size'?"));
	CU_ASSERT(set_gives("xyzzy", "1", "=unknown option 'xyzzy'"));
	CU_ASSERT(set_gives("", "1", "=unknown option ''"));
	CU_ASSERT(set_gives("seq_len_that_is_much_longer_than_any_name", "1",
			    "=unknown option 'seq_len_that_is_much_longer_than_any_name'"));
	CU_ASSERT(set_gives("seq_len", "0", "=seq_len=0: expected a number from 1 to 1048576"));
	CU_ASSERT(set_gives("seq_len", NULL, "=seq_len: expected seq_len=VALUE (1 ... 2^20)"));
	CU_ASSERT(set_gives("tail", "cut", "=tail=cut: expected one of drop|pad"));
}

static void sources(void)
{
	struct options o;
	char *environment[] = { (char *)"FINEWEB_SOURCE=c", NULL };
	options_init(&o);
	CU_ASSERT_EQUAL(options_set(&o, "source", "a", NULL), 0);
	CU_ASSERT_EQUAL(options_set(&o, "source", "hf://datasets/x/y", NULL), 0);
	CU_ASSERT_EQUAL_FATAL(o.sources, 2);
	CU_ASSERT_STRING_EQUAL(o.source[0], "a");
	CU_ASSERT_STRING_EQUAL(o.source[1], "hf://datasets/x/y");
	CU_ASSERT_EQUAL(options_read_environment(&o, environment, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(o.sources, 1);
	CU_ASSERT_STRING_EQUAL(o.source[0], "c");
	options_clear_sources(&o);
	CU_ASSERT_EQUAL(o.sources, 0);
	CU_ASSERT_EQUAL(options_set(&o, "source", "", NULL), -EINVAL);
	for (int i = 0; i < OPTIONS_SOURCES; i++)
		if (options_set(&o, "source", "s", NULL) != 0)
			break;
	CU_ASSERT_EQUAL(o.sources, OPTIONS_SOURCES);
	CU_ASSERT_EQUAL(options_set(&o, "source", "s", NULL), -EINVAL);
	options_free(&o);
}

/* Reads lines; -EINVAL must say `text`. */
static bool lines_fail(const char *lines, const char *text)
{
	struct options o;
	struct error err = { 0 };
	options_init(&o);
	int r = options_parse_lines(&o, span_text(lines), "f.conf", &err);
	bool same = r == -EINVAL && strcmp(err.text, text) == 0;
	if (!same)
		printf("# %s: %d %s\n", lines, r, err.text);
	options_free(&o);
	return same;
}

static void lines(void)
{
	struct options o;
	struct error err = { 0 };
	static const char good[] = "\xef\xbb\xbf# comment\n\n   # another\n\tseq_len =  2048 \t\r\nsource=/a b\n"
				   "source = http://h/x?y=z#w\nseed=1\nseed = 2\nrepin = true\ncolumn = a = b";
	options_init(&o);
	CU_ASSERT_EQUAL(options_parse_lines(&o, span_text(good), "f", &err), 0);
	CU_ASSERT_EQUAL(o.seq_len, 2048);
	CU_ASSERT_EQUAL(o.seed, 2);
	CU_ASSERT(o.repin);
	CU_ASSERT_STRING_EQUAL(o.column, "a = b");
	CU_ASSERT_EQUAL_FATAL(o.sources, 2);
	CU_ASSERT_STRING_EQUAL(o.source[0], "/a b");
	CU_ASSERT_STRING_EQUAL(o.source[1], "http://h/x?y=z#w");
	CU_ASSERT_EQUAL(options_parse_lines(&o, span_of(NULL, 0), "f", &err), 0);
	options_free(&o);
	CU_ASSERT(lines_fail("seed=1\n\nseq_len = 0\n", "f.conf:3: seq_len=0: expected a number from 1 to 1048576"));
	CU_ASSERT(lines_fail("seqlen=1", "f.conf:1: unknown option 'seqlen': did you mean 'seq_len'?"));
	CU_ASSERT(lines_fail("seq_len 5\n", "f.conf:1: expected key = value, found 'seq_len 5'"));
	CU_ASSERT(lines_fail("config = x\n", "f.conf:1: config=x: a file can not name another one"));
	CU_ASSERT(lines_fail("= 5\n", "f.conf:1: unknown option ''"));
}

static void odd_lines(void)
{
	struct options o;
	struct error err = { 0 };
	char *line = malloc(OPTIONS_LINE + 1);
	options_init(&o);
	CU_ASSERT_EQUAL(options_parse_lines(&o, span_of("seed=1\0\n", 8), "f", &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "f:1: expected text, found a zero byte");
	memset(line, 'x', OPTIONS_LINE);
	memcpy(line, "name=", 5);
	CU_ASSERT_EQUAL(options_parse_lines(&o, span_of(line, OPTIONS_LINE - 1), "f", &err), 0);
	CU_ASSERT_EQUAL(strlen(o.name), OPTIONS_LINE - 6);
	CU_ASSERT_EQUAL(options_parse_lines(&o, span_of(line, OPTIONS_LINE), "f", &err), -EINVAL);
	options_free(&o);
	free(line);
}

static void a_file(void)
{
	char path[] = "/tmp/fineweb-options-XXXXXX", expected[128];
	struct options o;
	struct error err = { 0 };
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	/* Longer than one read. */
	for (int i = 0; i < 2000; i++)
		fprintf(f, "epoch = %d\n", i);
	fflush(f);
	options_init(&o);
	CU_ASSERT_EQUAL(options_read_file(&o, path, &err), 0);
	CU_ASSERT_EQUAL(o.epoch, 1999);
	fprintf(f, "epoch = -1\n");
	fclose(f);
	CU_ASSERT_EQUAL(options_read_file(&o, path, &err), -EINVAL);
	snprintf(expected, sizeof expected, "%s:2001: epoch=-1: expected a number from 0 to 4095", path);
	CU_ASSERT_STRING_EQUAL(err.text, expected);
	unlink(path);
	CU_ASSERT_EQUAL(options_read_file(&o, path, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
	options_free(&o);
}

static void environment(void)
{
	struct options o;
	struct error err = { 0 };
	char *good[] = { (char *)"PATH=/bin", (char *)"FINEWEB_SEQ_LEN=7", (char *)"FINEWEB_SHARED=/x",
			 (char *)"FINEWEB_TEST_ANY=1", (char *)"FINEWEBX=1", (char *)"FINEWEB_TOKENIZER=o200k", NULL };
	char *wrong[] = { (char *)"FINEWEB_SEQLEN=7", NULL };
	char *range[] = { (char *)"FINEWEB_EPOCHS=0", NULL };
	char *lower[] = { (char *)"FINEWEB_seq_len=7", NULL };
	options_init(&o);
	CU_ASSERT_EQUAL(options_read_environment(&o, good, &err), 0);
	CU_ASSERT_EQUAL(o.seq_len, 7);
	CU_ASSERT_STRING_EQUAL(o.tokenizer, "o200k");
	CU_ASSERT_EQUAL(options_read_environment(&o, wrong, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "unknown environment variable 'FINEWEB_SEQLEN': "
					 "did you mean 'FINEWEB_SEQ_LEN'?");
	CU_ASSERT_EQUAL(options_read_environment(&o, range, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "environment: epochs=0: expected a number from 1 to 4096");
	CU_ASSERT_EQUAL(options_read_environment(&o, lower, &err), -EINVAL);
	CU_ASSERT_EQUAL(o.seq_len, 7);
	options_free(&o);
}

/* options_check of "key=value key=value ..."; 0, or the text must have `part`. */
static bool check_says(const char *settings, int code, const char *part)
{
	struct options o;
	struct error err = { 0 };
	char copy[256];
	options_init(&o);
	snprintf(copy, sizeof copy, "%s", settings);
	for (char *save, *one = strtok_r(copy, " ", &save); one != NULL; one = strtok_r(NULL, " ", &save)) {
		char *value = strchr(one, '=');
		*value = '\0';
		CU_ASSERT_EQUAL(options_set(&o, one, value + 1, NULL), 0);
	}
	int r = options_check(&o, &err);
	options_free(&o);
	return r == code && strstr(err.text, part) != NULL;
}

static void options_together(void)
{
	CU_ASSERT(check_says("stride=piece shuffle=full", 0, ""));
	CU_ASSERT(check_says("stride=piece shuffle=torch", -EINVAL, "shuffle=torch"));
	CU_ASSERT(check_says("stride=piece start=5", -EINVAL, "start=5"));
	CU_ASSERT(check_says("shuffle=torch start=5", 0, ""));
	CU_ASSERT(check_says("seq_len=1048576 batch_size=262143", 0, ""));
	CU_ASSERT(check_says("seq_len=1048576 batch_size=262144", -EINVAL, "batch_size=262144"));
	CU_ASSERT(check_says("shards=llmc shard_tokens=2147483647", 0, ""));
	CU_ASSERT(check_says("shards=llmc shard_tokens=2147483648", -EINVAL, "shards=llmc"));
	CU_ASSERT(check_says("shards=raw shard_tokens=2147483648", 0, ""));
}

static void quantities(void)
{
	uint64_t v;
	CU_ASSERT(quantity_size("16M", &v) && v == 16777216);
	CU_ASSERT(quantity_size("0.5k", &v) && v == 512);
	CU_ASSERT(quantity_size("0.25K", &v) && v == 256);
	CU_ASSERT(quantity_size("2T", &v) && v == UINT64_C(2199023255552));
	CU_ASSERT(quantity_size("1.0", &v) && v == 1);
	CU_ASSERT(quantity_size("16777215T", &v) && v == UINT64_C(18446742974197923840));
	CU_ASSERT_FALSE(quantity_size("16777216T", &v));
	CU_ASSERT_FALSE(quantity_size("0.3K", &v));
	CU_ASSERT_FALSE(quantity_size("1.", &v));
	CU_ASSERT_FALSE(quantity_size(".5K", &v));
	CU_ASSERT_FALSE(quantity_size("K", &v));
	CU_ASSERT_FALSE(quantity_size("1KK", &v));
	CU_ASSERT_FALSE(quantity_size("1e3", &v));
	CU_ASSERT(quantity_tokens("1.5e3", &v) && v == 1500);
	CU_ASSERT(quantity_tokens("1E19", &v) && v == UINT64_C(10000000000000000000));
	CU_ASSERT(quantity_tokens("12.345K", &v) && v == 12345);
	CU_ASSERT(quantity_tokens("15T", &v) && v == UINT64_C(15000000000000));
	CU_ASSERT_FALSE(quantity_tokens("2e19", &v));
	CU_ASSERT_FALSE(quantity_tokens("1e20", &v));
	CU_ASSERT_FALSE(quantity_tokens("1e-3", &v));
	CU_ASSERT_FALSE(quantity_tokens("1e", &v));
	CU_ASSERT_FALSE(quantity_tokens("1.2345K", &v));
	CU_ASSERT_FALSE(quantity_tokens("1.5", &v));
	CU_ASSERT_FALSE(quantity_tokens("1G", &v));
	CU_ASSERT_FALSE(quantity_tokens("-1", &v));
	CU_ASSERT_FALSE(quantity_tokens("+1", &v));
	CU_ASSERT_FALSE(quantity_tokens(" 1", &v));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "defaults are the manual's", defaults },
		{ "definitions are whole", definitions },
		{ "bounds", bounds },
		{ "values", values },
		{ "messages", messages },
		{ "sources add up", sources },
		{ "lines of a file", lines },
		{ "odd lines", odd_lines },
		{ "a file", a_file },
		{ "environment", environment },
		{ "options that depend on each other", options_together },
		{ "quantities", quantities },
		CU_TEST_INFO_NULL,
	};
	return unit_main("options", tests);
}
