#include "unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/span.h"
#include "format/tokenfile.h"
#include "io/file.h"

#define VOCAB 50257
#define TOKENS 87734 /* of the files below tokens/, by their README */

static int open_bytes(const void *bytes, size_t n, bool npy, unsigned width, struct tokenfile *t,
		      struct error *err)
{
	struct source *s = source_memory(bytes, n, "memory");
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	int r = tokenfile_open(s, npy, width, t, err);
	source_close(s);
	return r;
}

/* Opens a file of the test data and leaves its ids as 16 bits in *ids; false: it is not there. */
static bool read_ids(const char *name, bool npy, struct tokenfile *t, uint16_t *ids, uint64_t *offset)
{
	struct error err;
	struct source *s;
	size_t bad;
	int64_t id;
	const char *path = unit_data(name);
	if (path == NULL) {
		unit_skip("no test data");
		return false;
	}
	CU_ASSERT_EQUAL_FATAL(file_open(path, &s, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tokenfile_open(s, npy, 2, t, &err), 0);
	CU_ASSERT(t->width == 2 && !t->is_signed && t->tokens <= TOKENS);
	*offset = t->offset;
	CU_ASSERT_EQUAL_FATAL(source_read(s, t->offset, ids, 2 * (size_t)t->tokens, &err), 0);
	CU_ASSERT_EQUAL(tokenfile_convert(t, ids, (size_t)t->tokens, VOCAB, 2, ids, &bad, &id), 0);
	source_close(s);
	return true;
}

static void test_files_of_others(void)
{
	static uint16_t raw[TOKENS], other[TOKENS];
	struct tokenfile t;
	uint64_t offset;
	uint8_t sum[HASH_SIZE];
	char hex[HASH_HEX];
	if (!read_ids("tokens/raw/fineweb_train_000000.bin", false, &t, raw, &offset))
		return;
	CU_ASSERT(t.tokens == TOKENS && offset == 0);
	hash_of(raw, sizeof raw, sum);
	hash_hex(sum, sizeof sum, hex);
	CU_ASSERT_STRING_EQUAL(hex, "101aedcdcf40e13ae7e6d48463f6a437c189745da924e604377929dc76046245");
	CU_ASSERT(read_ids("tokens/llmc/fineweb_train_000001.bin", false, &t, other, &offset));
	CU_ASSERT(t.tokens == TOKENS && offset == 1024 && memcmp(raw, other, sizeof raw) == 0);
	CU_ASSERT(read_ids("tokens/npy/edufineweb_train_000001.npy", true, &t, other, &offset));
	CU_ASSERT(t.tokens == TOKENS && offset == 128 && memcmp(raw, other, sizeof raw) == 0);
	/* nanoGPT puts the end-of-text id behind each document. */
	CU_ASSERT(read_ids("tokens/nanogpt/train.bin", false, &t, other, &offset));
	CU_ASSERT(t.tokens == TOKENS && memcmp(raw + 1, other, 2000) == 0 && other[TOKENS - 1] == 50256);
	CU_ASSERT(read_ids("split/fineweb_val_000000.bin", false, &t, other, &offset));
	CU_ASSERT(t.tokens == 3500 && offset == 1024);
}

static int open_file(const char *name, struct tokenfile *t, struct error *err)
{
	struct source *s;
	const char *path = unit_data(name);
	if (path == NULL)
		return 1;
	CU_ASSERT_EQUAL_FATAL(file_open(path, &s, err), 0);
	int r = tokenfile_open(s, false, 2, t, err);
	source_close(s);
	return r;
}

static void test_damaged_files(void)
{
	struct tokenfile t;
	struct error err;
	int r = open_file("bad/llmc_short.bin", &t, &err);
	if (r == 1) {
		unit_skip("no test data");
		return;
	}
	CU_ASSERT_EQUAL(r, -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "llmc_short.bin"));
	CU_ASSERT_EQUAL(open_file("bad/odd.bin", &t, &err), -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "odd.bin"));
	CU_ASSERT_EQUAL(open_file("bad/id_out_of_range.bin", &t, &err), 0);
	CU_ASSERT_EQUAL(t.tokens, 6);
	/* "only batches with token 3 or 5" */
	static const uint8_t bytes[] = { 0x50, 0xc4, 1, 0, 0, 2, 0x51, 0xc4, 3, 0, 0xff, 0xff };
	uint8_t out[12];
	size_t bad = 99;
	int64_t id = 0;
	CU_ASSERT_EQUAL(tokenfile_convert(&t, bytes, 3, VOCAB, 2, out, &bad, &id), 0);
	CU_ASSERT_EQUAL(tokenfile_convert(&t, bytes, 6, VOCAB, 2, out, &bad, &id), -EBADMSG);
	CU_ASSERT(bad == 3 && id == 50257);
	CU_ASSERT_EQUAL(tokenfile_convert(&t, bytes + 8, 2, VOCAB, 2, out, &bad, &id), -EBADMSG);
	CU_ASSERT(bad == 1 && id == 65535);
}

