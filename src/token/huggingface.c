#include "token/huggingface.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "token/scan.h"
#include "token/unicode.h"

struct reader {
	struct tokenizer *t;
	const char *name;
	struct error *err;
	struct buffer key, entries; /* struct entry of each token */
	struct names tokens;        /* their bytes */
	struct merges *merges;      /* NULL: they are passed over */
	struct span normalizer, pre_tokenizer, added;
	bool brief; /* merges are passed over */
	bool has_model, has_vocab, has_merges;
	uint32_t next;        /* the id that the last merge made */
	struct span small[6]; /* of the model, in the order of small_keys */
};

static const char *const small_keys[] = {
	"type",          "dropout",       "continuing_subword_prefix", "end_of_word_suffix",
	"byte_fallback", "ignore_merges",
};
enum { TYPE, DROPOUT, PREFIX, SUFFIX, BYTE_FALLBACK, IGNORE_MERGES, SMALL_KEYS };

struct entry {
	uint32_t id, n;
	size_t at;
	bool hidden;
};

static int damaged(struct reader *r, const char *what)
{
	return fail(r->err, EBADMSG, "%s: %s", r->name, what);
}

static bool key_is(const struct reader *r, const char *text)
{
	return span_is(span_of(r->key.at, r->key.n), text);
}

/* A small part as a tree, null when it is not there. Reference of the caller. */
static json_t *tree(struct reader *r, struct span part, const char *what)
{
	json_error_t where;
	if (part.n == 0)
		return json_null();
	json_t *j = json_loadb((const char *)part.at, part.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);
	if (j == NULL)
		fail(r->err, EBADMSG, "%s: \"%s\": %s", r->name, what, where.text);
	return j;
}

static bool is_type(const json_t *j, const char *type)
{
	const char *is = json_string_value(json_object_get(j, "type"));
	return is != NULL && strcmp(is, type) == 0;
}

static int unsupported(struct reader *r, const char *what, const char *is)
{
	return fail(r->err, ENOTSUP, "%s: %s \"%s\" is not supported", r->name, what, is != NULL ? is : "");
}

static int check_model(struct reader *r)
{
	int result = 0;
	for (size_t i = 0; i < SMALL_KEYS && result == 0; i++) {
		json_t *j = tree(r, r->small[i], small_keys[i]);
		if (j == NULL)
			return -EBADMSG;
		if (i == TYPE && !json_is_null(j) &&
		    (!json_is_string(j) || strcmp(json_string_value(j), "BPE") != 0))
			result = unsupported(r, "model", json_string_value(j));
		else if (i == DROPOUT && !json_is_null(j) && json_number_value(j) != 0)
			result = fail(r->err, ENOTSUP, "%s: a model with dropout is not supported", r->name);
		else if ((i == PREFIX || i == SUFFIX) && json_string_length(j) > 0)
			result = unsupported(r, small_keys[i], json_string_value(j));
		else if (i == BYTE_FALLBACK && json_is_true(j))
			result = fail(
			        r->err, ENOTSUP,
			        "%s: a model with byte_fallback is not supported, only byte-level ones are",
			        r->name);
		else if (i == IGNORE_MERGES)
			r->t->whole = json_is_true(j);
		json_decref(j);
	}
	return result;
}

/* The bytes from `at` on are those of this id. */
static int add_entry(struct reader *r, uint32_t id, size_t at, bool hidden)
{
	struct entry e = { .id = id, .n = (uint32_t)(r->tokens.bytes.n - at), .at = at, .hidden = hidden };
	if (id >= VOCAB_MOST)
		return fail(r->err, ENOTSUP, "%s: id %u, at most %u are supported", r->name, id, VOCAB_MOST);
	if (id >= r->t->info.vocab)
		r->t->info.vocab = id + 1;
	if (buffer_add(&r->entries, &e, sizeof e, 0, NULL) < 0)
		return fail(r->err, ENOMEM, "%s: out of memory", r->name);
	return 0;
}

