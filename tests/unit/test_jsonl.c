#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "format/jsontext.h"
#include "format/jsonl.h"
#include "io/file.h"
#include "unit/unit.h"

/* What a reader handed on: a line of text for each document, "TEXT|ID|URL", a null text as "(null)"; or
 * the text's SHA-256 in place of it. */
struct seen {
	struct buffer out;
	bool hashed;
	unsigned documents;
	uint64_t row;  /* of the last */
	unsigned stop; /* return -EINTR at this document; 0: never */
};

static int see(void *arg, const struct document *d, struct error *err)
{
	struct seen *s = arg;
	(void)err;
	s->row = d->row;
	if (++s->documents == s->stop)
		return -EINTR;
	if (d->text.at == NULL) {
		buffer_printf(&s->out, "(null)");
	} else if (s->hashed) {
		uint8_t digest[HASH_SIZE];
		char hex[HASH_HEX];
		hash_of(d->text.at, d->text.n, digest);
		hash_hex(digest, HASH_SIZE, hex);
		buffer_printf(&s->out, "%s", hex);
	} else {
		buffer_add(&s->out, d->text.at, d->text.n, 0, NULL);
	}
	buffer_add(&s->out, "|", 1, 0, NULL);
	buffer_add(&s->out, d->id.at, d->id.n, 0, NULL);
	buffer_add(&s->out, "|", 1, 0, NULL);
	buffer_add(&s->out, d->url.at, d->url.n, 0, NULL);
	buffer_add(&s->out, "\n", 1, 0, NULL);
	return 0;
}

/* Reads all pieces of n bytes. */
static int read_bytes(const void *bytes, size_t n, const struct jsonl_options *options, struct seen *seen,
		      struct error *err)
{
	struct source *s = source_memory(bytes, n, "memory");
	int r = 0;
	for (uint64_t p = 0; r == 0 && p < jsonl_pieces(n); p++)
		r = jsonl_texts(s, p, options, see, seen, err);
	source_close(s);
	return r;
}

static const struct jsonl_options usual = { 0 };

/* Reads lines; true when just this was handed on. */
static bool gives(const char *lines, const char *column, const char *expected)
{
	struct jsonl_options options = { .column = column };
	struct seen seen = { 0 };
	struct error err = { 0 };
	int r = read_bytes(lines, strlen(lines), &options, &seen, &err);
	bool same = r == 0 && seen.out.n == strlen(expected);
	if (same && seen.out.n > 0)
		same = memcmp(seen.out.at, expected, seen.out.n) == 0;
	if (!same)
		printf("# %s: %d %s, got %.*s\n", lines, r, err.text, (int)seen.out.n, (const char *)seen.out.at);
	buffer_free(&seen.out);
	return same;
}

/* Reads n bytes; true when they are -EBADMSG and the text has `part`. */
static bool damaged(const void *bytes, size_t n, const char *part)
{
	struct seen seen = { 0 };
	struct error err = { 0 };
	int r = read_bytes(bytes, n, &usual, &seen, &err);
	bool same = r == -EBADMSG && strstr(err.text, part) != NULL;
	if (!same)
		printf("# %.60s: %d %s\n", (const char *)bytes, r, err.text);
	buffer_free(&seen.out);
	return same;
}

static bool is_damaged(const char *lines, const char *part)
{
	return damaged(lines, strlen(lines), part);
}

