/* Ids against those that tiktoken made (tests/data/tokens). */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "token/tokenizer.h"
#include "unit/unit.h"

static struct tokenizer *gpt2(void)
{
	static struct tokenizer *t;
	struct error err;
	if (t == NULL && tokenizer_open("gpt2", NULL, &t, &err) < 0)
		printf("# %s\n", err.text);
	return t;
}

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;
	for (size_t i = 0; i < n; i++) {
		unsigned b = 0;
		sscanf(hex + 2 * i, "%2x", &b);
		out[i] = (uint8_t)b;
	}
	return n;
}

/* Whether the text of a line becomes its ids. */
static bool line_agrees(struct encoder *e, json_t *line)
{
	json_t *text = json_object_get(line, "text"), *hex = json_object_get(line, "hex");
	json_t *want = json_object_get(line, "ids");
	size_t n = text != NULL ? json_string_length(text) : strlen(json_string_value(hex)) / 2;
	uint8_t *bytes = malloc(n + 1);
	uint16_t *ids = malloc((encoder_bound(n) + 1) * sizeof *ids);
	bool same = bytes != NULL && ids != NULL;
	if (same) {
		if (text != NULL)
			memcpy(bytes, json_string_value(text), n);
		else
			from_hex(json_string_value(hex), bytes);
		int64_t got = encoder_encode(e, bytes, n, ids);
		same = got == (int64_t)json_array_size(want);
		for (size_t i = 0; same && i < (size_t)got; i++)
			same = ids[i] == json_integer_value(json_array_get(want, i));
	}
	free(bytes);
	free(ids);
	return same;
}

/* jansson takes no lone surrogate, which reads as U+FFFD here: so it is written, where a line says that it has one. */
static void lone_surrogates(char *line)
{
	if (strstr(line, "\"lone surrogate in JSON\"") == NULL)
		return;
	for (char *p = line; (p = strstr(p, "\\ud")) != NULL; p += 6) {
		bool pair = strchr("89ab", p[3]) != NULL && strncmp(p + 6, "\\ud", 3) == 0 && strchr("cdef", p[9]) != NULL;
		if (pair)
			p += 6;
		else
			memcpy(p, "\\ufffd", 6);
	}
}

static void ids_are_tiktokens(void)
{
	const char *path = unit_data("tokens/gpt2.jsonl");
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	struct encoder *e = encoder_new(gpt2());
	static char line[1 << 20];
	unsigned lines = 0, bad = 0;
	json_error_t parse;
	/* Twice: once learning the words, once knowing them. */
	for (int pass = 0; pass < 2; pass++) {
		rewind(f);
		while (fgets(line, sizeof line, f) != NULL) {
			lone_surrogates(line);
			json_t *j = json_loads(line, JSON_ALLOW_NUL, &parse);
			if (j == NULL)
				printf("# %s: %.100s\n", parse.text, line);
			CU_ASSERT_PTR_NOT_NULL_FATAL(j);
			lines++;
			if (!line_agrees(e, j)) {
				bad++;
				printf("# differs: %.200s\n", line);
			}
			json_decref(j);
		}
	}
	CU_ASSERT_EQUAL(lines, 2 * 900);
	CU_ASSERT_EQUAL(bad, 0);
	encoder_free(e);
	fclose(f);
}

static unsigned utf8_of(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xF0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* The template with every "{c}" replaced. */
static size_t fill(const char *template, uint32_t c, char *out)
{
	size_t n = 0;
	for (const char *p = template; *p != '\0';) {
		if (strncmp(p, "{c}", 3) == 0) {
			n += utf8_of(c, out + n);
			p += 3;
		} else {
			out[n++] = *p++;
		}
	}
	return n;
}

static void every_code_point_has_its_class(void)
{
	const char *path = unit_data("tokens/gpt2-codepoints.json");
	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	json_t *j = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	const char *template = json_string_value(json_object_get(j, "template"));
	uint32_t block = (uint32_t)json_integer_value(json_object_get(j, "block"));
	json_t *want = json_object_get(j, "sha256");
	struct encoder *e = encoder_new(gpt2());
	unsigned bad = 0;
	CU_ASSERT_TRUE_FATAL(json_array_size(want) > 0);
	for (size_t b = 0; b < json_array_size(want); b++) {
		struct hash *h = hash_new();
		uint8_t digest[HASH_SIZE];
		char hex[HASH_HEX];
		for (uint32_t c = (uint32_t)b * block; c < ((uint32_t)b + 1) * block && c < 0x110000; c++) {
			char text[256];
			uint16_t ids[3 * sizeof text];
			if (c >= 0xD800 && c < 0xE000)
				continue;
			int64_t n = encoder_encode(e, text, fill(template, c, text), ids);
			for (int64_t i = 0; i < n; i++) {
				uint8_t two[2] = { (uint8_t)ids[i], (uint8_t)(ids[i] >> 8) };
				hash_add(h, two, 2);
			}
		}
		hash_end(h, digest);
		hash_hex(digest, HASH_SIZE, hex);
		if (strcmp(hex, json_string_value(json_array_get(want, b))) != 0) {
			bad++;
			printf("# block %zu differs\n", b);
		}
	}
	CU_ASSERT_EQUAL(bad, 0);
	encoder_free(e);
	json_decref(j);
}

static void what_is_known_without_opening(void)
{
	struct tokenizer_info info;
	CU_ASSERT_EQUAL_FATAL(tokenizer_info("gpt2", NULL, &info, NULL), 0);
	CU_ASSERT_EQUAL(info.vocab, 50257);
	CU_ASSERT_EQUAL(info.bos, 50256);
	CU_ASSERT_EQUAL(tokenizer_width(info.vocab), 2);
}

static void bytes_of_ids(void)
{
	size_t n = 0;
	const uint8_t *p = tokenizer_bytes(gpt2(), 15496, &n);
	CU_ASSERT_TRUE(n == 5 && memcmp(p, "Hello", 5) == 0);
	p = tokenizer_bytes(gpt2(), 50256, &n);
	CU_ASSERT_TRUE(n == 13 && memcmp(p, "<|endoftext|>", 13) == 0);
	CU_ASSERT_PTR_NULL(tokenizer_bytes(gpt2(), 50257, &n));
	CU_ASSERT_EQUAL(n, 0);
}

static void names_that_are_none(void)
{
	struct tokenizer *t = NULL;
	struct error err = { 0 };
	CU_ASSERT_EQUAL(tokenizer_open("gpt7", NULL, &t, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "gpt2"));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "gpt2 ids are tiktoken's", ids_are_tiktokens },
		{ "every code point has its class", every_code_point_has_its_class },
		{ "what is known without opening", what_is_known_without_opening },
		{ "bytes of ids", bytes_of_ids },
		{ "names that are none", names_that_are_none },
		CU_TEST_INFO_NULL,
	};
	return unit_main("token", tests);
}
