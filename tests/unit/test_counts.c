#include "unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/counts.h"

/* Written by hand from the header's description. */
static const uint8_t sample[] = {
	'F',  'W',  'C',  '1',	1,    0, 0, 0, /* version */
	0x39, 0x30, 0,	  0,	0,    0, 0, 0, /* 12345 documents */
	7,    0,    0,	  0,	0,    0, 0, 0, /* pieces, flags */
	0x00,				       /* cannot be counted */
	0x01,				       /* 0 */
	0x7f,				       /* 126 */
	0x80, 0x01,			       /* 127 */
	0xff, 0xff, 0xff, 0xff, 0x0f,	       /* 2^32 - 2 */
	0xac, 0x02,			       /* 299 */
	0x80, 0x80, 0x40,		       /* 2^20 - 1 */
};
static uint32_t sample_tokens[] = { COUNTS_BAD, 0, 126, 127, 0xfffffffe, 299, 1048575 };

static void test_known_bytes(void)
{
	struct buffer b = { 0 };
	struct counts c = { .documents = 12345, .n = 7, .numbers = sample_tokens };
	CU_ASSERT_EQUAL(counts_encode(&c, &b), 0);
	CU_ASSERT_EQUAL_FATAL(b.n, sizeof sample);
	CU_ASSERT_EQUAL(memcmp(b.at, sample, sizeof sample), 0);
	buffer_free(&b);

	CU_ASSERT_EQUAL_FATAL(counts_decode(span_of(sample, sizeof sample), &c), 0);
	CU_ASSERT_EQUAL(c.documents, 12345);
	CU_ASSERT_EQUAL_FATAL(c.n, 7);
	CU_ASSERT_EQUAL(memcmp(c.numbers, sample_tokens, sizeof sample_tokens), 0);
	free(c.numbers);
}

static void test_no_pieces_and_unknown_documents(void)
{
	struct buffer b = { 0 };
	struct counts c = { .documents = UINT64_MAX };
	CU_ASSERT_EQUAL_FATAL(counts_encode(&c, &b), 0);
	CU_ASSERT_EQUAL(b.n, 24);
	c.documents = 1;
	CU_ASSERT_EQUAL_FATAL(counts_decode(span_of(b.at, b.n), &c), 0);
	CU_ASSERT_EQUAL(c.documents, UINT64_MAX);
	CU_ASSERT_EQUAL(c.n, 0);
	free(c.numbers);
	buffer_free(&b);
}

static void test_appends(void)
{
	struct buffer b = { 0 };
	struct counts c = { .documents = 12345, .n = 7, .numbers = sample_tokens };
	buffer_add(&b, "abc", 3, 0, NULL);
	CU_ASSERT_EQUAL(counts_encode(&c, &b), 0);
	CU_ASSERT_EQUAL_FATAL(b.n, 3 + sizeof sample);
	CU_ASSERT_EQUAL(memcmp(b.at + 3, sample, sizeof sample), 0);
	buffer_free(&b);
}

/* Exactly the n bytes, so that a sanitizer sees a read past them. */
static int decode_copy(const void *bytes, size_t n)
{
	struct counts c = { 0 };
	uint8_t *copy = malloc(n > 0 ? n : 1);
	memcpy(copy, bytes, n);
	int r = counts_decode(span_of(copy, n), &c);
	free(c.numbers);
	free(copy);
	return r;
}

static void test_every_truncation_fails(void)
{
	for (size_t n = 0; n < sizeof sample; n++)
		CU_ASSERT_EQUAL(decode_copy(sample, n), -EBADMSG);
	uint8_t more[sizeof sample + 1] = { 0 };
	memcpy(more, sample, sizeof sample);
	CU_ASSERT_EQUAL(decode_copy(more, sizeof more), -EBADMSG);
}

/* The sample with one byte of it changed. */
static int decode_with(size_t at, uint8_t byte)
{
	uint8_t bytes[sizeof sample];
	memcpy(bytes, sample, sizeof bytes);
	bytes[at] = byte;
	return decode_copy(bytes, sizeof bytes);
}

static void test_damaged_heads(void)
{
	CU_ASSERT_EQUAL(decode_with(0, 'f'), -EBADMSG);
	CU_ASSERT_EQUAL(decode_with(4, 2), -EBADMSG);  /* version */
	CU_ASSERT_EQUAL(decode_with(20, 1), -EBADMSG); /* flags */
	CU_ASSERT_EQUAL(decode_with(16, 6), -EBADMSG); /* a piece too few, too many, */
	CU_ASSERT_EQUAL(decode_with(16, 8), -EBADMSG);
	CU_ASSERT_EQUAL(decode_with(19, 0xff), -EBADMSG); /* far too many */
}

static void test_damaged_numbers(void)
{
	static const uint8_t tails[][10] = {
		{ 0xff, 0xff, 0xff, 0xff, 0x10 },	/* 2^32 + ... */
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 }, /* six bytes */
		{ 0x81, 0x00 },				/* a longer spelling of 1 */
		{ 0x80, 0x80, 0x80, 0x80, 0x00 },
	};
	static const size_t n[] = { 5, 6, 2, 5 };
	for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
		uint8_t bytes[24 + 10];
		memcpy(bytes, sample, 24);
		bytes[16] = 1;
		memcpy(bytes + 24, tails[i], n[i]);
		CU_ASSERT_EQUAL(decode_copy(bytes, 24 + n[i]), -EBADMSG);
	}
}

static void test_too_many_pieces_to_encode(void)
{
	struct buffer b = { 0 };
	struct counts c = { .n = COUNTS_NUMBERS + 1 };
	CU_ASSERT_EQUAL(counts_encode(&c, &b), -EINVAL);
	buffer_free(&b);
}

static void test_random_round_trips(void)
{
	srand(1);
	for (int round = 0; round < 200; round++) {
		struct buffer b = { 0 };
		uint32_t tokens[100];
		struct counts back, c = { .documents = (uint64_t)rand(),
					  .n = (uint32_t)(rand() % 100),
					  .numbers = tokens };
		for (uint32_t i = 0; i < c.n; i++)
			tokens[i] = ((uint32_t)rand() << 16 ^ (uint32_t)rand()) >> rand() % 32;
		CU_ASSERT_EQUAL_FATAL(counts_encode(&c, &b), 0);
		CU_ASSERT_EQUAL_FATAL(counts_decode(span_of(b.at, b.n), &back), 0);
		CU_ASSERT(back.documents == c.documents && back.n == c.n);
		CU_ASSERT_EQUAL(memcmp(back.numbers, tokens, c.n * sizeof *tokens), 0);
		free(back.numbers);
		buffer_free(&b);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "known bytes", test_known_bytes },
		{ "no pieces, unknown documents", test_no_pieces_and_unknown_documents },
		{ "a record is appended", test_appends },
		{ "every truncation fails", test_every_truncation_fails },
		{ "damaged heads", test_damaged_heads },
		{ "damaged numbers", test_damaged_numbers },
		{ "too many pieces to encode", test_too_many_pieces_to_encode },
		{ "random round trips", test_random_round_trips },
		CU_TEST_INFO_NULL,
	};
	return unit_main("counts", tests);
}