static void texts_of_a_line(void)
{
	CU_ASSERT(gives("{\"text\":\"a b\"}\n", NULL, "a b||\n"));
	CU_ASSERT(gives(" {\t\"id\" : \"7\" ,\"url\":\"u\",\"text\" : \"x\" } \r\n", NULL, "x|7|u\n"));
	CU_ASSERT(gives("{\"text\":\"no line end\"}", NULL, "no line end||\n"));
	CU_ASSERT(gives("{\"text\":\"\"}", NULL, "||\n"));
	CU_ASSERT(gives("{\"text\":null}\n{}\n", NULL, "(null)||\n(null)||\n"));
	CU_ASSERT(gives("\n \t\r\n{\"text\":\"x\"}\n\n", NULL, "x||\n"));
	CU_ASSERT(gives("", NULL, ""));
	CU_ASSERT(gives("{\"url\":\"\\u0041\\n\",\"id\":\"a\\\\nb\"}", "id", "a\\nb|a\\nb|A\n\n"));
	CU_ASSERT(gives("\xef\xbb\xbf{\"text\":\"x\"}\n", NULL, "x||\n"));
	CU_ASSERT(gives("{\"id\":-12.50e3,\"url\":[\"u\"],\"text\":\"x\"}", NULL, "x|-12.50e3|\n"));
	CU_ASSERT(gives("{\"id\":true,\"url\":null,\"text\":\"x\"}", NULL, "x||\n"));
	CU_ASSERT(gives("{\"id\":\"\\u0041\",\"url\":\"\\/\\/\",\"text\":\"\\t\"}", NULL, "\t|A|//\n"));
}

static void the_column(void)
{
	CU_ASSERT(gives("{\"content\":\"c\",\"raw_content\":\"r\",\"text\":\"t\"}", NULL, "t||\n"));
	CU_ASSERT(gives("{\"content\":\"c\",\"raw_content\":\"r\"}", NULL, "r||\n"));
	CU_ASSERT(gives("{\"content\":\"c\"}", NULL, "c||\n"));
	CU_ASSERT(gives("{\"content\":\"c\",\"text\":null}", NULL, "(null)||\n"));
	CU_ASSERT(gives("{\"text\":\"t\",\"body\":\"b\"}\n{\"text\":\"t\"}", "body", "b||\n(null)||\n"));
	CU_ASSERT(gives("{\"id\":\"i\"}", "id", "i|i|\n"));
	CU_ASSERT(gives("{\"a\":{\"text\":\"inner\"},\"l\":[{\"text\":\"inner\"}]}", NULL, "(null)||\n"));
	CU_ASSERT(gives("{\"text\":5,\"text\":\"last\"}", NULL, "last||\n"));
	CU_ASSERT(gives("{\"text\":\"first\",\"te\\u0078t\":\"last\"}", NULL, "last||\n"));
	CU_ASSERT(gives("{\"text\":\"first\",\"text\":null}", NULL, "(null)||\n"));
	CU_ASSERT(gives("{\"\\ud83d\\ude00\":\"x\"}", "\xf0\x9f\x98\x80", "x||\n"));
	CU_ASSERT(gives("{\"tex\\u0000t\":\"x\",\"text\\u0000\":\"x\"}", NULL, "(null)||\n"));
}

static void escapes(void)
{
	CU_ASSERT(gives("{\"text\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", NULL, "\"\\/\b\f\n\r\t||\n"));
	CU_ASSERT(gives("{\"text\":\"\\u0041\\u00e9\\u20AC\"}", NULL, "A\xc3\xa9\xe2\x82\xac||\n"));
	CU_ASSERT(gives("{\"text\":\"\\uD83D\\uDE00\"}", NULL, "\xf0\x9f\x98\x80||\n"));
	CU_ASSERT(gives("{\"text\":\"\\ud83d\"}", NULL, "\xef\xbf\xbd||\n"));
	CU_ASSERT(gives("{\"text\":\"\\ude00x\"}", NULL, "\xef\xbf\xbdx||\n"));
	CU_ASSERT(gives("{\"text\":\"\\ud83dx\\ude00\"}", NULL, "\xef\xbf\xbdx\xef\xbf\xbd||\n"));
	CU_ASSERT(gives("{\"text\":\"\\ud83d\\ud83d\\ude00\"}", NULL, "\xef\xbf\xbd\xf0\x9f\x98\x80||\n"));
	CU_ASSERT(gives("{\"text\":\"\\ud83d\\n\"}", NULL, "\xef\xbf\xbd\n||\n"));
	CU_ASSERT(gives("{\"text\":\"\\udbff\\udfff\\ue000\"}", NULL, "\xf4\x8f\xbf\xbf\xee\x80\x80||\n"));
	CU_ASSERT(gives("{\"text\":\"\xff\xc0\x80 \x7f\"}", NULL, "\xff\xc0\x80 \x7f||\n"));
}