/* Takes "vocab". */
static int read_vocab(struct reader *r, struct span *s)
{
	bool first = true;
	int more;
	/* Of one that stands twice the last counts. */
	names_free(&r->tokens);
	r->entries.n = 0;
	r->t->info.vocab = 0;
	r->has_vocab = true;
	if (names_start(&r->tokens, s->n) < 0)
		return fail(r->err, ENOMEM, "%s: out of memory", r->name);
	if (!scan_mark(s, '{'))
		return damaged(r, "\"vocab\" is not an object");
	while ((more = scan_item(s, &first, '}')) > 0) {
		const struct buffer *b = &r->tokens.bytes;
		size_t at = b->n;
		bool hidden;
		uint32_t id;
		if (!names_take(&r->tokens, s, &hidden) || !scan_mark(s, ':'))
			return damaged(r, "malformed JSON in \"vocab\"");
		if (!scan_number(s, &id))
			return fail(r->err, EBADMSG, "%s: \"vocab\": the id of \"%.*s\" is not a number",
			            r->name, (int)(b->n - at < 100 ? b->n - at : 100),
			            (const char *)b->at + at);
		int failed = add_entry(r, id, at, hidden);
		if (failed < 0)
			return failed;
	}
	return more < 0 ? damaged(r, "malformed JSON in \"vocab\"") : 0;
}

/* Takes the model: its lists, and where its other parts lie. */
static int read_model(struct reader *r, struct span *s)
{
	bool first = true;
	int more;
	r->has_model = true;
	if (!scan_mark(s, '{'))
		return damaged(r, "\"model\" is not an object");
	while ((more = scan_member(s, &first, &r->key)) > 0) {
		bool vocab = key_is(r, "vocab"), merges = r->merges != NULL && key_is(r, "merges");
		if (vocab || merges) {
			int failed = vocab ? read_vocab(r, s) : merges_read(r->merges, s, r->name, r->err);
			/* Of another kind of model the lists look different: then its name says more. */
			int kind = failed < 0 ? check_model(r) : 0;
			if (kind < 0 || failed < 0)
				return kind < 0 ? kind : failed;
			continue;
		}
		struct span *where = NULL;
		for (size_t i = 0; where == NULL && i < SMALL_KEYS; i++)
			if (key_is(r, small_keys[i]))
				where = &r->small[i];
		if (!scan_skip(s, where))
			return damaged(r, "malformed JSON in \"model\"");
	}
	return more < 0 ? damaged(r, "malformed JSON in \"model\"") : 0;
}

/* Reads the lists, and notes where the other parts of the file lie. */
static int read_parts(struct reader *r, struct span file)
{
	bool first = true;
	int more;
	if (!scan_mark(&file, '{'))
		return damaged(r, "not a JSON object");
	while ((more = scan_member(&file, &first, &r->key)) > 0) {
		struct span *where = key_is(r, "normalizer")      ? &r->normalizer
		                     : key_is(r, "pre_tokenizer") ? &r->pre_tokenizer
		                     : key_is(r, "added_tokens")  ? &r->added
		                                                  : NULL;
		if (where == NULL && key_is(r, "model")) {
			int failed = read_model(r, &file);
			if (failed < 0)
				return failed;
		} else if (!scan_skip(&file, where)) {
			return damaged(r, "malformed JSON");
		}
	}
	if (more < 0)
		return damaged(r, "malformed JSON");
	if (!r->has_model)
		return damaged(r, "no \"model\"");
	return 0;
}

static int read_normalizer(struct reader *r, const json_t *j)
{
	if (json_is_null(j))
		return 0;
	if (is_type(j, "NFC")) {
		r->t->nfc = true;
		return 0;
	}
	const json_t *list = json_object_get(j, "normalizers"), *item;
	size_t i;
	if (!is_type(j, "Sequence") || !json_is_array(list))
		return unsupported(r, "normalizer", json_string_value(json_object_get(j, "type")));
	json_array_foreach(list, i, item)
	{
		if (!is_type(item, "NFC"))
			return unsupported(r, "normalizer", json_string_value(json_object_get(item, "type")));
		r->t->nfc = true;
	}
	return 0;
}

/* The patterns of published files, as they stand there. */
#define PATTERN_CL100K                                \
	"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| " \
	"?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define PATTERN_QWEN2 \
	"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define FOLDED "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LETTERS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL_LETTERS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define NUMBERS3 "\\p{N}{1,3}"
