#define _GNU_SOURCE
#include "dataset/prepared.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/kind.h"
#include "store/archive.h"
#include "store/counts.h"

#define FORM 1 /* of the files this program writes */

static const struct term {
	const char *name;
	char kind; /* 's' text, 'i' signed, 'u' unsigned */
	size_t offset;
} terms[] = {
	{ "tokenizer", 's', offsetof(struct prepared_terms, tokenizer) },
	{ "tokenizer_sha256", 's', offsetof(struct prepared_terms, tokenizer_sha256) },
	{ "pattern", 's', offsetof(struct prepared_terms, pattern) },
	{ "bos", 'i', offsetof(struct prepared_terms, bos) },
	{ "eos", 'i', offsetof(struct prepared_terms, eos) },
	{ "bytes_per_token", 'u', offsetof(struct prepared_terms, width) },
	{ "column", 's', offsetof(struct prepared_terms, column) },
	{ "name", 's', offsetof(struct prepared_terms, name) },
	{ "split", 's', offsetof(struct prepared_terms, split) },
	{ "counts", 's', offsetof(struct prepared_terms, counts) },
	{ "on_error", 's', offsetof(struct prepared_terms, on_error) },
	{ "format", 's', offsetof(struct prepared_terms, format) },
	{ "shard_tokens", 'u', offsetof(struct prepared_terms, shard_tokens) },
	{ "seq_len", 'u', offsetof(struct prepared_terms, seq_len) },
	{ "val_tokens", 'u', offsetof(struct prepared_terms, val_tokens) },
	{ "target_tokens", 'u', offsetof(struct prepared_terms, target_tokens) },
	{ "files_sha256", 's', offsetof(struct prepared_terms, files_sha256) },
};
#define TERMS (sizeof terms / sizeof *terms)

/* The member of a struct that a term is. */
static void *member(const struct prepared_terms *t, const struct term *x)
{
	return (char *)(uintptr_t)t + x->offset;
}

void prepared_free(struct prepared *p)
{
	for (size_t i = 0; i < TERMS; i++)
		if (terms[i].kind == 's')
			free(*(char **)member(&p->terms, &terms[i]));
	for (size_t i = 0; i < p->sources; i++)
		free(p->source[i]);
	for (size_t i = 0; i < p->n_files; i++)
		free(p->files[i].name);
	for (size_t i = 0; i < p->n_shards; i++) {
		free(p->shards[i].name);
		free(p->shards[i].first_document);
		free(p->shards[i].last_document);
	}
	for (size_t i = 0; i < p->n_left_out; i++)
		free(p->left_out[i].cause);
	free(p->source);
	free(p->version);
	free(p->files);
	free(p->pieces);
	free(p->shards);
	free(p->left_out);
	*p = (struct prepared){ 0 };
}

/* ---- growing ---- */

/* Room for one more element: doubling at the powers of two. */
static int grow(void *array, size_t n, size_t size, struct error *err)
{
	void **at = array;
	if ((n & (n - 1)) != 0)
		return 0;
	void *more = reallocarray(*at, n == 0 ? 1 : 2 * n, size);
	if (more == NULL)
		return fail(err, ENOMEM, "out of memory");
	*at = more;
	return 0;
}

int prepared_add_file(struct prepared *p, const struct prepared_file *x, struct error *err)
{
	int r = grow(&p->files, p->n_files, sizeof *x, err);
	if (r == 0)
		p->files[p->n_files++] = *x;
	else
		free(x->name);
	return r;
}

int prepared_add_piece(struct prepared *p, const struct prepared_piece *x, struct error *err)
{
	int r = grow(&p->pieces, p->n_pieces, sizeof *x, err);
	if (r == 0)
		p->pieces[p->n_pieces++] = *x;
	return r;
}

int prepared_add_shard(struct prepared *p, const struct prepared_shard *x, struct error *err)
{
	int r = grow(&p->shards, p->n_shards, sizeof *x, err);
	if (r == 0) {
		p->shards[p->n_shards++] = *x;
		return 0;
	}
	free(x->name);
	free(x->first_document);
	free(x->last_document);
	return r;
}

int prepared_add_damage(struct prepared *p, const struct prepared_damage *x, struct error *err)
{
	int r = grow(&p->left_out, p->n_left_out, sizeof *x, err);
	if (r == 0)
		p->left_out[p->n_left_out++] = *x;
	else
		free(x->cause);
	return r;
}

