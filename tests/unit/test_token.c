/* Ids against those that tiktoken and HF tokenizers made: tests/data/tokens, written by
 * tests/token/expect.py. */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "token/decoder.h"
#include "token/tokenizer.h"
#include "unit/unit.h"

/* Opens, or says why not. */
static struct tokenizer *opened(const char *name, const char *pattern)
{
	struct tokenizer *t = NULL;
	struct error err;
	if (tokenizer_open(name, pattern, &t, &err) < 0)
		printf("# %s\n", err.text);
	return t;
}

static unsigned width_of(const char *name)
{
	struct tokenizer_info info = { 0 };
	tokenizer_info(name, NULL, &info, NULL);
	return tokenizer_width(info.vocab);
}

static uint32_t id_at(const void *ids, size_t i, unsigned width)
{
	return width == 2 ? ((const uint16_t *)ids)[i] : ((const uint32_t *)ids)[i];
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
static bool line_agrees(struct encoder *e, unsigned width, json_t *line)
{
	json_t *text = json_object_get(line, "text"), *hex = json_object_get(line, "hex");
	json_t *want = json_object_get(line, "ids");
	size_t n = text != NULL ? json_string_length(text) : strlen(json_string_value(hex)) / 2;
	/* Exactly as long as the text, so that a sanitizer sees a read behind it. */
	uint8_t *bytes = malloc(n > 0 ? n : 1);
	void *ids = malloc(encoder_bound(n) * width);
	bool same = bytes != NULL && ids != NULL;
	if (same) {
		if (text != NULL)
			memcpy(bytes, json_string_value(text), n);
		else
			from_hex(json_string_value(hex), bytes);
		int64_t got = encoder_encode(e, bytes, n, ids);
		same = got == (int64_t)json_array_size(want);
		for (size_t i = 0; same && i < (size_t)got; i++)
			same = id_at(ids, i, width) == json_integer_value(json_array_get(want, i));
	}
	free(bytes);
	free(ids);
	return same;
}

/* jansson takes no lone surrogate, which reads as U+FFFD here: so it is written, where a line says that it
 * has one. */
static void lone_surrogates(char *line)
{
	if (strstr(line, "\"lone surrogate in JSON\"") == NULL)
		return;
	for (char *p = line; (p = strstr(p, "\\ud")) != NULL; p += 6) {
		bool pair = strchr("89ab", p[3]) != NULL && strncmp(p + 6, "\\ud", 3) == 0 &&
		            strchr("cdef", p[9]) != NULL;
		if (pair)
			p += 6;
		else
			memcpy(p, "\\ufffd", 6);
	}
}

/* Takes the next line of a file of expectations; NULL at its end. */
static json_t *next_line(FILE *f)
{
	static char line[1 << 20];
	json_error_t parse;
	if (fgets(line, sizeof line, f) == NULL)
		return NULL;
	lone_surrogates(line);
	json_t *j = json_loads(line, JSON_ALLOW_NUL, &parse);
	if (j == NULL)
		printf("# %s: %.100s\n", parse.text, line);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	return j;
}

static void differs(const char *with, json_t *line)
{
	char *text = json_dumps(json_object_get(line, "text"), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	printf("# %s differs: %.200s\n", with, text != NULL ? text : "bytes");
	free(text);
}

/* Every line of a file, by every path of the machine, each twice: once learning the words, once knowing them.
 */
static void lines_agree(const char *name, const char *file, unsigned lines)
{
	const char *path = unit_data(file);
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	unsigned width = width_of(name), paths = 0;
	for (const char *const *with = encoder_paths(); *with != NULL; with++, paths++) {
		struct tokenizer *t = opened(name, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(t);
		struct encoder *e = encoder_new(t);
		unsigned seen = 0, bad = 0;
		CU_ASSERT_EQUAL(encoder_use(e, *with), 0);
		for (int pass = 0; pass < 2; pass++) {
			rewind(f);
			for (json_t *j; (j = next_line(f)) != NULL; seen++) {
				if (!line_agrees(e, width, j)) {
					bad++;
					differs(*with, j);
				}
				json_decref(j);
			}
		}
		CU_ASSERT_EQUAL(seen, 2 * lines);
		CU_ASSERT_EQUAL(bad, 0);
		encoder_free(e);
		tokenizer_close(t);
	}
	CU_ASSERT_TRUE(paths >= 2);
	fclose(f);
}

static void gpt2_ids(void)
{
	lines_agree("gpt2", "tokens/gpt2.jsonl", 900);
}

static void cl100k_ids(void)
{
	lines_agree("cl100k", "tokens/cl100k.jsonl", 922);
}

static void o200k_ids(void)
{
	lines_agree("o200k", "tokens/o200k.jsonl", 922);
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

/* The hash over the ids of a template with each code point of a block in it, ids as `bytes` bytes,
 * little-endian. */
static void block_hash(struct encoder *e, unsigned width, const char *template, uint32_t first,
                       uint32_t count, char hex[HASH_HEX])
{
	struct hash *h = hash_new();
	uint8_t digest[HASH_SIZE];
	for (uint32_t c = first; c < first + count && c < 0x110000; c++) {
		char text[256];
		uint32_t ids[3 * sizeof text + 8];
		if (c >= 0xD800 && c < 0xE000)
			continue;
		int64_t n = encoder_encode(e, text, fill(template, c, text), ids);
		for (int64_t i = 0; i < n; i++) {
			uint32_t id = id_at(ids, (size_t)i, width);
			uint8_t four[4] = { (uint8_t)id, (uint8_t)(id >> 8), (uint8_t)(id >> 16),
				            (uint8_t)(id >> 24) };
			hash_add(h, four, width);
		}
	}
	hash_end(h, digest);
	hash_hex(digest, HASH_SIZE, hex);
}

static void code_points_agree(const char *name, const char *file, const char *key)
{
	const char *path = unit_data(file);
	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	json_t *j = json_load_file(path, 0, NULL);
	struct tokenizer *t = opened(name, NULL);
	CU_ASSERT_TRUE_FATAL(j != NULL && t != NULL);
	const char *template = json_string_value(json_object_get(j, "template"));
	uint32_t block = (uint32_t)json_integer_value(json_object_get(j, "block"));
	json_t *want = json_object_get(j, key);
	struct encoder *e = encoder_new(t);
	unsigned bad = 0;
	CU_ASSERT_EQUAL_FATAL(json_array_size(want), 0x110000 / 4096);
	for (size_t b = 0; b < json_array_size(want); b++) {
		char hex[HASH_HEX];
		block_hash(e, width_of(name), template, (uint32_t)b * block, block, hex);
		if (strcmp(hex, json_string_value(json_array_get(want, b))) != 0) {
			bad++;
			printf("# %s: block %zu differs\n", name, b);
		}
	}
	CU_ASSERT_EQUAL(bad, 0);
	encoder_free(e);
	tokenizer_close(t);
	json_decref(j);
}

static void every_code_point(void)
{
	code_points_agree("gpt2", "tokens/gpt2-codepoints.json", "sha256");
	code_points_agree("cl100k", "tokens/codepoints.json", "cl100k");
	code_points_agree("o200k", "tokens/codepoints.json", "o200k");
}

/* The hash over the ids of a text, each in four bytes, little-endian; "" when they are not `count`. */
static void ids_hash(const char *name, const void *text, size_t n, int64_t count, char hex[HASH_HEX])
{
	struct tokenizer *t = opened(name, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	struct encoder *e = encoder_new(t);
	uint32_t *ids = malloc(encoder_bound(n) * sizeof *ids);
	struct hash *h = hash_new();
	uint8_t digest[HASH_SIZE];
	CU_ASSERT_TRUE_FATAL(e != NULL && ids != NULL);
	bool same = encoder_encode(e, text, n, ids) == count;
	for (int64_t i = 0; same && i < count; i++) {
		uint32_t id = id_at(ids, (size_t)i, width_of(name));
		uint8_t four[4] = { (uint8_t)id, (uint8_t)(id >> 8), (uint8_t)(id >> 16),
			            (uint8_t)(id >> 24) };
		hash_add(h, four, sizeof four);
	}
	hash_end(h, digest);
	hash_hex(digest, HASH_SIZE, hex);
	if (!same)
		hex[0] = '\0';
	free(ids);
	encoder_free(e);
	tokenizer_close(t);
}

/* Words of 20,000 letters, drawn as tests/token/expect.py draws them. */
static void long_words(void)
{
	const char *path = unit_data("tokens/long.json");
	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	json_t *list = json_load_file(path, 0, NULL), *item;
	static char text[3 * 20000];
	char hex[HASH_HEX], name[16] = "";
	uint32_t x = 1;
	size_t k;
	CU_ASSERT_EQUAL(json_array_size(list), 21);
	json_array_foreach(list, k, item)
	{
		const char *alphabet = json_string_value(json_object_get(item, "alphabet"));
		const char *tokenizer = json_string_value(json_object_get(item, "tokenizer"));
		size_t letter = alphabet[0] < 0 ? 2 : 1, letters = strlen(alphabet) / letter;
		if (strcmp(name, tokenizer) != 0)
			x = 1;
		snprintf(name, sizeof name, "%s", tokenizer);
		for (size_t i = 0; i < 20000; i++) {
			x = x * 1664525 + 1013904223;
			memcpy(text + i * letter, alphabet + (x >> 16) % letters * letter, letter);
		}
		ids_hash(name, text, 20000 * letter, json_integer_value(json_object_get(item, "count")), hex);
		CU_ASSERT_STRING_EQUAL(hex, json_string_value(json_object_get(item, "sha256")));
	}
	json_decref(list);
}

/* The small tokenizer.json files, one after another as ids.jsonl has them. */
static void tokenizer_json_ids(void)
{
	const char *path = unit_data("tokens/hf/ids.jsonl");
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	char name[4096] = "", file[4200];
	struct tokenizer *t = NULL;
	struct encoder *e = NULL;
	unsigned seen = 0, bad = 0, files = 0;
	for (json_t *j; (j = next_line(f)) != NULL; seen++) {
		const char *of = json_string_value(json_object_get(j, "file"));
		if (strcmp(of, name) != 0) {
			encoder_free(e);
			tokenizer_close(t);
			snprintf(name, sizeof name, "%s", of);
			snprintf(file, sizeof file, "tokens/hf/%s", of);
			const char *found = unit_data(file);
			CU_ASSERT_PTR_NOT_NULL_FATAL(found);
			t = opened(found, NULL);
			CU_ASSERT_PTR_NOT_NULL_FATAL(t);
			e = encoder_new(t);
			files++;
		}
		if (!line_agrees(e, 2, j)) {
			bad++;
			differs(name, j);
		}
		json_decref(j);
	}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT_EQUAL(files, 7);
	CU_ASSERT_TRUE(seen > 1000);
	encoder_free(e);
	tokenizer_close(t);
	fclose(f);
}

static void what_is_known_without_opening(void)
{
	struct tokenizer_info info;
	CU_ASSERT_EQUAL_FATAL(tokenizer_info("gpt2", NULL, &info, NULL), 0);
	CU_ASSERT_EQUAL(info.vocab, 50257);
	CU_ASSERT_EQUAL(info.bos, 50256);
	CU_ASSERT_EQUAL(tokenizer_width(info.vocab), 2);
	CU_ASSERT_EQUAL_FATAL(tokenizer_info("cl100k", "", &info, NULL), 0);
	CU_ASSERT_TRUE(info.vocab == 100277 && info.bos == 100257 && info.revision == 0);
	CU_ASSERT_EQUAL_FATAL(tokenizer_info("o200k", NULL, &info, NULL), 0);
	CU_ASSERT_TRUE(info.vocab == 200019 && info.bos == 199999 && info.revision == 1);
	const char *path = unit_data("tokens/hf/llama3.json");
	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	CU_ASSERT_EQUAL_FATAL(tokenizer_info(path, NULL, &info, NULL), 0);
	CU_ASSERT_STRING_EQUAL(info.name, "llama3.json");
	CU_ASSERT_TRUE(info.vocab == 508 && info.bos == 507 && strlen(info.sha256) == 64);
}

static void bytes_of_ids(void)
{
	struct tokenizer *t = opened("gpt2", NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	size_t n = 0;
	const uint8_t *p = tokenizer_bytes(t, 15496, &n);
	CU_ASSERT_TRUE(n == 5 && memcmp(p, "Hello", 5) == 0);
	p = tokenizer_bytes(t, 50256, &n);
	CU_ASSERT_TRUE(n == 13 && memcmp(p, "<|endoftext|>", 13) == 0);
	CU_ASSERT_PTR_NULL(tokenizer_bytes(t, 50257, &n));
	CU_ASSERT_EQUAL(n, 0);
	tokenizer_close(t);
}

/* A file with these bytes; its name is overwritten by the next call. */
static const char *file_of(const void *bytes, size_t n, const char *end)
{
	static char path[4096];
	const char *dir = getenv("TMPDIR");
	snprintf(path, sizeof path, "%s/test_token-%ld%s", dir != NULL ? dir : P_tmpdir, (long)getpid(), end);
	FILE *f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(fwrite(bytes, 1, n, f), n);
	fclose(f);
	return path;
}

/* Opening fails with the code, and the text names what it should. */
static void refused(const char *name, const char *pattern, int code, const char *word)
{
	struct tokenizer *t = NULL;
	struct tokenizer_info info;
	struct error err = { 0 };
	int r = tokenizer_open(name, pattern, &t, &err);
	if (r != -code || strstr(err.text, word) == NULL)
		printf("# %d, %s\n", r, err.text);
	CU_ASSERT_EQUAL(r, -code);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, word));
	if (code == EINVAL || code == ENOENT)
		CU_ASSERT_EQUAL(tokenizer_info(name, pattern, &info, NULL), -code);
}

static void names_that_are_none(void)
{
	refused("gpt7", NULL, EINVAL, "cl100k");
	refused("gpt2", "cl100k", EINVAL, "pattern");
	refused("not/there.json", NULL, ENOENT, "not/there.json");
	refused("not/there.tiktoken", NULL, EINVAL, "qwen2");
	refused("not/there.tiktoken", "gpt2", ENOENT, "not/there.tiktoken");
}

/* The small GPT-2 file with one text in place of another. */
static const char *changed(const char *from, const char *to)
{
	const char *path = unit_data("tokens/hf/gpt2.json");
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	static char text[1 << 16];
	struct buffer out = { 0 };
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	char *at = strstr(text, from);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	*at = '\0';
	buffer_printf(&out, "%s%s%s", text, to, at + strlen(from));
	const char *made = file_of(out.at, out.n, ".json");
	buffer_free(&out);
	return made;
}

static void models_that_are_not_supported(void)
{
	refused(changed("\"byte_fallback\": false", "\"byte_fallback\": true"), NULL, ENOTSUP,
	        "byte_fallback");
	refused(changed("\"type\": \"BPE\"", "\"type\": \"Unigram\""), NULL, ENOTSUP, "Unigram");
	refused(changed("\"dropout\": null", "\"dropout\": 0.1"), NULL, ENOTSUP, "dropout");
	refused(changed("\"end_of_word_suffix\": null", "\"end_of_word_suffix\": \"</w>\""), NULL, ENOTSUP,
	        "</w>");
	refused(changed("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFKC\"}"), NULL, ENOTSUP,
	        "NFKC");
	refused(changed("\"add_prefix_space\": false", "\"add_prefix_space\": true"), NULL, ENOTSUP,
	        "add_prefix_space");
	refused(changed("\"pre_tokenizer\": {\"type\": \"ByteLevel\"",
	                "\"pre_tokenizer\": {\"type\": \"Metaspace\""),
	        NULL, ENOTSUP, "Metaspace");
	refused(changed("\"pre_tokenizer\": {", "\"pre_tokenizer\": {\"type\": \"Sequence\", "
	                                        "\"pretokenizers\": [{\"type\": \"Split\", "
	                                        "\"pattern\": {\"Regex\": \"[a-z]+\"}, \"behavior\": "
	                                        "\"Isolated\", \"invert\": false}, "
	                                        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
	                                        "\"use_regex\": false}]}, \"other\": {"),
	        NULL, ENOTSUP, "[a-z]+");
	refused(changed("\"merges\": [\"", "\"merges\": [\"\u2581x y\", \"q"), NULL, EBADMSG, "merges");
	refused(changed("\"vocab\": {", "\"vocab\": {\"a\": \"b\", "), NULL, EBADMSG, "\"a\"");
	refused(changed("\"model\": {", "\"model\": {{"), NULL, EBADMSG, "JSON");
	unlink(changed("\"model\"", "\"no model\""));
}

/* A .tiktoken file of all bytes, and then more lines. */
static const char *tiktoken_of(const char *more)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct buffer out = { 0 };
	for (unsigned b = 0; b < 256; b++)
		buffer_printf(&out, "%c%c== %u\n", digits[b >> 2], digits[(b & 3) << 4], b);
	buffer_printf(&out, "%s", more);
	const char *path = file_of(out.at, out.n, ".tiktoken");
	buffer_free(&out);
	return path;
}

static void tiktoken_files(void)
{
	/* "ab", "abc", "abcd" */
	const char *path = tiktoken_of("YWI= 256\nYWJj 257\nYWJjZA== 259\n");
	struct tokenizer *t = opened(path, "gpt2");
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	struct encoder *e = encoder_new(t);
	uint16_t ids[64];
	CU_ASSERT_EQUAL(encoder_encode(e, "abcd abcc ab", 12, ids), 6);
	CU_ASSERT_TRUE(ids[0] == 259 && ids[1] == ' ' && ids[2] == 257 && ids[3] == 'c' && ids[4] == ' ' &&
	               ids[5] == 256);
	size_t n;
	CU_ASSERT_PTR_NOT_NULL(tokenizer_bytes(t, 258, &n));
	CU_ASSERT_EQUAL(n, 0);
	encoder_free(e);
	tokenizer_close(t);
	refused(tiktoken_of("YWI= 256\nYWI= 257\n"), "gpt2", EBADMSG, "same bytes");
	refused(tiktoken_of("YWI= 256\nYWJj 256\n"), "gpt2", EBADMSG, "line 258");
	refused(tiktoken_of("YWI 256\n"), "gpt2", EBADMSG, "line 257");
	refused(tiktoken_of("YW?= 256\n"), "gpt2", EBADMSG, "line 257");
	refused(tiktoken_of("YWI=\n"), "gpt2", EBADMSG, "line 257");
	refused(tiktoken_of("YWI= 2x\n"), "gpt2", EBADMSG, "line 257");
	refused(tiktoken_of("YWI= 4000000000\n"), "gpt2", ENOTSUP, "4000000000");
	refused(file_of("YWI= 0\n", 7, ".tiktoken"), "gpt2", EBADMSG, "byte 0x00");
	refused(file_of("", 0, ".tiktoken"), "gpt2", EBADMSG, "no token");
	unlink(path);
}

struct worker {
	const struct tokenizer *t;
	const uint8_t *text;
	size_t n;
	uint16_t *ids;
	int64_t got;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct encoder *e = encoder_new(w->t);
	w->got = e != NULL ? encoder_encode(e, w->text, w->n, w->ids) : -1;
	encoder_free(e);
	return NULL;
}

/* Many threads that learn the same words at the same time get the same ids as one that is alone. */
static void threads_share_words(void)
{
	enum { THREADS = 4, SIZE = 200000 };
	static uint8_t text[SIZE];
	struct worker w[THREADS + 1];
	uint32_t x = 1;
	for (size_t i = 0; i < SIZE; i++) {
		x = x * 1664525 + 1013904223;
		text[i] = (x >> 24) % 6 == 0 ? ' ' : (uint8_t)('a' + (x >> 20) % 12);
	}
	struct tokenizer *shared = opened("gpt2", NULL), *alone = opened("gpt2", NULL);
	CU_ASSERT_TRUE_FATAL(shared != NULL && alone != NULL);
	for (size_t i = 0; i <= THREADS; i++) {
		w[i] = (struct worker){ .t = i < THREADS ? shared : alone, .text = text, .n = SIZE };
		w[i].ids = malloc(encoder_bound(SIZE) * sizeof *w[i].ids);
		CU_ASSERT_PTR_NOT_NULL_FATAL(w[i].ids);
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (size_t i = 0; i <= THREADS; i++)
		pthread_join(w[i].thread, NULL);
	CU_ASSERT_TRUE(w[THREADS].got > 0);
	for (size_t i = 0; i < THREADS; i++)
		CU_ASSERT_TRUE(w[i].got == w[THREADS].got &&
		               memcmp(w[i].ids, w[THREADS].ids, (size_t)w[i].got * 2) == 0);
	for (size_t i = 0; i <= THREADS; i++)
		free(w[i].ids);
	tokenizer_close(shared);
	tokenizer_close(alone);
}

/* Without a cache, or with one that is full at once, the ids are the same. */
static void small_caches(void)
{
	static const char text[] = "Some words that are not in any vocabulary: zxqj zxqj "
	                           "floccinaucinihilipilification 12345 \xe4\xb8\xad\xe6\x96\x87";
	static const size_t sizes[] = { 0, 1, 4096, SIZE_MAX / 2 };
	uint16_t want[3 * sizeof text + 8], ids[3 * sizeof text + 8];
	struct tokenizer *t = opened("gpt2", NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	struct encoder *e = encoder_new(t);
	int64_t n = encoder_encode(e, text, sizeof text, want);
	encoder_free(e);
	CU_ASSERT_TRUE(n > 20);
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(tokenizer_cache(t, sizes[i]), 0);
		e = encoder_new(t);
		for (int pass = 0; pass < 2; pass++) {
			CU_ASSERT_EQUAL(encoder_encode(e, text, sizeof text, ids), n);
			CU_ASSERT_EQUAL(memcmp(ids, want, (size_t)n * 2), 0);
		}
		encoder_free(e);
	}
	CU_ASSERT_EQUAL(tokenizer_cache(t, sizes[3]), -ENOMEM);
	tokenizer_close(t);
}

/* Every word of the dictionary has the ids that it has without one. */
static void dictionary_is_right(void)
{
	static const char *const names[] = { "gpt2", "cl100k", "o200k" };
	const char *top = getenv("srcdir");
	char path[4096], word[64], form[80];
	uint32_t want[256], ids[256];
	snprintf(path, sizeof path, "%s/src/token/vocab/words.txt", top != NULL ? top : ".");
	for (size_t i = 0; i < 3; i++) {
		FILE *f = fopen(path, "r");
		struct tokenizer *t = opened(names[i], NULL), *bare = opened(names[i], NULL);
		CU_ASSERT_TRUE_FATAL(f != NULL && t != NULL && bare != NULL && tokenizer_cache(bare, 0) == 0);
		struct encoder *with = encoder_new(t), *without = encoder_new(bare);
		unsigned words = 0, bad = 0;
		for (; fscanf(f, "%63s", word) == 1; words++) {
			for (unsigned which = 0; which < 4; which++) {
				int n = snprintf(form, sizeof form, "%s%s", which < 2 ? " " : "", word);
				if (which % 2 == 1)
					form[which < 2] = (char)(form[which < 2] - 'a' + 'A');
				int64_t a = encoder_encode(with, form, (size_t)n, ids);
				int64_t b = encoder_encode(without, form, (size_t)n, want);
				bad += a != b || memcmp(ids, want, (size_t)a * width_of(names[i])) != 0;
			}
		}
		CU_ASSERT_EQUAL(words, 60000);
		CU_ASSERT_EQUAL(bad, 0);
		encoder_free(with);
		encoder_free(without);
		tokenizer_close(t);
		tokenizer_close(bare);
		fclose(f);
	}
}

/* However a text is cut into parts, the ids are those of the whole. */
static void streams_take_any_cut(void)
{
	static const char unit[] =
	        "It's a  test of \xe4\xb8\xad\xe6\x96\x87 text,\n\n with 12345  spaces \xff and x y z.\t ";
	enum { TIMES = 40, SIZE = TIMES * (sizeof unit - 1) };
	static char text[SIZE];
	for (size_t i = 0; i < TIMES; i++)
		memcpy(text + i * (sizeof unit - 1), unit, sizeof unit - 1);
	struct tokenizer *t = opened("cl100k", NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	struct encoder *e = encoder_new(t);
	uint32_t *want = malloc(encoder_bound(SIZE) * sizeof *want);
	CU_ASSERT_PTR_NOT_NULL_FATAL(want);
	int64_t n = encoder_encode(e, text, SIZE, want);
	for (size_t step = 1; step < SIZE; step += step < 70 ? 1 : 997) {
		struct textstream s = { .e = e };
		struct buffer ids = { 0 };
		int r = 0;
		for (size_t i = 0; i < SIZE; i += step)
			r |= textstream_put(&s, text + i, SIZE - i < step ? SIZE - i : step, &ids, NULL);
		if (step < 70)
			CU_ASSERT_TRUE(s.held.n < 100);
		r |= textstream_end(&s, &ids, NULL);
		CU_ASSERT_EQUAL(r, 0);
		CU_ASSERT_TRUE(ids.n == (size_t)n * sizeof *want && memcmp(ids.at, want, ids.n) == 0);
		buffer_free(&ids);
	}
	uint32_t *ids = malloc(encoder_bound(SIZE) * sizeof *ids);
	for (size_t most = 70; ids != NULL && most < SIZE; most += 97) {
		int64_t have = 0;
		for (size_t done = 0, part; done < SIZE; done += part) {
			CU_ASSERT_TRUE((part = textstream_cut(text + done, SIZE - done, most)) <= most);
			have += encoder_encode(e, text + done, part, ids + have);
		}
		CU_ASSERT_TRUE(have == n && memcmp(ids, want, (size_t)n * sizeof *want) == 0);
	}
	free(ids);
	free(want);
	encoder_free(e);
	tokenizer_close(t);
}

static void decoder_takes_any_cut(void)
{
	static const uint8_t bytes[] = "a\xe4\xb8\xad\xf0\x9f\x98\x80\xff\xe4\xb8z\xc3";
	static const char want[] = "a\xe4\xb8\xad\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd";
	for (size_t step = 1; step < sizeof bytes; step++) {
		struct decoder d = { 0 };
		struct buffer out = { 0 };
		for (size_t i = 0; i < sizeof bytes - 1; i += step) {
			size_t n = sizeof bytes - 1 - i < step ? sizeof bytes - 1 - i : step;
			CU_ASSERT_EQUAL(decoder_put(&d, bytes + i, n, &out, NULL), 0);
		}
		CU_ASSERT_EQUAL(decoder_end(&d, &out, NULL), 0);
		CU_ASSERT_TRUE(out.n == sizeof want - 1 && memcmp(out.at, want, out.n) == 0);
		buffer_free(&out);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "gpt2 ids are tiktoken's", gpt2_ids },
		{ "cl100k ids are tiktoken's", cl100k_ids },
		{ "o200k ids are tiktoken's", o200k_ids },
		{ "every code point has its class", every_code_point },
		{ "ids of tokenizer.json are those of HF tokenizers", tokenizer_json_ids },
		{ "long words", long_words },
		{ "what is known without opening", what_is_known_without_opening },
		{ "bytes of ids", bytes_of_ids },
		{ "names that are none", names_that_are_none },
		{ "models that are not supported", models_that_are_not_supported },
		{ ".tiktoken files", tiktoken_files },
		{ "threads share words", threads_share_words },
		{ "small caches", small_caches },
		{ "the dictionary is right", dictionary_is_right },
		{ "streams take any cut", streams_take_any_cut },
		{ "the decoder takes any cut", decoder_takes_any_cut },
		CU_TEST_INFO_NULL,
	};
	return unit_main("token", tests);
}