static void damage(void)
{
	CU_ASSERT(is_damaged("{\"text\":\"ok\"}\n{\"text\":5}\n", "memory: line at byte 14"));
	CU_ASSERT(is_damaged("{\"text\":[\"x\"]}", "a string or null as 'text'"));
	CU_ASSERT(is_damaged("{\"text\":true}", "a string or null"));
	CU_ASSERT(is_damaged("{\"content\":0}", "a string or null as 'content'"));
	CU_ASSERT(is_damaged("[]", "an object"));
	CU_ASSERT(is_damaged("\"text\"", "an object"));
	CU_ASSERT(is_damaged("{\"text\":\"x\"} x", "nothing after the object"));
	CU_ASSERT(is_damaged("{\"text\":\"x\"}{}", "nothing after the object"));
	CU_ASSERT(is_damaged("{\"text\":\"x", "a quote at the end of a string"));
	CU_ASSERT(is_damaged("{\"text\":\"x\"", "a comma or '}'"));
	CU_ASSERT(is_damaged("{\"text\":\"x\",}", "a key in quotes"));
	CU_ASSERT(is_damaged("{\"text\" \"x\"}", "a colon after the key"));
	CU_ASSERT(is_damaged("{\"text\":}", "a value"));
	CU_ASSERT(is_damaged("{\"a\":[1,]}", "a value"));
	CU_ASSERT(is_damaged("{\"a\":[1}", "a comma or ']'"));
	CU_ASSERT(is_damaged("{\"text\":\"a\tb\"}", "no control character in a string at byte 10 of the line"));
	CU_ASSERT(is_damaged("{\"text\":\"\\x41\"}", "after a backslash"));
	CU_ASSERT(is_damaged("{\"text\":\"\\u12g4\"}", "four hexadecimal digits"));
	CU_ASSERT(is_damaged("{\"text\":\"\\u12", "four hexadecimal digits"));
	CU_ASSERT(damaged("{\"text\":\"a\0b\"}", 14, "no control character"));
	CU_ASSERT(damaged("{\"text\":\"\\\0\"}", 13, "after a backslash"));
	static const char *const values[] = { "01", "+1", "1.", ".5", "1e", "1e+", "-", "0x1", "NaN", "Infinity",
					      "-Infinity", "nul", "True", "'x'", "\x80" };
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		char line[64];
		snprintf(line, sizeof line, "{\"n\":%s}", values[i]);
		CU_ASSERT(is_damaged(line, "line at byte 0"));
	}
}

/* {"a":[[[...]]]} with `depth` levels in all. */
static char *nested(size_t depth)
{
	char *line = malloc(2 * depth + 16), *p = line;
	p += sprintf(p, "{\"a\":");
	for (size_t i = 1; i < depth; i++)
		*p++ = '[';
	for (size_t i = 1; i < depth; i++)
		*p++ = ']';
	strcpy(p, "}");
	return line;
}

static void depth(void)
{
	char *line = nested(JSON_DEPTH);
	CU_ASSERT(gives(line, NULL, "(null)||\n"));
	free(line);
	line = nested(JSON_DEPTH + 1);
	CU_ASSERT(is_damaged(line, "at most 1000 levels"));
	free(line);
	line = nested(1000000);
	CU_ASSERT(is_damaged(line, "at most 1000 levels"));
	free(line);
}

static void line_bound(void)
{
	char line[200];
	struct jsonl_options options = { .line = 100 };
	for (size_t size = 99; size <= 101; size++) {
		struct seen seen = { 0 };
		struct error err = { 0 };
		memset(line, 'x', sizeof line);
		memcpy(line, "{\"text\":\"", 9);
		memcpy(line + size - 2, "\"}\n", 3);
		int r = read_bytes(line, size + 1, &options, &seen, &err);
		CU_ASSERT_EQUAL(r, size > 100 ? -ENOTSUP : 0);
		CU_ASSERT_EQUAL(seen.documents, size > 100 ? 0 : 1);
		CU_ASSERT(r == 0 || strstr(err.text, "memory") != NULL);
		buffer_free(&seen.out);
	}
}

