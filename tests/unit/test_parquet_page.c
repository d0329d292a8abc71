/* Files of one column, built here a page at a time: what other writers seldom or never make. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "format/parquet.h"
#include "format/parquet_delta.h"
#include "format/parquet_rle.h"
#include "io/codec.h"
#include "unit/unit.h"

enum { DATA = 0, INDEX = 1, DICTIONARY = 2, DATA_V2 = 3 };
enum { PLAIN = 0, BIT_PACKED = 4, DELTA_LENGTH = 6, DELTA_BYTES = 7, RLE_DICTIONARY = 8, STREAM_SPLIT = 9 };

struct page {
	int type, values, encoding;
	const char *body;
	size_t n;
	int size;           /* decompressed, if it is not n */
	int packed;         /* said to be in the file, if it is not n */
	int level_encoding; /* if it is not RLE */
	int def_bytes;      /* of a page of version 2 */
	size_t statistics;  /* bytes of them */
	bool uncompressed, bad_crc, nameless;
};

/* A case: its pages, and what must come of it. Null is '~' and each text ends with ','. */
struct test {
	const char *name;
	int code;
	const char *expect; /* the texts, or a part of the error's text */
	int rows;
	int codec;
	bool required, elsewhere, dictionary_offset;
	struct page pages[4];
};

#define BODY(bytes) .body = bytes, .n = sizeof(bytes) - 1
#define LEVELS3 "\4\0\0\0" "\4\1" "\2\0"   /* 1 1 0 */
#define TEXTS "\1\0\0\0a" "\2\0\0\0bc"
#define DICT { DICTIONARY, 2, PLAIN, BODY(TEXTS) }
#define INDICES "\1" "\2\0" "\2\1"         /* 1 bit: 0, 1 */
#define DELTA_HEAD "\200\1" "\4"           /* blocks of 128, 4 miniblocks */
#define LENGTHS DELTA_HEAD "\2" "\2" "\2" "\0\0\0\0" /* 1, 2 */

static void put(struct buffer *b, const void *bytes, size_t n)
{
	CU_ASSERT_EQUAL_FATAL(buffer_add(b, bytes, n, 0, NULL), 0);
}

static void put_varint(struct buffer *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put(b, &(uint8_t){ (uint8_t)(v | 0x80) }, 1);
	put(b, &(uint8_t){ (uint8_t)v }, 1);
}

/* A field's header in the long form, whose id stands for itself. */
static void put_field(struct buffer *b, unsigned id, uint8_t type)
{
	put(b, &type, 1);
	put_varint(b, 2 * id);
}