static void test_raw(void)
{
	static const uint8_t bytes[16] = { 1, 2, 3, 4 };
	struct tokenfile t;
	struct error err;
	CU_ASSERT_EQUAL(open_bytes(bytes, 0, false, 2, &t, &err), 0);
	CU_ASSERT_EQUAL(t.tokens, 0);
	CU_ASSERT_EQUAL(open_bytes(bytes, 2, false, 2, &t, &err), 0);
	CU_ASSERT_EQUAL(t.tokens, 1);
	CU_ASSERT_EQUAL(open_bytes(bytes, 16, false, 4, &t, &err), 0);
	CU_ASSERT(t.tokens == 4 && t.width == 4 && t.offset == 0 && !t.is_signed);
	CU_ASSERT_EQUAL(open_bytes(bytes, 6, false, 4, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_bytes(bytes, 1, false, 2, &t, &err), -EBADMSG);
}

static int open_llmc(uint32_t magic, uint32_t version, uint32_t tokens, size_t size, struct tokenfile *t,
		     struct error *err)
{
	static uint8_t bytes[8192];
	memset(bytes, 0, sizeof bytes);
	store_u32(bytes, magic);
	store_u32(bytes + 4, version);
	store_u32(bytes + 8, tokens);
	return open_bytes(bytes, size, false, 2, t, err);
}

static void test_llmc(void)
{
	struct tokenfile t;
	struct error err;
	CU_ASSERT_EQUAL(open_llmc(20240520, 1, 100, 1024 + 200, &t, &err), 0);
	CU_ASSERT(t.tokens == 100 && t.width == 2 && t.offset == 1024);
	CU_ASSERT_EQUAL(open_llmc(20240801, 7, 100, 1024 + 400, &t, &err), 0);
	CU_ASSERT(t.tokens == 100 && t.width == 4 && t.offset == 1024);
	CU_ASSERT_EQUAL(open_llmc(20240520, 1, 0, 1024, &t, &err), 0);
	CU_ASSERT_EQUAL(open_llmc(20240520, 1, 100, 1024 + 198, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_llmc(20240520, 1, 100, 1024 + 202, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_llmc(20240801, 7, 100, 1024 + 200, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_llmc(20240520, 1, 0xffffffff, 1024, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_llmc(20240520, 1, 0, 1022, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_llmc(20240520, 1, 0, 4, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_llmc(20240520, 2, 100, 1024 + 200, &t, &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "version 2"));
	CU_ASSERT_EQUAL(open_llmc(20240801, 1, 100, 1024 + 400, &t, &err), -ENOTSUP);
}

/* A file as NumPy's format.py describes it, with `data` zero bytes. Returns its size. */
static size_t make_npy(uint8_t *bytes, unsigned major, const char *dict, size_t data)
{
	size_t head = major == 1 ? 10 : 12, n = strlen(dict) + 1;
	while ((head + n) % 64 != 0)
		n++;
	memset(bytes, 0, head + n + data);
	memcpy(bytes, "\x93NUMPY", 6);
	bytes[6] = (uint8_t)major;
	store_u16(bytes + 8, (uint16_t)n);
	memset(bytes + head, ' ', n);
	memcpy(bytes + head, dict, strlen(dict));
	bytes[head + n - 1] = '\n';
	return head + n + data;
}

static int open_npy(unsigned major, const char *dict, size_t data, struct tokenfile *t, struct error *err)
{
	static uint8_t bytes[1 << 17];
	return open_bytes(bytes, make_npy(bytes, major, dict, data), true, 2, t, err);
}

static void test_npy_descrs(void)
{
	static const struct {
		const char *descr;
		unsigned width;
		bool is_signed;
	} good[] = { { "<u2", 2, false }, { "<u4", 4, false }, { "<i4", 4, true }, { "<i8", 8, true } };
	static const char *const bad[] = { ">u2", "<i2", "<u8", "|u1", "<f4", ">i8", "|O", "" };
	char dict[100];
	struct tokenfile t;
	struct error err;
	for (unsigned major = 1; major <= 3; major++)
		for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
			snprintf(dict, sizeof dict,
				 "{'descr': '%s', 'fortran_order': False, 'shape': (7,), }", good[i].descr);
			CU_ASSERT_EQUAL(open_npy(major, dict, 7 * good[i].width, &t, &err), 0);
			CU_ASSERT(t.tokens == 7 && t.width == good[i].width &&
				  t.is_signed == good[i].is_signed);
			CU_ASSERT_EQUAL(t.offset, 128);
		}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (7,), }",
			 bad[i]);
		CU_ASSERT_EQUAL(open_npy(1, dict, 14, &t, &err), -ENOTSUP);
		snprintf(dict, sizeof dict, "descr '%s'", bad[i]);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, dict));
	}
	CU_ASSERT_EQUAL(open_npy(1, "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (7,), }", 14,
				 &t, &err),
			-ENOTSUP);
}

static void test_npy_spellings(void)
{
	static const char *const good[] = {
		"{'shape': (7,), 'fortran_order': False, 'descr': '<u2'}",
		"{\"descr\":\"<u2\",\"fortran_order\":True,\"shape\":(7,)}",
		"{ 'descr' : '<u2' , 'fortran_order' : False , 'shape' : ( 7 , ) , }",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (7L,), }",
	};
	static const char *const bad[] = {
		"",
		"{",
		"{}",
		"{'descr': '<u2'}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (7)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (7,)",
		"{'descr': '<u2', 'fortran_order': 0, 'shape': (7,)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (7,), 'x': 1}",
		"{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (7,)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (-7,)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (7,)} x",
		"{'descr': '<u2' 'fortran_order': False, 'shape': (7,)}",
		"{'descr': <u2, 'fortran_order': False, 'shape': (7,)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775811,)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (6,)}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (8,)}",
	};
	static const char *const deep[] = { "(7, 1)", "(1, 7,)", "()", "(1, 1, 7)" };
	char dict[100];
	struct tokenfile t;
	struct error err;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		CU_ASSERT_EQUAL(open_npy(1, good[i], 14, &t, &err), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CU_ASSERT_EQUAL(open_npy(1, bad[i], 14, &t, &err), -EBADMSG);
	for (size_t i = 0; i < sizeof deep / sizeof *deep; i++)
		for (int fortran = 0; fortran < 2; fortran++) {
			snprintf(dict, sizeof dict, "{'descr': '<u2', 'fortran_order': %s, 'shape': %s, }",
				 fortran ? "True" : "False", deep[i]);
			CU_ASSERT_EQUAL(open_npy(1, dict, 14, &t, &err), -ENOTSUP);
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "dimensions"));
		}
}

