#include "unit/unit.h"

#include <errno.h>
#include <string.h>

#include "store/archive.h"

/* Written by hand from the header's description, but for the sum. */
static const uint8_t head[] = { 'F', 'W', 'R', 'E', 'C', 'O', 'R', 'D', 1, 0, 0, 0, 2, 0, 0, 0 };

static void fill_key(uint8_t key[HASH_SIZE], uint8_t with)
{
	memset(key, with, HASH_SIZE);
}

/* Entries 9 -> "abc", 2 -> "". */
static void make(struct buffer *b)
{
	uint8_t key[HASH_SIZE];
	CU_ASSERT_EQUAL_FATAL(archive_begin(b, 2, NULL), 0);
	fill_key(key, 9);
	CU_ASSERT_EQUAL_FATAL(archive_add(b, key, span_text("abc"), NULL), 0);
	fill_key(key, 2);
	CU_ASSERT_EQUAL_FATAL(archive_add(b, key, span_text(""), NULL), 0);
	CU_ASSERT_EQUAL_FATAL(archive_end(b, NULL), 0);
}

static void test_known_bytes(void)
{
	uint8_t want[sizeof head + 2 * (HASH_SIZE + 4) + 3 + HASH_SIZE], *at = want;
	struct buffer b = { 0 };
	memcpy(at, head, sizeof head);
	at += sizeof head;
	fill_key(at, 9);
	memcpy(at + HASH_SIZE, "\3\0\0\0abc", 7);
	at += HASH_SIZE + 7;
	fill_key(at, 2);
	memset(at + HASH_SIZE, 0, 4);
	at += HASH_SIZE + 4;
	hash_of(want, (size_t)(at - want), at);
	make(&b);
	CU_ASSERT_EQUAL_FATAL(b.n, sizeof want);
	CU_ASSERT_EQUAL(memcmp(b.at, want, sizeof want), 0);
	buffer_free(&b);
}

static void test_finds(void)
{
	struct buffer b = { 0 };
	struct archive *a;
	struct span record;
	const uint8_t *found;
	uint8_t key[HASH_SIZE];
	make(&b);
	CU_ASSERT_EQUAL_FATAL(archive_open(span_of(b.at, b.n), &a, NULL), 0);
	CU_ASSERT_EQUAL(archive_entries(a), 2);
	archive_entry(a, 0, &found, &record);
	CU_ASSERT_EQUAL(found[31], 9);
	CU_ASSERT_TRUE(span_is(record, "abc"));
	archive_entry(a, 1, &found, &record);
	CU_ASSERT_EQUAL(found[0], 2);
	fill_key(key, 9);
	CU_ASSERT_EQUAL(archive_find(a, key, &record), 0);
	CU_ASSERT_TRUE(span_is(record, "abc"));
	fill_key(key, 2);
	CU_ASSERT_EQUAL(archive_find(a, key, &record), 0);
	CU_ASSERT_EQUAL(record.n, 0);
	fill_key(key, 3);
	CU_ASSERT_EQUAL(archive_find(a, key, &record), -ENOENT);
	archive_close(a);
	buffer_free(&b);
}

static void test_every_flipped_bit_and_cut_is_damage(void)
{
	struct buffer b = { 0 };
	struct archive *a;
	make(&b);
	size_t taken = 0;
	for (size_t i = 0; i < b.n; i++) {
		b.at[i] ^= 0x10;
		int r = archive_open(span_of(b.at, b.n), &a, NULL);
		taken += r == 0;
		CU_ASSERT_TRUE(r == -EBADMSG || (r == -ENOTSUP && i >= 8 && i < 12));
		b.at[i] ^= 0x10;
		r = archive_open(span_of(b.at, i), &a, NULL);
		taken += r == 0;
	}
	CU_ASSERT_EQUAL(taken, 0);
	buffer_free(&b);
}

/* A sum that is right does not make lengths right. */
static void test_wrong_lengths(void)
{
	for (uint32_t length = 4; length < 64; length += 59) {
		struct buffer b = { 0 };
		struct archive *a;
		struct error err;
		make(&b);
		b.n -= HASH_SIZE;
		b.at[sizeof head + HASH_SIZE] = (uint8_t)length;
		CU_ASSERT_EQUAL_FATAL(archive_end(&b, NULL), 0);
		CU_ASSERT_EQUAL(archive_open(span_of(b.at, b.n), &a, &err), -EBADMSG);
		buffer_free(&b);
	}
	struct buffer b = { 0 };
	struct archive *a;
	CU_ASSERT_EQUAL_FATAL(archive_begin(&b, UINT32_MAX, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(archive_end(&b, NULL), 0);
	CU_ASSERT_EQUAL(archive_open(span_of(b.at, b.n), &a, NULL), -EBADMSG);
	buffer_free(&b);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "bytes are as the header says", test_known_bytes },
		{ "entries are found by place and by key", test_finds },
		{ "a flipped bit or a cut is damage", test_every_flipped_bit_and_cut_is_damage },
		{ "wrong lengths are damage", test_wrong_lengths },
		CU_TEST_INFO_NULL,
	};
	return unit_main("archive", tests);
}