static void put_int(struct buffer *b, unsigned id, uint8_t type, int64_t v)
{
	put_field(b, id, type);
	put_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_i32(struct buffer *b, unsigned id, int64_t v)
{
	put_int(b, id, 5, v);
}

static void put_text(struct buffer *b, unsigned id, const char *text)
{
	put_field(b, id, 8);
	put_varint(b, strlen(text));
	put(b, text, strlen(text));
}

/* One struct in a list. */
static void put_list(struct buffer *b, unsigned id, unsigned n)
{
	put_field(b, id, 9);
	put(b, &(uint8_t){ (uint8_t)(n << 4 | 12) }, 1);
}

static void put_stop(struct buffer *b)
{
	put(b, "", 1);
}

static void put_statistics(struct buffer *b, unsigned id, size_t n)
{
	put_field(b, id, 12);
	put_field(b, 5, 8);
	put_varint(b, n);
	for (size_t i = 0; i < n; i++)
		put(b, "s", 1);
	put_stop(b);
}

static void put_page(struct buffer *b, const struct page *p)
{
	put_i32(b, 1, p->type);
	put_i32(b, 2, p->size != 0 ? p->size : (int)p->n);
	put_i32(b, 3, p->packed != 0 ? p->packed : (int)p->n);
	put_i32(b, 4, (int32_t)(codec_crc32(span_of(p->body, p->n)) ^ (p->bad_crc ? 1u : 0)));
	if (p->type <= DATA_V2 && !p->nameless) {
		static const unsigned ids[] = { 5, 6, 7, 8 };
		put_field(b, ids[p->type], 12);
		if (p->type == DATA_V2) {
			put_i32(b, 1, p->values);
			put_i32(b, 4, p->encoding);
			put_i32(b, 5, p->def_bytes);
			put_i32(b, 6, 0);
			put_field(b, 7, p->uncompressed ? 2 : 1);
		} else if (p->type != INDEX) {
			put_i32(b, 1, p->values);
			put_i32(b, 2, p->encoding);
			if (p->type == DATA)
				put_i32(b, 3, p->level_encoding != 0 ? p->level_encoding : 3);
		}
		if (p->statistics > 0)
			put_statistics(b, p->type == DATA ? 5 : 8, p->statistics);
		put_stop(b);
	}
	put_stop(b);
	put(b, p->body, p->n);
}

static void put_schema(struct buffer *b, bool required)
{
	put_list(b, 2, 2);
	put_text(b, 4, "root");
	put_i32(b, 5, 1);
	put_stop(b);
	put_i32(b, 1, 6);
	put_i32(b, 3, required ? 0 : 1);
	put_text(b, 4, "text");
	put_stop(b);
}

static void put_footer(struct buffer *b, const struct test *t, size_t data, size_t end)
{
	put_i32(b, 1, 1);
	put_schema(b, t->required);
	put_int(b, 3, 6, t->rows);
	put_list(b, 4, 1);
	put_list(b, 1, 1);
	if (t->elsewhere)
		put_text(b, 1, "other.parquet");
	put_field(b, 3, 12);
	put_i32(b, 1, 6);
	put_i32(b, 4, t->codec);
	put_int(b, 5, 6, t->rows);
	put_int(b, 6, 6, 100);
	put_int(b, 7, 6, (int64_t)end - 4);
	put_int(b, 9, 6, (int64_t)data);
	/* Many writers leave it out, and a reader must not need it. */
	if (t->dictionary_offset)
		put_int(b, 11, 6, 4);
	put_stop(b);
	put_stop(b);
	put_int(b, 3, 6, t->rows);
	put_stop(b);
	put_stop(b);
}

static void put_file(struct buffer *b, const struct test *t)
{
	size_t data = 4;
	put(b, "PAR1", 4);
	for (size_t i = 0; i < 4 && t->pages[i].body != NULL; i++) {
		if (t->dictionary_offset && i == 1)
			data = b->n;
		put_page(b, &t->pages[i]);
	}
	size_t end = b->n;
	put_footer(b, t, data, end);
	uint8_t length[4];
	store_u32(length, (uint32_t)(b->n - end));
	put(b, length, 4);
	put(b, "PAR1", 4);
}

static int see(void *arg, const struct document *d, struct error *err)
{
	struct buffer *out = arg;
	(void)err;
	if (d->text.at == NULL)
		put(out, "~", 1);
	put(out, d->text.at, d->text.n);
	put(out, ",", 1);
	return 0;
}

static int read_texts(const struct buffer *file, struct buffer *out, struct error *err)
{
	struct source *s = source_memory(file->at, file->n, "built");
	struct parquet *p = NULL;
	int r = parquet_open(s, NULL, &p, err);
	if (r == 0)
		r = parquet_texts(p, 0, parquet_column(p, "text"), -1, -1, NULL, see, out, err);
	parquet_close(p);
	source_close(s);
	return r;
}

static void run(const struct test *t)
{
	struct buffer file = { 0 }, out = { 0 };
	struct error err = { 0 };
	put_file(&file, t);
	int r = read_texts(&file, &out, &err);
	bool good = r == t->code;
	if (good && r == 0)
		good = span_is(span_of(out.at, out.n), t->expect);
	else if (good)
		good = strstr(err.text, t->expect) != NULL && strstr(err.text, "built: row group 0") != NULL;
	if (!good)
		printf("# %s: %d %.*s %s\n", t->name, r, (int)out.n, (const char *)out.at, err.text);
	CU_ASSERT_TRUE(good);
	buffer_free(&file);
	buffer_free(&out);
}

static const struct test good[] = {
	{ "plain", 0, "a,bc,~,", 3, .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS) } } },
	{ "required", 0, "a,bc,", 2, .required = true, .pages = { { DATA, 2, PLAIN, BODY(TEXTS) } } },
	{ "dictionary without its offset", 0, "a,bc,~,", 3,
	  .pages = { DICT, { DATA, 3, RLE_DICTIONARY, BODY(LEVELS3 INDICES) } } },
	{ "dictionary with its offset", 0, "a,bc,~,", 3, .dictionary_offset = true,
	  .pages = { DICT, { DATA, 3, RLE_DICTIONARY, BODY(LEVELS3 INDICES) } } },
	{ "a page without values, an index page", 0, "a,bc,", 2, .required = true,
	  .pages = { { DATA, 0, PLAIN, BODY("") }, { INDEX, 0, 0, BODY("index") },
		     { DATA, 2, PLAIN, BODY(TEXTS) } } },
	{ "from a dictionary to plain", 0, "a,bc,~,a,bc,~,", 6,
	  .pages = { DICT, { DATA, 3, RLE_DICTIONARY, BODY(LEVELS3 INDICES) },
		     { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS) } } },
	{ "version 2, not compressed", 0, "a,bc,~,", 3, .codec = CODEC_ZSTD,
	  .pages = { { DATA_V2, 3, PLAIN, BODY("\4\1\2\0" TEXTS), .def_bytes = 4, .uncompressed = true } } },
	{ "version 2, nothing but nulls", 0, "~,~,", 2, .codec = CODEC_SNAPPY,
	  .pages = { { DATA_V2, 2, RLE_DICTIONARY, BODY("\4\0"), .def_bytes = 2 } } },
	{ "nothing but nulls and no dictionary", 0, "~,~,", 2,
	  .pages = { { DATA, 2, RLE_DICTIONARY, BODY("\2\0\0\0\4\0") } } },
	{ "indices of no bits", 0, "a,a,~,", 3,
	  .pages = { { DICTIONARY, 1, PLAIN, BODY("\1\0\0\0a") },
		     { DATA, 3, RLE_DICTIONARY, BODY(LEVELS3 "\0\4") } } },
	{ "packed levels, cut short", 0, "a,~,bc,", 3,
	  .pages = { { DATA, 3, PLAIN, BODY("\2\0\0\0" "\3\5" TEXTS) } } },
	{ "a header longer than many pages", 0, "a,bc,~,", 3,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS), .statistics = 300000 } } },
	{ "lengths", 0, "a,bc,", 2, .required = true,
	  .pages = { { DATA, 2, DELTA_LENGTH, BODY(LENGTHS "abc") } } },
	/* prefixes 0, 1; suffixes of 1 and 2 bytes */
	{ "shared prefixes", 0, "a,abc,a,abc,", 4, .required = true,
	  .pages = { { DATA, 2, DELTA_BYTES, BODY(DELTA_HEAD "\2\0\2\0\0\0\0" LENGTHS "abc") },
		     { DATA, 2, DELTA_BYTES, BODY(DELTA_HEAD "\2\0\2\0\0\0\0" LENGTHS "abc") } } },
	{ "eight zeros behind a page", 0, "a,bc,", 2, .required = true,
	  .pages = { { DATA, 2, PLAIN, BODY(TEXTS "\0\0\0\0\0\0\0\0") } } },
	{ "no rows", 0, "", 0, .pages = { { .body = NULL } } },
};