static void test_npy_heads(void)
{
	static uint8_t bytes[1 << 17];
	const char *dict = "{'descr': '<u2', 'fortran_order': False, 'shape': (7,), }";
	struct tokenfile t;
	struct error err;
	size_t size = make_npy(bytes, 1, dict, 14);
	for (size_t n = 0; n < size; n++)
		CU_ASSERT_EQUAL(open_bytes(bytes, n, true, 2, &t, &err), -EBADMSG);
	CU_ASSERT_EQUAL(open_bytes(bytes, size + 1, true, 2, &t, &err), -EBADMSG);
	bytes[6] = 4;
	CU_ASSERT_EQUAL(open_bytes(bytes, size, true, 2, &t, &err), -ENOTSUP);
	bytes[6] = 1;
	bytes[7] = 1;
	CU_ASSERT_EQUAL(open_bytes(bytes, size, true, 2, &t, &err), -ENOTSUP);
	bytes[7] = 0;
	bytes[0] = 'x';
	CU_ASSERT_EQUAL(open_bytes(bytes, size, true, 2, &t, &err), -EBADMSG);
	size = make_npy(bytes, 2, dict, 14);
	bytes[11] = 0x7f;
	CU_ASSERT_EQUAL(open_bytes(bytes, size, true, 2, &t, &err), -ENOTSUP);
}

/* One id after the other, as the header says it: what tokenfile_convert must be equal to. */
static int convert_slowly(const struct tokenfile *t, const uint8_t *in, size_t n, uint32_t vocab, unsigned to,
			  uint8_t *out, size_t *bad, int64_t *id)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 0;
		for (unsigned k = t->width; k-- > 0;)
			v = v << 8 | in[i * t->width + k];
		int64_t number = (int64_t)v;
		if (t->is_signed && t->width == 4 && (v & 0x80000000u))
			number -= (int64_t)1 << 32;
		if (number < 0 || number >= vocab) {
			*bad = i;
			*id = number;
			return -EBADMSG;
		}
		for (unsigned k = 0; k < to; k++)
			out[i * to + k] = (uint8_t)(v >> 8 * k);
	}
	return 0;
}

