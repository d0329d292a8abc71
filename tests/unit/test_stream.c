/* Texts without spaces stream through little memory, and have the ids that they have as a whole. */
#include <stdlib.h>
#include <string.h>

#include "token/tokenizer.h"
#include "unit/unit.h"

#define SIZE 100000

/* A text of letters of this alphabet in parts of a thousand bytes. */
static void flows(const char *name, const char *alphabet)
{
	static char text[SIZE];
	uint32_t x = 1;
	for (size_t i = 0; i < SIZE; i++) {
		x = x * 1664525 + 1013904223;
		text[i] = alphabet[(x >> 16) % strlen(alphabet)];
	}
	struct tokenizer *t = NULL;
	struct tokenizer_info info;
	CU_ASSERT_EQUAL_FATAL(tokenizer_open(name, NULL, &t, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(tokenizer_info(name, NULL, &info, NULL), 0);
	struct textstream s = { .e = encoder_new(t) };
	struct encoder *e = encoder_new(t);
	struct buffer ids = { 0 };
	void *want = malloc(encoder_bound(SIZE) * 4);
	CU_ASSERT_TRUE_FATAL(s.e != NULL && e != NULL && want != NULL);
	int64_t n = encoder_encode(e, text, SIZE, want);
	struct encoder *own = s.e;
	for (size_t i = 0; i < SIZE; i += 1000) {
		CU_ASSERT_EQUAL(textstream_put(&s, text + i, 1000, &ids, NULL), 0);
		CU_ASSERT_TRUE(s.held.n < 200);
	}
	CU_ASSERT_EQUAL(textstream_end(&s, &ids, NULL), 0);
	CU_ASSERT_EQUAL_FATAL((int64_t)ids.n, n * tokenizer_width(info.vocab));
	CU_ASSERT_TRUE(memcmp(ids.at, want, ids.n) == 0);
	free(want);
	buffer_free(&ids);
	encoder_free(e);
	encoder_free(own);
	tokenizer_close(t);
}

static void hexadecimal(void)
{
	flows("gpt2", "0123456789abcdef");
	flows("cl100k", "0123456789abcdef");
	flows("o200k", "0123456789ABCdef");
}

static void base64(void)
{
	static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	flows("gpt2", all);
	flows("cl100k", all);
	flows("o200k", all);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "hexadecimal", hexadecimal },
		{ "base64", base64 },
		CU_TEST_INFO_NULL,
	};
	return unit_main("stream", tests);
}