static const struct test damaged[] = {
	{ "CRC", -EBADMSG, "CRC", 3, .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS), .bad_crc = true } } },
	{ "one row too many", -EBADMSG, "rows", 4, .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS) } } },
	{ "one row too few", -EBADMSG, "rows", 2, .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS) } } },
	{ "bytes behind", -EBADMSG, "left", 2, .required = true,
	  .pages = { { DATA, 2, PLAIN, BODY(TEXTS "x") } } },
	{ "nine zeros behind", -EBADMSG, "left", 2, .required = true,
	  .pages = { { DATA, 2, PLAIN, BODY(TEXTS "\0\0\0\0\0\0\0\0\0") } } },
	{ "text beyond its page", -EBADMSG, "malformed", 1, .required = true,
	  .pages = { { DATA, 1, PLAIN, BODY("\3\0\0\0ab") } } },
	{ "page beyond its chunk", -EBADMSG, "chunk", 3,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS), .packed = 1000 } } },
	{ "negative size", -EBADMSG, "-5", 3,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS), .size = -5 } } },
	{ "another size", -EBADMSG, "promised", 3,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS), .size = 5 } } },
	{ "unknown page type", -EBADMSG, "page type 4", 3, .pages = { { 4, 3, PLAIN,
								       BODY(LEVELS3 TEXTS) } } },
	{ "no header of values", -EBADMSG, "number of values", 3,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS), .nameless = true } } },
	{ "negative number of values", -EBADMSG, "number of values", 3,
	  .pages = { { DATA, -3, PLAIN, BODY(LEVELS3 TEXTS) } } },
	{ "level beyond the schema", -EBADMSG, "levels", 1,
	  .pages = { { DATA, 1, PLAIN, BODY("\2\0\0\0\2\2" TEXTS) } } },
	{ "too few levels", -EBADMSG, "levels", 3,
	  .pages = { { DATA, 3, PLAIN, BODY("\2\0\0\0\4\1" TEXTS) } } },
	{ "levels beyond their page", -EBADMSG, "levels", 3,
	  .pages = { { DATA, 3, PLAIN, BODY("\377\0\0\0\4\1" TEXTS) } } },
	{ "levels of version 2 beyond their page", -EBADMSG, "levels", 3,
	  .pages = { { DATA_V2, 3, PLAIN, BODY("\4\1\2\0"), .def_bytes = 5 } } },
	{ "index beyond the dictionary", -EBADMSG, "RLE_DICTIONARY", 1, .required = true,
	  .pages = { DICT, { DATA, 1, RLE_DICTIONARY, BODY("\2\2\2") } } },
	{ "indices without a dictionary", -EBADMSG, "RLE_DICTIONARY", 1, .required = true,
	  .pages = { { DATA, 1, RLE_DICTIONARY, BODY("\1\2\0") } } },
	{ "indices of 33 bits", -EBADMSG, "33 bits", 1, .required = true,
	  .pages = { DICT, { DATA, 1, RLE_DICTIONARY, BODY("\41\2\0\0\0\0\0") } } },
	{ "too few indices", -EBADMSG, "RLE_DICTIONARY", 3, .required = true,
	  .pages = { DICT, { DATA, 3, RLE_DICTIONARY, BODY(INDICES) } } },
	{ "two dictionaries", -EBADMSG, "second", 1, .required = true, .pages = { DICT, DICT } },
	{ "dictionary that ends early", -EBADMSG, "dictionary", 1, .required = true,
	  .pages = { { DICTIONARY, 2, PLAIN, BODY("\1\0\0\0a\2\0\0\0b") } } },
	{ "dictionary of more texts than bytes", -EBADMSG, "dictionary", 1, .required = true,
	  .pages = { { DICTIONARY, 2000000000, PLAIN, BODY(TEXTS) } } },
	{ "bytes behind a dictionary", -EBADMSG, "dictionary", 1, .required = true,
	  .pages = { { DICTIONARY, 1, PLAIN, BODY(TEXTS) } } },
	{ "lengths that are negative", -EBADMSG, "malformed", 2, .required = true,
	  .pages = { { DATA, 2, DELTA_LENGTH, BODY(DELTA_HEAD "\2\3\3\0\0\0\0" "abc") } } },
	{ "lengths beyond the page", -EBADMSG, "malformed", 2, .required = true,
	  .pages = { { DATA, 2, DELTA_LENGTH, BODY(LENGTHS "ab") } } },
	{ "fewer lengths than values", -EBADMSG, "malformed", 3, .required = true,
	  .pages = { { DATA, 3, DELTA_LENGTH, BODY(LENGTHS "abc") } } },
	{ "prefix longer than the text before", -EBADMSG, "malformed", 2, .required = true,
	  .pages = { { DATA, 2, DELTA_BYTES, BODY(DELTA_HEAD "\2\0\6\0\0\0\0" LENGTHS "abc") } } },
	{ "a first prefix", -EBADMSG, "malformed", 2, .required = true,
	  .pages = { { DATA, 2, DELTA_BYTES, BODY(DELTA_HEAD "\2\2\0\0\0\0\0" LENGTHS "abc") } } },
};