static void the_callers_stop(void)
{
	struct seen seen = { .stop = 2 };
	const char *lines = "{\"text\":\"1\"}\n\n{\"text\":\"2\"}\n{\"text\":\"3\"}\n";
	CU_ASSERT_EQUAL(read_bytes(lines, strlen(lines), &usual, &seen, NULL), -EINTR);
	CU_ASSERT_EQUAL(seen.documents, 2);
	CU_ASSERT_EQUAL(seen.row, 2);
	buffer_free(&seen.out);
}

/* Reads the file's pieces, or its stream, as hashes. */
static int read_file(const char *name, int codec, struct seen *seen, struct error *err)
{
	const char *path = unit_data(name);
	struct source *s;
	int r = 0;
	if (path == NULL || file_open(path, &s, err) != 0)
		return -ENOENT;
	seen->hashed = true;
	if (codec != CODEC_NONE)
		r = jsonl_stream_texts(s, codec, &usual, see, seen, err);
	else
		for (uint64_t p = 0; r == 0 && p < jsonl_pieces(s->size); p++)
			r = jsonl_texts(s, p, &usual, see, seen, err);
	source_close(s);
	return r;
}

/* The lines "HASH|ID|" of expected/jsonl.txt (by jsonl_oracle.py) of one file. */
static void expect_file(const char *name, struct buffer *out)
{
	char file[256], hash[256], id[256], line[1024];
	const char *path = unit_data("expected/jsonl.txt");
	FILE *f = path == NULL ? NULL : fopen(path, "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "%255s %255s %255s", file, hash, id) == 3 && strcmp(file, name) == 0)
			buffer_printf(out, "%s|%s|", hash, strcmp(id, "-") == 0 ? "" : id);
	if (f != NULL)
		fclose(f);
}

/* Drops the URLs and line ends: what is left is as expect_file makes it. */
static void drop_urls(struct buffer *b)
{
	size_t n = 0;
	unsigned bars = 0;
	for (size_t i = 0; i < b->n; i++) {
		uint8_t c = b->at[i];
		if (c == '\n')
			bars = 0;
		else if (bars < 2)
			b->at[n++] = c;
		bars += c == '|';
	}
	b->n = n;
}

static bool same_bytes(const struct buffer *a, const struct buffer *b)
{
	return a->n == b->n && a->n > 0 && memcmp(a->at, b->at, a->n) == 0;
}

static bool file_is(const char *name, int codec, const char *rows_of)
{
	struct seen seen = { 0 };
	struct error err = { 0 };
	struct buffer expected = { 0 };
	expect_file(rows_of, &expected);
	int r = read_file(name, codec, &seen, &err);
	drop_urls(&seen.out);
	bool same = r == 0 && same_bytes(&seen.out, &expected);
	if (!same)
		printf("# %s: %d %s, %u documents\n", name, r, err.text, seen.documents);
	buffer_free(&seen.out);
	buffer_free(&expected);
	return same;
}

static void files(void)
{
	if (unit_data("jsonl/plain/000_00000.jsonl") == NULL) {
		unit_skip("no test data");
		return;
	}
	for (int i = 0; i < 4; i++) {
		char plain[64], other[64];
		snprintf(plain, sizeof plain, "jsonl/plain/000_0000%d.jsonl", i);
		CU_ASSERT(file_is(plain, CODEC_NONE, plain));
		snprintf(other, sizeof other, "jsonl/gz/000_0000%d.jsonl.gz", i);
		CU_ASSERT(file_is(other, CODEC_GZIP, plain));
		snprintf(other, sizeof other, "jsonl/zst/000_0000%d.jsonl.zst", i);
		CU_ASSERT(file_is(other, CODEC_ZSTD, plain));
	}
	CU_ASSERT(file_is("redpajama2/en_middle.jsonl", CODEC_NONE, "redpajama2/en_middle.jsonl"));
}

static void bad_files(void)
{
	static const struct {
		const char *name;
		int codec;
		const char *part;
	} bad[] = {
		{ "bad/line_3.jsonl", CODEC_NONE, "line_3.jsonl: line at byte 6502: expected " },
		{ "bad/truncated.jsonl.gz", CODEC_GZIP, "truncated.jsonl.gz" },
		{ "bad/truncated.jsonl.zst", CODEC_ZSTD, "truncated.jsonl.zst" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct seen seen = { 0 };
		struct error err = { 0 };
		if (unit_data(bad[i].name) == NULL) {
			unit_skip("no test data");
			return;
		}
		CU_ASSERT_EQUAL(read_file(bad[i].name, bad[i].codec, &seen, &err), -EBADMSG);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].part));
		buffer_free(&seen.out);
	}
}