#define CJK "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
#define DEEPSEEK3                                                                                         \
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" \
	"| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"

static const struct {
	const char *pattern;
	split_fn *split;
} known[] = {
	{ "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", split_gpt2 },
	{ "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", split_gpt2 },
	{ FOLDED "|" PATTERN_CL100K, split_llama3 },
	{ FOLDED "|" PATTERN_QWEN2, split_qwen2 },
	{ "[^\\r\\n\\p{L}\\p{N}]?" LETTERS "*" SMALL_LETTERS "+" FOLDED "?|[^\\r\\n\\p{L}\\p{N}]?" LETTERS
	  "+" SMALL_LETTERS "*" FOLDED
	  "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
	  split_o200k },
};

/* The pattern of a Split whose pieces are all that it matches, else NULL. */
static const char *split_pattern(const json_t *j)
{
	const char *behavior = json_string_value(json_object_get(j, "behavior"));
	bool invert = json_is_true(json_object_get(j, "invert"));
	if (!is_type(j, "Split") || behavior == NULL ||
	    strcmp(behavior, invert ? "Removed" : "Isolated") != 0)
		return NULL;
	return json_string_value(json_object_get(json_object_get(j, "pattern"), "Regex"));
}

static bool is_split(const json_t *j, const char *pattern)
{
	const char *is = split_pattern(j);
	return is != NULL && strcmp(is, pattern) == 0 && !json_is_true(json_object_get(j, "invert"));
}

/* A ByteLevel that adds no space; whether it also cuts with GPT-2's pattern. */
static bool is_byte_level(const json_t *j, bool cuts)
{
	const json_t *cut = json_object_get(j, "use_regex");
	return is_type(j, "ByteLevel") && json_is_false(json_object_get(j, "add_prefix_space")) &&
	       (cut == NULL || json_is_true(cut)) == cuts;
}

/* Says which part is not known. */
static int unknown_pieces(struct reader *r, const json_t *j)
{
	const json_t *list = json_object_get(j, "pretokenizers"), *item;
	size_t i;
	json_array_foreach(list, i, item)
	{
		const char *pattern =
		        json_string_value(json_object_get(json_object_get(item, "pattern"), "Regex"));
		if (pattern != NULL)
			return unsupported(r, "pattern", pattern);
	}
	if (is_type(j, "ByteLevel") && !json_is_false(json_object_get(j, "add_prefix_space")))
		return fail(r->err, ENOTSUP, "%s: a ByteLevel with add_prefix_space is not supported",
		            r->name);
	return unsupported(r, "pre_tokenizer", json_string_value(json_object_get(j, "type")));
}

static int read_pre_tokenizer(struct reader *r, const json_t *j)
{
	const json_t *list = json_object_get(j, "pretokenizers");
	const json_t *a = json_array_get(list, 0), *b = json_array_get(list, 1);
	size_t n = json_array_size(list);
	split_fn *split = NULL;
	if (is_byte_level(j, true) || (n == 1 && is_byte_level(a, true)))
		split = split_gpt2;
	else if (n == 2 && is_byte_level(b, true) && is_type(a, "Digits") &&
	         json_is_true(json_object_get(a, "individual_digits")))
		split = split_smollm2;
	else if (n == 4 && is_split(a, NUMBERS3) && is_split(b, CJK) &&
	         is_split(json_array_get(list, 2), DEEPSEEK3) &&
	         is_byte_level(json_array_get(list, 3), false))
		split = split_deepseek3;
	const char *pattern = n == 2 && is_byte_level(b, false) ? split_pattern(a) : NULL;
	for (size_t i = 0; pattern != NULL && split == NULL && i < sizeof known / sizeof *known; i++)
		if (strcmp(pattern, known[i].pattern) == 0)
			split = known[i].split;
	r->t->split = split;
	return split != NULL ? 0 : unknown_pieces(r, j);
}

/* Names that files give to the id that begins a document. */
static const char *const begins[] = { "<|endoftext|>", "<|begin_of_text|>",
	                              "<\uff5cbegin\u2581of\u2581sentence\uff5c>" };