static const struct test unsupported[] = {
	{ "LZO", -ENOTSUP, "LZO", 3, .codec = 3, .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS) } } },
	{ "LZ4 of Hadoop", -ENOTSUP, "LZ4", 3, .codec = 5, .pages = { { DATA, 3, PLAIN,
								       BODY(LEVELS3 TEXTS) } } },
	{ "codec of the future", -ENOTSUP, "codec 99", 3, .codec = 99,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS) } } },
	{ "levels by BIT_PACKED", -ENOTSUP, "BIT_PACKED", 3,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS), .level_encoding = BIT_PACKED } } },
	{ "encoding of floats", -ENOTSUP, "BYTE_STREAM_SPLIT", 3,
	  .pages = { { DATA, 3, STREAM_SPLIT, BODY(LEVELS3 TEXTS) } } },
	{ "dictionary that is not plain", -ENOTSUP, "DELTA_LENGTH_BYTE_ARRAY", 1,
	  .pages = { { DICTIONARY, 2, DELTA_LENGTH, BODY(TEXTS) } } },
	{ "a chunk in another file", -ENOTSUP, "another file", 3, .elsewhere = true,
	  .pages = { { DATA, 3, PLAIN, BODY(LEVELS3 TEXTS) } } },
};

static void test_good(void)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		run(&good[i]);
}