static void check_against_slow(const struct tokenfile *t, const uint8_t *in, size_t n, uint32_t vocab,
			       unsigned to)
{
	static uint8_t fast[4096 * 8], slow[4096 * 8];
	size_t bad = 0, slow_bad = 0;
	int64_t id = 0, slow_id = 0;
	int r = tokenfile_convert(t, in, n, vocab, to, fast, &bad, &id);
	int s = convert_slowly(t, in, n, vocab, to, slow, &slow_bad, &slow_id);
	CU_ASSERT_EQUAL(r, s);
	CU_ASSERT(bad == slow_bad && id == slow_id);
	CU_ASSERT(r != 0 || memcmp(fast, slow, n * to) == 0);
	if (r == 0 && t->width == to && n > 0) {
		memcpy(fast, in, n * to);
		CU_ASSERT_EQUAL(tokenfile_convert(t, fast, n, vocab, to, fast, &bad, &id), 0);
		CU_ASSERT_EQUAL(memcmp(fast, slow, n * to), 0);
	}
}

static void test_convert_is_the_slow_one(void)
{
	static const struct tokenfile kinds[] = { { .width = 2 },
						  { .width = 4 },
						  { .width = 4, .is_signed = true },
						  { .width = 8, .is_signed = true } };
	static const uint32_t vocabs[] = { 50257, 65536, 128256, 1, UINT32_MAX };
	static uint8_t in[1200 * 8 + 1];
	srand(5);
	for (int round = 0; round < 4000; round++) {
		const struct tokenfile *t = &kinds[round % 4];
		uint32_t vocab = vocabs[round / 4 % 5];
		size_t n = (size_t)rand() % 1200;
		uint8_t *at = in + round % 2; /* also where it is not aligned */
		for (size_t i = 0; i < n; i++) {
			uint64_t v = (uint64_t)rand() % vocab;
			for (unsigned k = 0; k < t->width; k++)
				at[i * t->width + k] = (uint8_t)(v >> 8 * k);
		}
		for (int hits = rand() % 3; hits > 0 && n > 0; hits--)
			at[(size_t)rand() % (n * t->width)] ^= (uint8_t)(1 << rand() % 8);
		check_against_slow(t, at, n, vocab, vocab > 65536 || round % 3 == 0 ? 4 : 2);
	}
}

static void test_the_first_bad_id_is_told(void)
{
	static uint8_t in[2000], out[4000];
	struct tokenfile t = { .width = 2 };
	size_t bad;
	int64_t id;
	for (size_t place = 0; place < 1000; place += 1 + place / 50) {
		memset(in, 0, sizeof in);
		store_u16(in + 2 * place, VOCAB);
		store_u16(in + 1998, 0xffff);
		CU_ASSERT_EQUAL(tokenfile_convert(&t, in, 1000, VOCAB, 2, out, &bad, &id), -EBADMSG);
		CU_ASSERT(bad == place && id == (place == 999 ? 0xffff : VOCAB));
		CU_ASSERT_EQUAL(tokenfile_convert(&t, in, place, VOCAB, 4, out, &bad, &id), 0);
	}
	static const uint8_t minus_one[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	t = (struct tokenfile){ .width = 4, .is_signed = true };
	CU_ASSERT_EQUAL(tokenfile_convert(&t, minus_one, 1, UINT32_MAX, 4, out, &bad, &id), -EBADMSG);
	CU_ASSERT(bad == 0 && id == -1);
	t.width = 8;
	CU_ASSERT_EQUAL(tokenfile_convert(&t, minus_one, 1, UINT32_MAX, 4, out, &bad, &id), -EBADMSG);
	CU_ASSERT(bad == 0 && id == -1);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "files of others", test_files_of_others },
		{ "damaged files", test_damaged_files },
		{ "raw", test_raw },
		{ "llm.c", test_llmc },
		{ "npy: descrs", test_npy_descrs },
		{ "npy: spellings of the header", test_npy_spellings },
		{ "npy: heads", test_npy_heads },
		{ "convert is the slow one", test_convert_is_the_slow_one },
		{ "the first bad id is told", test_the_first_bad_id_is_told },
		CU_TEST_INFO_NULL,
	};
	return unit_main("tokenfile", tests);
}