static int read_added(struct reader *r, const json_t *list)
{
	const json_t *item;
	size_t i, best = sizeof begins / sizeof *begins;
	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(json_object_get(item, "content"));
		json_int_t id = json_integer_value(json_object_get(item, "id"));
		if (text == NULL || !json_is_integer(json_object_get(item, "id")) || id < 0 ||
		    id >= VOCAB_MOST)
			return damaged(r, "\"added_tokens\": an item without content or id");
		size_t at = r->tokens.bytes.n;
		if (buffer_add(&r->tokens.bytes, text, strlen(text), 0, NULL) < 0)
			return fail(r->err, ENOMEM, "%s: out of memory", r->name);
		int failed = add_entry(r, (uint32_t)id, at, true);
		if (failed < 0)
			return failed;
		for (size_t k = 0; k < best; k++) {
			if (strcmp(text, begins[k]) == 0) {
				r->t->info.bos = id;
				best = k;
			}
		}
	}
	return 0;
}

/* Puts the entries in the order of their ids. An added token may be in the vocabulary too: then that entry,
 * which comes first, stays. */
static int fill_vocab(struct reader *r)
{
	struct vocab *v = &r->t->vocab;
	struct entry *e = (struct entry *)(void *)r->entries.at;
	size_t n = r->entries.n / sizeof *e;
	v->n = r->t->info.vocab;
	v->at = calloc((size_t)v->n + 1, sizeof *v->at);
	v->hidden = calloc(1, v->n / 8 + 1);
	v->bytes = malloc(r->tokens.bytes.n + 1);
	if (v->at == NULL || v->hidden == NULL || v->bytes == NULL)
		return fail(r->err, ENOMEM, "%s: out of memory", r->name);
	for (size_t i = 0; i < n; i++) {
		if (v->at[e[i].id + 1] != 0) {
			if (!e[i].hidden)
				return fail(r->err, EBADMSG, "%s: \"vocab\": id %u stands twice", r->name,
				            e[i].id);
			e[i].n = 0;
		} else {
			v->at[e[i].id + 1] = e[i].n;
			if (!e[i].hidden && e[i].n > v->longest)
				v->longest = e[i].n;
		}
	}
	for (uint32_t id = 0; id < v->n; id++)
		v->at[id + 1] += v->at[id];
	for (size_t i = 0; i < n; i++) {
		if (e[i].n == 0)
			continue;
		memcpy(v->bytes + v->at[e[i].id], r->tokens.bytes.at + e[i].at, e[i].n);
		if (e[i].hidden)
			v->hidden[e[i].id / 8] |= (uint8_t)(1u << (e[i].id % 8));
	}
	return vocab_index(v, r->name, r->err);
}

/* The small parts, which are trees. */
static int read_small(struct reader *r)
{
	json_t *normalizer = tree(r, r->normalizer, "normalizer");
	json_t *pre = tree(r, r->pre_tokenizer, "pre_tokenizer");
	json_t *added = tree(r, r->added, "added_tokens");
	int failed = normalizer == NULL || pre == NULL || added == NULL ? -EBADMSG : check_model(r);
	if (failed == 0)
		failed = read_normalizer(r, normalizer);
	if (failed == 0)
		failed = read_pre_tokenizer(r, pre);
	if (failed == 0)
		failed = read_added(r, added);
	json_decref(normalizer);
	json_decref(pre);
	json_decref(added);
	return failed;
}

int huggingface_read(struct tokenizer *t, struct span file, const char *name, struct merges *merges,
                     struct error *err)
{
	struct reader r = { .t = t, .name = name, .err = err, .merges = merges };
	t->info.bos = -1;
	int failed = read_parts(&r, file);
	if (failed == 0)
		failed = read_small(&r);
	if (failed == 0 && !r.has_vocab)
		failed = damaged(&r, "no \"vocab\"");
	if (failed == 0 && merges != NULL && !merges->there)
		failed = damaged(&r, "no \"merges\"");
	if (failed == 0 && merges != NULL)
		failed = fill_vocab(&r);
	buffer_free(&r.key);
	buffer_free(&r.entries);
	names_free(&r.tokens);
	return failed;
}