static void test_damaged(void)
{
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
		run(&damaged[i]);
}

static void test_unsupported(void)
{
	for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
		run(&unsupported[i]);
}

/* A footer cut at each byte, and with each byte changed, is refused or read, and never the cause of a
 * crash. */
static void test_footers(void)
{
	struct buffer file = { 0 }, out = { 0 };
	put_file(&file, &good[0]);
	uint32_t length = load_u32(file.at + file.n - 8);
	size_t first = file.n - 8 - length;
	for (size_t n = 0; n < length; n++) {
		struct buffer cut = { 0 };
		struct error err = { 0 };
		uint8_t tail[4];
		store_u32(tail, (uint32_t)n);
		put(&cut, file.at, first + n);
		put(&cut, tail, 4);
		put(&cut, "PAR1", 4);
		CU_ASSERT_EQUAL(read_texts(&cut, &out, &err), -EBADMSG);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "footer"));
		buffer_free(&cut);
	}
	for (size_t i = first; i < file.n; i++) {
		file.at[i] ^= 0x41;
		int r = read_texts(&file, &out, NULL);
		CU_ASSERT_TRUE(r == 0 || r == -EBADMSG || r == -ENOTSUP || r == -ENOENT);
		file.at[i] ^= 0x41;
	}
	buffer_free(&file);
	buffer_free(&out);
}

/* The examples of Encodings.md. */
static void test_encodings(void)
{
	struct parquet_rle rle;
	struct parquet_delta delta;
	uint32_t v;
	int64_t got;
	/* 0 … 7 in 3 bits, then 4 times 5 */
	parquet_rle_begin(&rle, span_of("\3\210\306\372\10\5", 6), 3);
	for (uint32_t i = 0; i < 8; i++)
		CU_ASSERT_TRUE(parquet_rle_next(&rle, &v) && v == i);
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT_TRUE(parquet_rle_next(&rle, &v) && v == 5);
	CU_ASSERT_FALSE(parquet_rle_next(&rle, &v));
	/* 7, 5, 3, 1, 2, 3, 4, 5: the least difference is -2, the others 0, 0, 0, 3, 3, 3, 3 in 2 bits */
	static const int numbers[] = { 7, 5, 3, 1, 2, 3, 4, 5 };
	struct span in = span_of(DELTA_HEAD "\10\16" "\3" "\2\0\0\0" "\300\77\0\0\0\0\0\0rest", 22);
	CU_ASSERT_TRUE_FATAL(parquet_delta_begin(&delta, &in, false));
	CU_ASSERT_TRUE(span_is(in, "rest"));
	for (size_t i = 0; i < 8; i++)
		CU_ASSERT_TRUE(parquet_delta_next(&delta, &got) && got == numbers[i]);
	CU_ASSERT_FALSE(parquet_delta_next(&delta, &got));
	static const char *const bad[] = {
		"\201\1\4\10\16", "\200\1\3\10\16", "\200\1\10\10\16", "\200\1\4\10", "\200\1\4\10\16\3\2",
		"\200\1\4\10\16\3\101\1\1\1aaaaaaaaaaaaaaaaa", "\200\1\4\10\16\3\2\1\1\1aaaaaaa",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		in = span_text(bad[i]);
		CU_ASSERT_FALSE(parquet_delta_begin(&delta, &in, false));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "pages that are right", test_good },
		{ "pages that are damaged", test_damaged },
		{ "what is not supported", test_unsupported },
		{ "footers that are cut or changed", test_footers },
		{ "examples of the specification", test_encodings },
		CU_TEST_INFO_NULL,
	};
	return unit_main("parquet pages", tests);
}
