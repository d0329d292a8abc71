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
	struct buffer key, bytes, entries; /* bytes of all tokens; struct entry for each */
	struct span normalizer, pre_tokenizer, added, vocab, merges;
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

/* Takes the model, and notes where its parts lie. */
static int find_model(struct reader *r, struct span *model)
{
	bool first = true;
	int more;
	if (!scan_mark(model, '{'))
		return damaged(r, "\"model\" is not an object");
	while ((more = scan_member(model, &first, &r->key)) > 0) {
		struct span *where = key_is(r, "vocab") ? &r->vocab : key_is(r, "merges") ? &r->merges : NULL;
		for (size_t i = 0; where == NULL && i < SMALL_KEYS; i++)
			if (key_is(r, small_keys[i]))
				where = &r->small[i];
		if (!scan_skip(model, where))
			return damaged(r, "malformed JSON in \"model\"");
	}
	return more < 0 ? damaged(r, "malformed JSON in \"model\"") : 0;
}

/* Notes where the parts of the file lie. */
static int find_parts(struct reader *r, struct span file)
{
	bool first = true, model = false;
	int more;
	if (!scan_mark(&file, '{'))
		return damaged(r, "not a JSON object");
	while ((more = scan_member(&file, &first, &r->key)) > 0) {
		struct span *where = key_is(r, "normalizer")      ? &r->normalizer
		                     : key_is(r, "pre_tokenizer") ? &r->pre_tokenizer
		                     : key_is(r, "added_tokens")  ? &r->added
		                                                  : NULL;
		if (where == NULL && key_is(r, "model")) {
			int failed = find_model(r, &file);
			if (failed < 0)
				return failed;
			model = true;
		} else if (!scan_skip(&file, where)) {
			return damaged(r, "malformed JSON");
		}
	}
	if (more < 0)
		return damaged(r, "malformed JSON");
	return model ? 0 : damaged(r, "no \"model\"");
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

static int add_entry(struct reader *r, uint32_t id, const uint8_t *p, size_t n, bool hidden)
{
	struct entry e = { .id = id, .n = (uint32_t)n, .at = r->bytes.n, .hidden = hidden };
	if (id >= VOCAB_MOST)
		return fail(r->err, ENOTSUP, "%s: id %u, at most %u are supported", r->name, id, VOCAB_MOST);
	if (id >= r->t->info.vocab)
		r->t->info.vocab = id + 1;
	if (buffer_add(&r->bytes, p, n, 0, NULL) < 0 || buffer_add(&r->entries, &e, sizeof e, 0, NULL) < 0)
		return fail(r->err, ENOMEM, "%s: out of memory", r->name);
	return 0;
}

/* GPT-2 writes each byte as a character: those that print as themselves, the other 68 from U+0100 on. */
struct letters {
	uint16_t byte[0x144]; /* 256: none */
};

static void letters_fill(struct letters *l)
{
	uint16_t next = 0x100;
	for (size_t c = 0; c < 0x144; c++)
		l->byte[c] = 256;
	for (uint16_t b = 0; b < 256; b++) {
		bool prints = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
		l->byte[prints ? b : next++] = b;
	}
}

/* Replaces characters with the bytes they stand for, where all of them stand for one. */
static bool letters_to_bytes(const struct letters *l, uint8_t *p, size_t *n)
{
	size_t out = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < *n;) {
			/* A damaged file may have a cut sequence here; the characters have at most two bytes.
			 */
			unsigned length = p[i] < 0x80 ? 1 : 2;
			if (i + length > *n || p[i] >= 0xC6)
				return false;
			uint32_t c = length == 1 ? p[i] : (uint32_t)(p[i] & 0x1F) << 6 | (p[i + 1] & 0x3F);
			if (c >= 0x144 || l->byte[c] == 256)
				return false;
			if (pass == 1)
				p[out++] = (uint8_t)l->byte[c];
			i += length;
		}
	}
	*n = out;
	return true;
}

static int read_vocab(struct reader *r, const struct letters *l)
{
	struct span s = r->vocab;
	bool first = true;
	int more;
	if (!scan_mark(&s, '{'))
		return damaged(r, "\"vocab\" is not an object");
	while ((more = scan_member(&s, &first, &r->key)) > 0) {
		uint32_t id;
		if (!scan_number(&s, &id))
			return fail(r->err, EBADMSG, "%s: \"vocab\": the id of \"%.*s\" is not a number",
			            r->name, (int)(r->key.n < 100 ? r->key.n : 100), (const char *)r->key.at);
		bool bytes = letters_to_bytes(l, r->key.at, &r->key.n);
		int failed = add_entry(r, id, r->key.at, r->key.n, !bytes);
		if (failed < 0)
			return failed;
	}
	return more < 0 ? damaged(r, "malformed JSON in \"vocab\"") : 0;
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
		int failed = add_entry(r, (uint32_t)id, (const uint8_t *)text, strlen(text), true);
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
	v->bytes = malloc(r->bytes.n + 1);
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
		memcpy(v->bytes + v->at[e[i].id], r->bytes.at + e[i].at, e[i].n);
		if (e[i].hidden)
			v->hidden[e[i].id / 8] |= (uint8_t)(1u << (e[i].id % 8));
	}
	return vocab_index(v, r->name, r->err);
}