/* ---- writing ---- */

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* Names and causes may be no UTF-8: then their bytes are written as Latin-1 would be read. */
static json_t *text(const char *s)
{
	if (s == NULL)
		return json_null();
	json_t *j = json_string(s);
	if (j != NULL)
		return j;
	struct buffer b = { 0 };
	for (; *s != 0; s++) {
		uint8_t c = (uint8_t)*s, two[2] = { (uint8_t)(0xc0 | c >> 6), (uint8_t)(0x80 | (c & 0x3f)) };
		buffer_add(&b, c < 0x80 ? &c : two, c < 0x80 ? 1 : 2, 0, NULL);
	}
	j = json_stringn((const char *)b.at, b.n);
	buffer_free(&b);
	return j;
}

static json_t *place(const struct prepared_place *at)
{
	return json_pack("[o,o,o]", number(at->file), number(at->piece), number(at->token));
}

static json_t *write_shard(const struct prepared_shard *s)
{
	return json_pack("{s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:o,s:o}", "file", text(s->name), "val",
	                 s->val, "number", number(s->number), "first", number(s->first), "tokens",
	                 number(s->tokens), "documents", number(s->documents), "first_document",
	                 text(s->first_document), "last_document", text(s->last_document), "sha256",
	                 s->sha256, "begin", place(&s->begin), "end", place(&s->end));
}

static json_t *write_file(const struct prepared_file *f)
{
	char pin[HASH_HEX];
	hash_hex(f->pin, sizeof f->pin, pin);
	return json_pack("{s:o,s:s,s:s}", "name", text(f->name), "kind", kind_name(f->kind), "pin", pin);
}

static void write_terms(const struct prepared_terms *t, json_t *to)
{
	for (size_t i = 0; i < TERMS; i++) {
		void *at = member(t, &terms[i]);
		json_t *j = terms[i].kind == 's'   ? text(*(char **)at)
		            : terms[i].kind == 'u' ? number(*(uint64_t *)at)
		            : *(int64_t *)at < 0   ? json_null()
		                                   : json_integer(*(int64_t *)at);
		json_object_set_new(to, terms[i].name, j);
	}
}

static void write_sums(const struct prepared *p, json_t *to)
{
	uint64_t tokens = 0, documents = 0, held = 0;
	for (size_t i = 0; i < p->n_shards; i++) {
		*(p->shards[i].val ? &held : &tokens) += p->shards[i].tokens;
		documents += p->shards[i].documents;
	}
	json_object_set_new(to, "dtype", json_string(p->terms.width == 2 ? "uint16" : "uint32"));
	json_object_set_new(to, "tokens", number(tokens));
	json_object_set_new(to, "held_out_tokens", number(held));
	json_object_set_new(to, "documents", number(documents));
}

static int append(const char *bytes, size_t n, void *to)
{
	return buffer_add(to, bytes, n, PREPARED_MOST, NULL) == 0 ? 0 : -1;
}