#define LETTERS 9500000 /* of the long line: it spans more than two pieces */

/* Lines of known offsets around piece borders: each must be handed on by the piece that its first byte is in. */
static void lines_and_pieces(void)
{
	static const size_t pads[] = { JSONL_PIECE, JSONL_PIECE - 1, JSONL_PIECE - 2, JSONL_PIECE + 1, 70, LETTERS };
	struct buffer bytes = { 0 };
	unsigned in_piece[16] = { 0 };
	uint64_t starts = 0;
	for (size_t i = 0; i < sizeof pads / sizeof pads[0]; i++)
		for (size_t small = 0; small < 40; small++) {
			/* The first line of each round ends where the pad says, counted from the last border. */
			size_t n = small > 0 ? 40 + small * i : pads[i] == 70 ? 70 :
				   pads[i] == LETTERS ? LETTERS : pads[i] + JSONL_PIECE - starts % JSONL_PIECE;
			CU_ASSERT_EQUAL_FATAL(buffer_reserve(&bytes, n, 0, NULL), 0);
			uint8_t *line = bytes.at + bytes.n;
			memset(line, 'x', n);
			memcpy(line, "{\"text\":\"", 9);
			memcpy(line + n - 3, "\"}\n", 3);
			bytes.n += n;
			in_piece[starts / JSONL_PIECE]++;
			starts += n;
		}
	struct source *s = source_memory(bytes.at, bytes.n, "memory");
	CU_ASSERT_FATAL(s != NULL && jsonl_pieces(s->size) < 16);
	unsigned empty = 0, all = 0;
	for (uint64_t p = 0; p < jsonl_pieces(s->size); p++) {
		struct seen seen = { .hashed = true };
		CU_ASSERT_EQUAL(jsonl_texts(s, p, &usual, see, &seen, NULL), 0);
		CU_ASSERT_EQUAL(seen.documents, in_piece[p]);
		empty += in_piece[p] == 0;
		all += seen.documents;
		buffer_free(&seen.out);
	}
	CU_ASSERT(empty > 0);
	CU_ASSERT_EQUAL(all, 6 * 40);
	CU_ASSERT_EQUAL(jsonl_texts(s, jsonl_pieces(s->size), &usual, see, NULL, NULL), -EBADMSG);
	source_close(s);
	buffer_free(&bytes);
}

static void pieces(void)
{
	CU_ASSERT_EQUAL(jsonl_pieces(0), 1);
	CU_ASSERT_EQUAL(jsonl_pieces(1), 1);
	CU_ASSERT_EQUAL(jsonl_pieces(4194304), 1);
	CU_ASSERT_EQUAL(jsonl_pieces(4194305), 2);
	CU_ASSERT_EQUAL(jsonl_pieces(UINT64_MAX), UINT64_C(1) << 42);
}

static bool read_field(FILE *f, struct buffer *b)
{
	uint8_t size[4];
	if (fread(size, 1, 4, f) != 4)
		return false;
	size_t n = load_u32(size);
	b->n = 0;
	if (buffer_reserve(b, n + 1, 1 << 20, NULL) != 0 || fread(b->at, 1, n, f) != n)
		return false;
	b->n = n;
	return true;
}