struct merge_reader {
	const struct letters *letters;
	struct buffer left, right;
};

/* Takes one item of "merges": "A B" or ["A", "B"]. */
static bool take_merge(struct span *s, struct merge_reader *m)
{
	bool first = true;
	if (scan_peek(s) == '[')
		return scan_mark(s, '[') && scan_item(s, &first) == 1 && scan_string(s, &m->left) &&
		       scan_item(s, &first) == 1 && scan_string(s, &m->right) && scan_item(s, &first) == 0;
	if (!scan_string(s, &m->left) || m->left.n == 0)
		return false;
	uint8_t *space = memchr(m->left.at, ' ', m->left.n);
	if (space == NULL)
		return false;
	size_t n = (size_t)(space - m->left.at), more = m->left.n - n - 1;
	m->right.n = 0;
	if (memchr(space + 1, ' ', more) != NULL || buffer_add(&m->right, space + 1, more, 0, NULL) < 0)
		return false;
	m->left.n = n;
	return true;
}

/* Adds the pair. One of tokens that are no bytes never meets a text, but has its rank. */
static int add_merge(struct reader *r, struct merge_reader *m, uint32_t rank)
{
	const struct vocab *v = &r->t->vocab;
	if (!letters_to_bytes(m->letters, m->left.at, &m->left.n) ||
	    !letters_to_bytes(m->letters, m->right.at, &m->right.n))
		return 0;
	uint32_t left = vocab_find(v, m->left.at, m->left.n), right = vocab_find(v, m->right.at, m->right.n);
	if (buffer_add(&m->left, m->right.at, m->right.n, 0, NULL) < 0)
		return fail(r->err, ENOMEM, "%s: out of memory", r->name);
	uint32_t made = vocab_find(v, m->left.at, m->left.n);
	if (left == VOCAB_NONE || right == VOCAB_NONE || made == VOCAB_NONE)
		return fail(r->err, EBADMSG,
		            "%s: \"merges\": item %u has a token that is not in the vocabulary", r->name,
		            rank);
	pairs_add(&r->t->pairs, left, right, rank);
	r->t->pairs.made[rank] = made;
	return 0;
}

static int read_merges(struct reader *r, const struct letters *l)
{
	struct merge_reader m = { .letters = l };
	struct span s = r->merges;
	/* Between two items is a comma; there may be others. */
	size_t most = 1;
	for (size_t i = 0; i < s.n; i++)
		most += s.at[i] == ',';
	if (most > PAIRS_MOST)
		most = PAIRS_MOST;
	bool first = true;
	int more = 0, failed = 0;
	uint32_t rank = 0;
	r->t->pairs.made = malloc((most + 1) * sizeof *r->t->pairs.made);
	if (r->t->pairs.made == NULL || pairs_make(&r->t->pairs, most) < 0)
		failed = fail(r->err, ENOMEM, "%s: out of memory", r->name);
	else if (!scan_mark(&s, '['))
		failed = damaged(r, "\"merges\" is not an array");
	while (failed == 0 && (more = scan_item(&s, &first)) > 0) {
		if (rank >= most)
			failed = fail(r->err, ENOTSUP, "%s: more than %u merges are not supported", r->name,
			              PAIRS_MOST);
		else if (!take_merge(&s, &m))
			failed = fail(r->err, EBADMSG, "%s: \"merges\": item %u is not two tokens", r->name,
			              rank);
		else
			failed = add_merge(r, &m, rank++);
	}
	buffer_free(&m.left);
	buffer_free(&m.right);
	return failed == 0 && more < 0 ? damaged(r, "malformed JSON in \"merges\"") : failed;
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
	struct letters letters;
	letters_fill(&letters);
	if (failed == 0)
		failed = read_vocab(r, &letters);
	if (failed == 0)
		failed = read_added(r, added);
	json_decref(normalizer);
	json_decref(pre);
	json_decref(added);
	return failed;
}

int huggingface_read(struct tokenizer *t, struct span file, const char *name, bool brief, struct error *err)
{
	struct reader r = { .t = t, .name = name, .err = err };
	struct letters letters;
	t->info.bos = -1;
	letters_fill(&letters);
	int failed = find_parts(&r, file);
	if (failed == 0)
		failed = read_small(&r);
	if (failed == 0 && !brief)
		failed = fill_vocab(&r);
	if (failed == 0 && !brief)
		failed = read_merges(&r, &letters);
	buffer_free(&r.key);
	buffer_free(&r.bytes);
	buffer_free(&r.entries);
	return failed;
}