int prepared_write(const struct prepared *p, const char *pieces_sha256, struct buffer *out, struct error *err)
{
	json_t *j = json_object(), *source = json_array(), *files = json_array(), *shards = json_array(),
	       *damage = json_array();
	json_object_set_new(j, "prepared", json_integer(FORM));
	json_object_set_new(j, "fineweb", text(p->version));
	for (size_t i = 0; i < p->sources; i++)
		json_array_append_new(source, text(p->source[i]));
	json_object_set_new(j, "source", source);
	write_terms(&p->terms, j);
	write_sums(p, j);
	json_object_set_new(j, "ended", json_boolean(p->ended));
	for (size_t i = 0; i < p->n_shards; i++)
		json_array_append_new(shards, write_shard(&p->shards[i]));
	json_object_set_new(j, "shards", shards);
	for (size_t i = 0; i < p->n_left_out; i++)
		json_array_append_new(damage, json_pack("{s:o,s:o,s:o}", "file", number(p->left_out[i].file),
		                                        "piece", number(p->left_out[i].piece), "cause",
		                                        text(p->left_out[i].cause)));
	json_object_set_new(j, "left_out", damage);
	for (size_t i = 0; i < p->n_files; i++)
		json_array_append_new(files, write_file(&p->files[i]));
	json_object_set_new(j, "files", files);
	if (pieces_sha256 != NULL) {
		json_object_set_new(j, "pieces_sha256", json_string(pieces_sha256));
	} else {
		json_t *pieces = json_array();
		for (size_t i = 0; i < p->n_pieces; i++) {
			const struct prepared_piece *x = &p->pieces[i];
			json_array_append_new(pieces, json_pack("[o,o,o,o,o]", number(x->file),
			                                        number(x->piece), number(x->tokens),
			                                        number(x->documents), number(x->flags)));
		}
		json_object_set_new(j, "pieces", pieces);
	}
	int r = json_dump_callback(j, append, out, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	json_decref(j);
	if (r != 0)
		return fail(err, ENOMEM, "the record of the shards cannot be written as JSON");
	return buffer_add(out, "\n", 1, PREPARED_MOST, err);
}

/* Pieces [i, the return value) are of one file. */
static size_t of_file(const struct prepared *p, size_t i)
{
	size_t end = i;
	while (end < p->n_pieces && p->pieces[end].file == p->pieces[i].file)
		end++;
	return end;
}

static int write_counts(const struct prepared *p, size_t from, size_t to, struct buffer *record,
                        struct error *err)
{
	struct counts c = { .n = (uint32_t)(3 * (to - from)) };
	c.numbers = malloc(3 * (to - from) * sizeof *c.numbers);
	if (c.numbers == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (size_t i = from; i < to; i++) {
		uint32_t *at = &c.numbers[3 * (i - from)];
		at[0] = p->pieces[i].tokens;
		at[1] = p->pieces[i].documents;
		at[2] = p->pieces[i].flags;
		c.documents += at[1];
	}
	int r = counts_encode(&c, record);
	free(c.numbers);
	return r == 0 ? 0 : fail(err, -r, "cannot write down %zu pieces", to - from);
}

int prepared_write_pieces(const struct prepared *p, struct buffer *out, struct error *err)
{
	struct buffer record = { 0 };
	size_t at = 0;
	int r = archive_begin(out, (uint32_t)p->n_files, err);
	for (size_t f = 0; r == 0 && f < p->n_files; f++) {
		size_t end = at < p->n_pieces && p->pieces[at].file == f ? of_file(p, at) : at;
		record.n = 0;
		r = write_counts(p, at, end, &record, err);
		if (r == 0)
			r = archive_add(out, p->files[f].pin, span_of(record.at, record.n), err);
		at = end;
	}
	buffer_free(&record);
	return r == 0 ? archive_end(out, err) : r;
}

/* ---- reading ---- */

static int wrong(struct error *err, const char *what)
{
	return fail(err, EBADMSG, "it has no right '%s'", what);
}

static bool read_number(const json_t *j, uint64_t most, uint64_t *out)
{
	if (!json_is_integer(j) || json_integer_value(j) < 0 || (uint64_t)json_integer_value(j) > most)
		return false;
	*out = (uint64_t)json_integer_value(j);
	return true;
}

/* A text, or null. */
static bool read_text(const json_t *j, char **out)
{
	if (!json_is_string(j))
		return json_is_null(j);
	*out = strdup(json_string_value(j));
	return *out != NULL;
}

static bool read_u32(const json_t *j, uint32_t *out)
{
	uint64_t n;
	bool ok = read_number(j, UINT32_MAX, &n);
	*out = ok ? (uint32_t)n : 0;
	return ok;
}

static bool read_place(const json_t *j, struct prepared_place *out)
{
	return read_u32(json_array_get(j, 0), &out->file) && read_u32(json_array_get(j, 1), &out->piece) &&
	       read_number(json_array_get(j, 2), INT64_MAX, &out->token);
}

static int read_terms(const json_t *j, struct prepared_terms *t, struct error *err)
{
	for (size_t i = 0; i < TERMS; i++) {
		const json_t *v = json_object_get(j, terms[i].name);
		void *at = member(t, &terms[i]);
		uint64_t n;
		bool ok = terms[i].kind == 's'   ? read_text(v, at)
		          : terms[i].kind == 'u' ? read_number(v, INT64_MAX, at)
		                                 : json_is_null(v) || read_number(v, INT64_MAX, &n);
		if (!ok)
			return wrong(err, terms[i].name);
		if (terms[i].kind == 'i')
			*(int64_t *)at = json_is_null(v) ? -1 : (int64_t)n;
	}
	if (t->tokenizer_sha256 == NULL || t->counts == NULL || t->on_error == NULL || t->format == NULL ||
	    t->files_sha256 == NULL || (t->width != 2 && t->width != 4) || t->seq_len == 0 ||
	    t->shard_tokens == 0)
		return fail(err, EBADMSG, "its terms are not whole");
	return 0;
}

static int read_shard(const json_t *j, struct prepared *p, struct error *err)
{
	struct prepared_shard s = { 0 };
	const char *sha256 = json_string_value(json_object_get(j, "sha256"));
	bool ok = sha256 != NULL && strlen(sha256) == HASH_HEX - 1 &&
	          json_is_boolean(json_object_get(j, "val"));
	ok = ok && read_number(json_object_get(j, "number"), INT64_MAX, &s.number);
	ok = ok && read_number(json_object_get(j, "first"), INT64_MAX, &s.first);
	ok = ok && read_number(json_object_get(j, "tokens"), INT64_MAX / 8, &s.tokens);
	ok = ok && read_number(json_object_get(j, "documents"), INT64_MAX, &s.documents);
	ok = ok && read_place(json_object_get(j, "begin"), &s.begin);
	ok = ok && read_place(json_object_get(j, "end"), &s.end);
	ok = ok && read_text(json_object_get(j, "file"), &s.name) && s.name != NULL &&
	     strchr(s.name, '/') == NULL;
	ok = ok && read_text(json_object_get(j, "first_document"), &s.first_document);
	ok = ok && read_text(json_object_get(j, "last_document"), &s.last_document);
	if (!ok) {
		free(s.name);
		free(s.first_document);
		free(s.last_document);
		return wrong(err, "shards");
	}
	s.val = json_is_true(json_object_get(j, "val"));
	memcpy(s.sha256, sha256, HASH_HEX);
	return prepared_add_shard(p, &s, err);
}

static bool read_hex(const char *hex, uint8_t *out, size_t n)
{
	if (hex == NULL || strlen(hex) != 2 * n || strspn(hex, "0123456789abcdef") != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned v;
		sscanf(hex + 2 * i, "%2x", &v);
		out[i] = (uint8_t)v;
	}
	return true;
}

static int read_file(const json_t *j, struct prepared *p, struct error *err)
{
	struct prepared_file f = { 0 };
	const char *kind = json_string_value(json_object_get(j, "kind"));
	if (kind == NULL || !kind_named(kind, &f.kind) ||
	    !read_hex(json_string_value(json_object_get(j, "pin")), f.pin, sizeof f.pin) ||
	    !read_text(json_object_get(j, "name"), &f.name) || f.name == NULL)
		return wrong(err, "files");
	return prepared_add_file(p, &f, err);
}

static int read_damage(const json_t *j, struct prepared *p, struct error *err)
{
	struct prepared_damage x = { 0 };
	if (!read_u32(json_object_get(j, "file"), &x.file) ||
	    !read_u32(json_object_get(j, "piece"), &x.piece) ||
	    !read_text(json_object_get(j, "cause"), &x.cause)) {
		free(x.cause);
		return wrong(err, "left_out");
	}
	return prepared_add_damage(p, &x, err);
}

static int read_piece(const json_t *j, struct prepared *p, struct error *err)
{
	struct prepared_piece x = { 0 };
	uint64_t flags;
	if (!read_u32(json_array_get(j, 0), &x.file) || !read_u32(json_array_get(j, 1), &x.piece) ||
	    !read_u32(json_array_get(j, 2), &x.tokens) || !read_u32(json_array_get(j, 3), &x.documents) ||
	    !read_number(json_array_get(j, 4), 7, &flags))
		return wrong(err, "pieces");
	x.flags = (uint8_t)flags;
	return prepared_add_piece(p, &x, err);
}

static int read_source(const json_t *j, struct prepared *p, struct error *err)
{
	char *s = NULL;
	int r = grow(&p->source, p->sources, sizeof s, err);
	if (r == 0 && (!read_text(j, &s) || s == NULL))
		return wrong(err, "source");
	if (r == 0)
		p->source[p->sources++] = s;
	return r;
}

static int read_list(const json_t *j, const char *name, struct prepared *p,
                     int (*one)(const json_t *j, struct prepared *p, struct error *err), struct error *err)
{
	const json_t *list = json_object_get(j, name);
	int r = json_is_array(list) ? 0 : wrong(err, name);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
		r = one(json_array_get(list, i), p, err);
	return r;
}

static json_t *parse(struct span json)
{
	return json.n > PREPARED_MOST ? NULL : json_loadb((const char *)json.at, json.n, 0, NULL);
}

bool prepared_is(struct span json)
{
	json_t *j = parse(json);
	bool is = json_is_integer(json_object_get(j, "prepared"));
	json_decref(j);
	return is;
}

int prepared_read(struct span json, struct prepared *out, char *pieces_sha256, struct error *err)
{
	json_t *j = parse(json);
	const json_t *form = json_object_get(j, "prepared"), *sum = json_object_get(j, "pieces_sha256");
	int r = j == NULL ? fail(err, EBADMSG, "it is no JSON") : 0;
	if (r == 0 && !json_is_integer(form))
		r = fail(err, EBADMSG, "it is not what `fineweb prepare` writes");
	if (r == 0 && json_integer_value(form) != FORM)
		r = fail(err, ENOTSUP, "it is of version %" JSON_INTEGER_FORMAT ", not %d",
		         json_integer_value(form), FORM);
	if (r == 0)
		r = read_terms(j, &out->terms, err);
	if (r == 0 && !read_text(json_object_get(j, "fineweb"), &out->version))
		r = wrong(err, "fineweb");
	if (r == 0)
		r = read_list(j, "source", out, read_source, err);
	if (r == 0)
		r = read_list(j, "files", out, read_file, err);
	if (r == 0)
		r = read_list(j, "shards", out, read_shard, err);
	if (r == 0)
		r = read_list(j, "left_out", out, read_damage, err);
	pieces_sha256[0] = 0;
	if (r == 0 && sum == NULL)
		r = read_list(j, "pieces", out, read_piece, err);
	else if (r == 0 && (!json_is_string(sum) || strlen(json_string_value(sum)) != HASH_HEX - 1))
		r = wrong(err, "pieces_sha256");
	else if (r == 0)
		memcpy(pieces_sha256, json_string_value(sum), HASH_HEX);
	out->ended = json_is_true(json_object_get(j, "ended"));
	json_decref(j);
	return r;
}

static int read_counts(struct span record, uint32_t file, struct prepared *p, struct error *err)
{
	struct counts c;
	int r = counts_decode(record, &c);
	if (r != 0)
		return fail(err, -r, "the record of file %" PRIu32 " is damaged", file);
	if (c.n % 3 != 0)
		r = fail(err, EBADMSG, "the record of file %" PRIu32 " is damaged", file);
	for (uint32_t i = 0; r == 0 && i < c.n; i += 3) {
		struct prepared_piece x = { file, i / 3, c.numbers[i], c.numbers[i + 1],
			                    (uint8_t)c.numbers[i + 2] };
		r = c.numbers[i + 2] <= 7
		            ? prepared_add_piece(p, &x, err)
		            : fail(err, EBADMSG, "the record of file %" PRIu32 " is damaged", file);
	}
	free(c.numbers);
	return r;
}

int prepared_read_pieces(struct span bytes, struct prepared *p, struct error *err)
{
	struct archive *a;
	int r = archive_open(bytes, &a, err);
	if (r != 0)
		return r;
	if (archive_entries(a) != p->n_files)
		r = fail(err, EBADMSG, "it is of %" PRIu32 " files, dataset.json of %zu", archive_entries(a),
		         p->n_files);
	for (uint32_t f = 0; r == 0 && f < p->n_files; f++) {
		const uint8_t *pin;
		struct span record;
		archive_entry(a, f, &pin, &record);
		r = memcmp(pin, p->files[f].pin, HASH_SIZE) == 0
		            ? read_counts(record, f, p, err)
		            : fail(err, EBADMSG, "its file %" PRIu32 " is not that of dataset.json", f);
	}
	archive_close(a);
	return r;
}

/* ---- comparing ---- */

static void print_term(const struct prepared_terms *t, const struct term *x, char out[128])
{
	const void *at = member(t, x);
	if (x->kind == 's')
		snprintf(out, 128, "%s", *(char *const *)at == NULL ? "none" : *(char *const *)at);
	else if (x->kind == 'i' && *(const int64_t *)at < 0)
		snprintf(out, 128, "none");
	else
		snprintf(out, 128, "%" PRIu64, *(const uint64_t *)at);
}

const char *prepared_differs(const struct prepared_terms *x, const struct prepared_terms *y, char *a, char *b)
{
	for (size_t i = 0; i < TERMS; i++) {
		print_term(x, &terms[i], a);
		print_term(y, &terms[i], b);
		if (strcmp(a, b) != 0)
			return terms[i].name;
	}
	return NULL;
}