/* One line of the oracle: what it says in our words, and whether we say the same. */
static bool agrees(const struct buffer *line, int kind, const struct buffer *text, const struct buffer *id)
{
	struct seen seen = { 0 };
	struct buffer expected = { 0 };
	struct error err = { 0 };
	int r = read_bytes(line->at, line->n, &usual, &seen, &err);
	if (kind == 't')
		buffer_add(&expected, text->at, text->n, 0, NULL);
	if (kind == 'n')
		buffer_printf(&expected, "(null)");
	if (kind == 't' || kind == 'n') {
		buffer_add(&expected, "|", 1, 0, NULL);
		buffer_add(&expected, id->at, id->n, 0, NULL);
		buffer_add(&expected, "|", 1, 0, NULL);
	}
	/* The URL is not compared. */
	bool same = kind == 'e' ? r == -EBADMSG : r == 0 && seen.out.n >= expected.n;
	if (same && expected.n > 0)
		same = memcmp(seen.out.at, expected.at, expected.n) == 0;
	if (same && kind == 'b')
		same = seen.documents == 0;
	if (!same)
		printf("# %.*s: expected %c %.*s, got %d %s %.*s\n", (int)line->n, (const char *)line->at, kind,
		       (int)text->n, (const char *)text->at, r, err.text, (int)seen.out.n,
		       (const char *)seen.out.at);
	buffer_free(&seen.out);
	buffer_free(&expected);
	return same;
}

static void as_python_reads(void)
{
	struct buffer line = { 0 }, text = { 0 }, id = { 0 };
	const char *top = getenv("srcdir");
	char command[4096];
	unsigned n = 0, wrong = 0;
	int kind;
	snprintf(command, sizeof command, "command -v python3 >/dev/null || exit 77; "
		 "exec python3 '%s/tests/unit/jsonl_oracle.py' mutate 20261130 20000", top == NULL ? "." : top);
	FILE *f = popen(command, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (read_field(f, &line) && (kind = fgetc(f)) != EOF && read_field(f, &text) && read_field(f, &id)) {
		n++;
		wrong += !agrees(&line, kind, &text, &id);
	}
	int status = pclose(f);
	buffer_free(&line);
	buffer_free(&text);
	buffer_free(&id);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		unit_skip("no python3");
		return;
	}
	CU_ASSERT_EQUAL(n, 20000);
	CU_ASSERT_EQUAL(wrong, 0);
}

/* Every length and place of what ends a run of plain bytes. */
static void runs(void)
{
	static const char ends[] = "\"\\\x1f\x01";
	for (size_t n = 0; n < 70; n++)
		for (size_t e = 0; e < 4; e++) {
			char line[128];
			uint8_t out[128];
			struct jsontext_member m = { .key = "k" };
			struct jsontext_fault fault;
			memset(line, ' ' + (int)n % 3, sizeof line);
			memset(line + 6, '\xff', n);
			memcpy(line, "{\"k\":\"", 6);
			line[6 + n] = ends[e];
			size_t size = 7 + n;
			if (ends[e] == '\\') {
				memcpy(line + size, "n\"", 2);
				size += 2;
			}
			line[size++] = '}';
			bool good = jsontext_object(span_of(line, size), &m, 1, &fault);
			CU_ASSERT_EQUAL(good, e < 2);
			CU_ASSERT(good || fault.at == 6 + n);
			CU_ASSERT(!good || jsontext_decode(m.raw, out) == n + e);
		}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "texts of a line", texts_of_a_line },
		{ "the column", the_column },
		{ "escapes", escapes },
		{ "runs of plain bytes", runs },
		{ "damage is named with its place", damage },
		{ "depth is bounded", depth },
		{ "a line is bounded", line_bound },
		{ "stops when the caller says so", the_callers_stop },
		{ "number of pieces", pieces },
		{ "a line belongs to the piece in which it starts", lines_and_pieces },
		{ "plain and compressed files", files },
		{ "damaged files", bad_files },
		{ "20,000 damaged lines as Python reads them", as_python_reads },
		CU_TEST_INFO_NULL,
	};
	return unit_main("jsonl", tests);
}
