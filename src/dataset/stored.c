#define _GNU_SOURCE
#include "dataset/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/hash.h"
#include "dataset/prepared.h"
#include "dataset/shardfile.h"
#include "format/tokenfile.h"
#include "io/file.h"

#define NOWHERE UINT64_MAX /* a piece that was left out */

/* Tokens of a token file that lie one after another. */
struct run {
	uint64_t token, n; /* of the file: the first, and how many; one more if closed */
	uint64_t at;       /* in all shards, the held-out one first */
	bool closed;
};

struct stored_file {
	size_t piece;    /* text: the first of its pieces in `at` */
	uint32_t pieces; /* text: of the layout */
	struct run *runs;
	size_t n_runs;
};

struct stored_shard {
	uint64_t at, tokens;   /* in all shards */
	uint64_t off;          /* bytes before its first token */
	struct source *source; /* NULL: not opened yet */
};

struct stored {
	char *dir;
	int64_t mtime_ns;
	struct prepared p;
	enum shards_form form;
	uint64_t seq_len;  /* of the mount */
	uint64_t each;     /* tokens from one piece of a token file to the next */
	uint32_t together; /* pieces of the record that are one of the mount, of Parquet files */
	struct stored_file *files;
	uint64_t *at; /* of each piece of text files: where in all shards */
	struct stored_shard *shards;
	uint64_t all; /* tokens of all shards */
	pthread_mutex_t lock;
};

/* ---- opening ---- */

static int read_file(const char *path, struct buffer *out, struct error *err)
{
	struct source *s;
	out->n = 0;
	int r = file_open(path, &s, err);
	if (r != 0)
		return r;
	if (s->size > PREPARED_MOST)
		r = fail(err, EBADMSG, "%s: has %" PRIu64 " bytes", path, s->size);
	if (r == 0)
		r = buffer_reserve(out, (size_t)s->size + 1, 0, err);
	if (r == 0)
		r = source_read(s, 0, out->at, (size_t)s->size, err);
	if (r == 0)
		out->n = (size_t)s->size;
	source_close(s);
	return r;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int check_sum(const struct buffer *b, const char *want, const char *path, struct error *err)
{
	uint8_t digest[HASH_SIZE];
	char found[HASH_HEX];
	hash_of(b->at, b->n, digest);
	hash_hex(digest, sizeof digest, found);
	return strcmp(found, want) == 0
	               ? 0
	               : fail(err, EBADMSG, "%s: its SHA-256 is not that of dataset.json", path);
}

static int place_shards(struct stored *s, struct error *err)
{
	static const char *const forms[] = { "raw", "llmc", "npy", "nanogpt" };
	size_t form = 0;
	while (form < 4 && strcmp(s->p.terms.format, forms[form]) != 0)
		form++;
	if (form == 4)
		return fail(err, EBADMSG, "%s/" PREPARED_JSON ": its format is '%.64s'", s->dir,
		            s->p.terms.format);
	s->form = (enum shards_form)form;
	s->shards = calloc(s->p.n_shards + 1, sizeof *s->shards);
	if (s->shards == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < s->p.n_shards; i++) {
		const struct prepared_shard *x = &s->p.shards[i];
		s->shards[i] = (struct stored_shard){
			.at = s->all,
			.tokens = x->tokens,
			.off = shardfile_header_size(s->form) + x->first * s->p.terms.width,
		};
		if (!add_u64(s->all, x->tokens, &s->all) || s->all > INT64_MAX / 8)
			return fail(err, EBADMSG, "%s/" PREPARED_JSON ": has too many tokens", s->dir);
	}
	return 0;
}

int stored_open(char *const *sources, size_t n, struct stored **out, struct error *err)
{
	struct buffer b = { 0 };
	char *json = NULL, *pieces = NULL, sum[HASH_HEX];
	struct stored *s = NULL;
	struct file_stat st;
	*out = NULL;
	if (n != 1 || strstr(sources[0], "://") != NULL || !is_folder(sources[0]))
		return 0;
	if (asprintf(&json, "%s/" PREPARED_JSON, sources[0]) < 0 ||
	    asprintf(&pieces, "%s/" PREPARED_PIECES, sources[0]) < 0)
		return fail(err, ENOMEM, "out of memory");
	int r = 0;
	if (file_stat_path(json, &st) != 0 || read_file(json, &b, err) != 0 ||
	    !prepared_is(span_of(b.at, b.n)))
		goto out;
	s = calloc(1, sizeof *s);
	if (s == NULL || (s->dir = strdup(sources[0])) == NULL) {
		r = fail(err, ENOMEM, "out of memory");
		goto out;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->mtime_ns = st.mtime_ns;
	r = prepared_read(span_of(b.at, b.n), &s->p, sum, err);
	if (r != 0)
		fail_in(err, "%s", json);
	if (r == 0)
		r = read_file(pieces, &b, err);
	if (r == 0)
		r = check_sum(&b, sum, pieces, err);
	if (r == 0 && (r = prepared_read_pieces(span_of(b.at, b.n), &s->p, err)) != 0)
		fail_in(err, "%s", pieces);
	if (r == 0)
		r = place_shards(s, err);
out:
	if (r != 0) {
		stored_free(s);
		s = NULL;
	}
	*out = s;
	buffer_free(&b);
	free(json);
	free(pieces);
	return r;
}

void stored_free(struct stored *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; s->shards != NULL && i < s->p.n_shards; i++)
		source_close(s->shards[i].source);
	for (size_t i = 0; s->files != NULL && i < s->p.n_files; i++)
		free(s->files[i].runs);
	free(s->shards);
	free(s->files);
	free(s->at);
	prepared_free(&s->p);
	pthread_mutex_destroy(&s->lock);
	free(s->dir);
	free(s);
}

/* ---- options ---- */

static int differs(const struct stored *s, const char *name, const char *there, const char *here,
                   struct error *err)
{
	return fail(err, EINVAL,
	            "%s: was prepared with %s=%s, not %s: mount it with that, or prepare it anew", s->dir,
	            name, there == NULL ? "none" : there, here == NULL ? "none" : here);
}

static bool same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int same_id(const struct stored *s, const char *name, int64_t there, int64_t here, struct error *err)
{
	char a[24], b[24];
	if (there == here || (there < 0 && here < 0))
		return 0;
	snprintf(a, sizeof a, "%" PRId64, there);
	snprintf(b, sizeof b, "%" PRId64, here);
	return differs(s, name, there < 0 ? NULL : a, here < 0 ? NULL : b, err);
}

/* Pieces of token files and Parquet are of another size for another seq_len. */
static int check_seq_len(struct stored *s, const struct options *o, struct error *err)
{
	uint64_t groups = ceil_div(o->seq_len, 16384), had = ceil_div(s->p.terms.seq_len, 16384);
	bool special = false, parquet = false, tokens = false;
	for (size_t i = 0; i < s->p.n_pieces; i++)
		special |= (s->p.pieces[i].flags & (PREPARED_LEFT_OUT | PREPARED_ALTERED)) != 0;
	for (size_t i = 0; i < s->p.n_files; i++) {
		parquet |= s->p.files[i].kind == KIND_PARQUET;
		tokens |= manifest_is_tokens(s->p.files[i].kind);
	}
	if ((parquet && groups % had != 0) || (parquet && special && groups != had) ||
	    (tokens && special && o->seq_len != s->p.terms.seq_len))
		return fail(err, EINVAL,
		            "%s: was prepared with seq_len=%" PRIu64
		            ", whose pieces are not those of seq_len=%" PRIu32 ": prepare it anew with that",
		            s->dir, s->p.terms.seq_len, o->seq_len);
	s->together = parquet ? (uint32_t)(groups / had) : 1;
	s->seq_len = o->seq_len;
	return 0;
}

int stored_options(struct stored *s, struct options *o, const char *tokenizer_sha256, bool *by_column,
                   struct error *err)
{
	const struct prepared_terms *t = &s->p.terms;
	if (!same(t->tokenizer_sha256, tokenizer_sha256))
		return differs(s, "tokenizer", t->tokenizer, o->tokenizer, err);
	if (!same(t->pattern, o->pattern))
		return differs(s, "pattern", t->pattern, o->pattern, err);
	int r = same_id(s, "bos", t->bos, o->bos, err);
	if (r == 0)
		r = same_id(s, "eos", t->eos, o->eos, err);
	if (r != 0)
		return r;
	*by_column = strcmp(t->counts, "column") == 0;
	if (o->counts != COUNTS_AUTO && (o->counts == COUNTS_COLUMN) != *by_column)
		return differs(s, "counts", t->counts, *by_column ? "exact" : "column", err);
	if (o->column != NULL && !same(o->column, t->column))
		return differs(s, "column", t->column, o->column, err);
	if (o->column == NULL && t->column != NULL && (o->column = strdup(t->column)) == NULL)
		return fail(err, ENOMEM, "out of memory");
	return check_seq_len(s, o, err);
}

/* ---- files and pieces ---- */

int stored_listing(struct stored *s, struct listing *out, struct error *err)
{
	struct buffer arena = { 0 };
	int r = 0;
	*out = (struct listing){ 0 };
	out->files = calloc(s->p.n_files + 1, sizeof *out->files);
	out->pinned = calloc(2, sizeof *out->pinned);
	if (out->files == NULL || out->pinned == NULL || (out->pinned[0] = strdup(s->dir)) == NULL)
		r = fail(err, ENOMEM, "out of memory");
	out->sources = 1;
	if (s->p.n_files == 0)
		r = fail(err, ENOENT, "%s: is of no files", s->dir);
	for (size_t i = 0; r == 0 && i < s->p.n_files; i++) {
		if (buffer_printf(&arena, "%s", s->p.files[i].name) != 0 ||
		    buffer_add(&arena, "", 1, 0, err) != 0 ||
		    buffer_printf(&arena, "%s: %s", s->dir, s->p.files[i].name) != 0 ||
		    buffer_add(&arena, "", 1, 0, err) != 0)
			r = fail(err, ENOMEM, "out of memory");
	}
	const char *text = (const char *)arena.at;
	for (size_t i = 0; r == 0 && i < s->p.n_files; i++) {
		struct listed_file *f = &out->files[i];
		f->kind = s->p.files[i].kind;
		f->mtime_ns = s->mtime_ns;
		f->name = text;
		text += strlen(text) + 1;
		f->where = text;
		text += strlen(text) + 1;
	}
	out->n = s->p.n_files;
	out->arena = (char *)arena.at;
	return r;
}

/* Tokens that a piece has in the shards. */
static uint64_t lying(const struct prepared_piece *x)
{
	if (x->flags & PREPARED_LEFT_OUT)
		return 0;
	return (uint64_t)x->tokens + ((x->flags & PREPARED_CLOSED) ? 1 : 0);
}

static int damaged_record(const struct stored *s, struct error *err)
{
	return fail(err, EBADMSG, "%s/" PREPARED_PIECES ": does not fit dataset.json", s->dir);
}

static const char *cause_of(const struct stored *s, uint32_t file, uint32_t piece)
{
	for (size_t i = 0; i < s->p.n_left_out; i++)
		if (s->p.left_out[i].file == file && s->p.left_out[i].piece == piece &&
		    s->p.left_out[i].cause != NULL)
			return s->p.left_out[i].cause;
	return "a piece was left out when it was prepared";
}

/* Pieces [i, end) of the record are a token file; *at is where they lie. */
static int count_tokens(struct stored *s, struct manifest *m, uint32_t file, size_t i, size_t end,
                        uint64_t *at, struct error *err)
{
	struct stored_file *f = &s->files[file];
	uint64_t token = 0;
	if (end - i == 1 && s->p.pieces[i].tokens == PREPARED_UNCOUNTED) {
		manifest_set_bad(m, file, ORDER_PIECES, EBADMSG, cause_of(s, file, 0));
		return 0;
	}
	f->runs = calloc(end - i + 1, sizeof *f->runs);
	if (f->runs == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (; i < end; i++) {
		const struct prepared_piece *x = &s->p.pieces[i];
		struct run *last = f->n_runs > 0 ? &f->runs[f->n_runs - 1] : NULL;
		if (x->tokens == PREPARED_UNCOUNTED)
			return damaged_record(s, err);
		if (!(x->flags & PREPARED_LEFT_OUT)) {
			if (last == NULL || last->closed || last->token + last->n != token)
				f->runs[f->n_runs++] = (struct run){ .token = token, .at = *at };
			last = &f->runs[f->n_runs - 1];
			last->n += x->tokens;
			last->closed = (x->flags & PREPARED_CLOSED) != 0;
		}
		token += x->tokens;
		*at += lying(x);
	}
	return manifest_set_ids(m, file, token, (uint8_t)s->p.terms.width, err);
}

static int count_text(struct stored *s, struct manifest *m, uint32_t file, size_t i, size_t end, uint64_t *at,
                      struct error *err)
{
	struct stored_file *f = &s->files[file];
	uint32_t together = s->p.files[file].kind == KIND_PARQUET ? s->together : 1;
	f->pieces = (uint32_t)ceil_div(end - i, together);
	int r = manifest_set_pieces(m, file, f->pieces, err);
	for (uint32_t p = 0; r == 0 && p < f->pieces; p++) {
		uint64_t tokens = 0, documents = 0;
		bool left_out = false, bad = false;
		s->at[f->piece + p] = *at;
		for (uint32_t k = 0; k < together && i < end; k++, i++) {
			const struct prepared_piece *x = &s->p.pieces[i];
			bad |= x->tokens == PREPARED_UNCOUNTED;
			left_out |= (x->flags & PREPARED_LEFT_OUT) != 0;
			tokens += bad ? 0 : x->tokens;
			documents += x->documents;
			*at += lying(x);
		}
		if (tokens > UINT32_MAX - 2 || documents > UINT32_MAX)
			r = damaged_record(s, err);
		else if (bad)
			manifest_set_bad(m, file, p, EBADMSG, cause_of(s, file, p));
		else
			manifest_set_known(m, file, p, (uint32_t)tokens, (uint32_t)documents);
		if (left_out)
			s->at[f->piece + p] = NOWHERE;
	}
	return r;
}

int stored_count(struct stored *s, struct manifest *m, const struct options *o, struct error *err)
{
	uint64_t at = 0;
	size_t i = 0;
	int r = 0;
	s->each = manifest_piece_sequences(m) * o->seq_len;
	s->files = calloc(s->p.n_files + 1, sizeof *s->files);
	s->at = calloc(s->p.n_pieces + 1, sizeof *s->at);
	if (s->files == NULL || s->at == NULL)
		return fail(err, ENOMEM, "out of memory for %zu pieces", s->p.n_pieces);
	for (uint32_t f = 0; r == 0 && f < s->p.n_files; f++) {
		size_t end = i;
		while (end < s->p.n_pieces && s->p.pieces[end].file == f)
			end++;
		if (end == i)
			return damaged_record(s, err);
		s->files[f].piece = i;
		manifest_set_pin(m, f, s->p.files[f].pin);
		r = manifest_is_tokens(s->p.files[f].kind) ? count_tokens(s, m, f, i, end, &at, err)
		                                           : count_text(s, m, f, i, end, &at, err);
		i = end;
	}
	if (r == 0 && (i != s->p.n_pieces || at != s->all))
		r = damaged_record(s, err);
	return r;
}

/* ---- reading ---- */

static int open_shard(struct stored *s, size_t i, struct source **out, struct error *err)
{
	const struct prepared_shard *x = &s->p.shards[i];
	uint64_t need = s->shards[i].off + x->tokens * s->p.terms.width;
	char *path = NULL;
	struct source *source;
	if (asprintf(&path, "%s/%s", s->dir, x->name) < 0)
		return fail(err, ENOMEM, "out of memory");
	int r = file_open(path, &source, err);
	if (r == -ENOENT)
		r = fail(err, ESTALE, "%s: is gone: run `fineweb prepare` again", path);
	if (r == 0 && (source->size < need || (s->form != SHARDS_NANOGPT && source->size != need))) {
		r = fail(err, ESTALE,
		         "%s: has %" PRIu64 " bytes, not %" PRIu64 ": run `fineweb prepare` again", path,
		         source->size, need);
		source_close(source);
	}
	free(path);
	if (r != 0)
		return r;
	pthread_mutex_lock(&s->lock);
	if (s->shards[i].source == NULL) {
		__atomic_store_n(&s->shards[i].source, source, __ATOMIC_RELEASE);
		source = NULL;
	}
	*out = s->shards[i].source;
	pthread_mutex_unlock(&s->lock);
	source_close(source);
	return 0;
}

static size_t find_shard(const struct stored *s, uint64_t at)
{
	size_t low = 0, high = s->p.n_shards;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->shards[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* n tokens from `at` of all shards on; out NULL: they are announced. */
static int read_at(struct stored *s, uint64_t at, uint64_t n, uint32_t vocab, uint8_t *out, bool wait,
                   struct error *err)
{
	unsigned width = (unsigned)s->p.terms.width;
	const struct tokenfile t = { .width = (uint8_t)width };
	if (at > s->all || n > s->all - at)
		return fail(err, EBADMSG, "%s: its shards do not have these tokens", s->dir);
	for (size_t i = find_shard(s, at); n > 0; i++) {
		struct source *source = __atomic_load_n(&s->shards[i].source, __ATOMIC_ACQUIRE);
		uint64_t in = at - s->shards[i].at, part = min_u64(n, s->shards[i].tokens - in),
		         off = s->shards[i].off + in * width;
		size_t bad;
		int64_t id;
		int r = source != NULL ? 0 : !wait ? -EAGAIN : open_shard(s, i, &source, err);
		if (r != 0)
			return r;
		at += part;
		n -= part;
		if (out == NULL) {
			source_announce(source, off, part * width);
			continue;
		}
		r = wait ? source_read(source, off, out, (size_t)part * width, err)
		         : source_read_now(source, off, out, (size_t)part * width);
		if (r == 0 && tokenfile_convert(&t, out, (size_t)part, vocab, width, out, &bad, &id) != 0)
			r = fail(err, EBADMSG,
			         "%s: token %" PRIu64 " is %" PRId64 ", the vocabulary has %" PRIu32 " ids",
			         source->name, in + bad, id, vocab);
		if (r != 0)
			return r;
		out += part * width;
	}
	return 0;
}

static int left_out(const struct stored *s, uint32_t file, uint32_t piece, struct error *err)
{
	return fail(err, EBADMSG, "%s: %s: piece %" PRIu32 " was left out when it was prepared: %s", s->dir,
	            s->p.files[file].name, piece, cause_of(s, file, piece));
}

/* Tokens of a token file; what is read may go on in the next run, where the held-out part ends. */
static int read_runs(struct stored *s, uint32_t file, uint32_t piece, uint64_t token, uint64_t n,
                     uint32_t vocab, uint8_t *out, bool wait, struct error *err)
{
	const struct stored_file *f = &s->files[file];
	while (n > 0) {
		size_t low = 0, high = f->n_runs;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (f->runs[middle].token <= token)
				low = middle + 1;
			else
				high = middle;
		}
		const struct run *r = low == 0 ? NULL : &f->runs[low - 1];
		uint64_t has = r == NULL ? 0 : r->n + r->closed, in = r == NULL ? 0 : token - r->token;
		if (in >= has)
			return left_out(s, file, piece, err);
		uint64_t part = min_u64(n, has - in);
		int e = read_at(s, r->at + in, part, vocab, out, wait, err);
		if (e != 0)
			return e;
		token += part;
		n -= part;
		out = out == NULL ? NULL : out + part * s->p.terms.width;
	}
	return 0;
}

int stored_read(struct stored *s, uint32_t file, uint32_t piece, uint64_t from, size_t n, uint32_t vocab,
                void *out, bool wait, struct error *err)
{
	if (manifest_is_tokens(s->p.files[file].kind))
		return read_runs(s, file, piece, piece * s->each + from, n, vocab, out, wait, err);
	uint64_t at = s->at[s->files[file].piece + piece];
	return at == NOWHERE ? left_out(s, file, piece, err)
	                     : read_at(s, at + from, n, vocab, out, wait, err);
}

void stored_announce(struct stored *s, uint32_t file, uint32_t piece, uint64_t from, uint64_t n)
{
	if (manifest_is_tokens(s->p.files[file].kind))
		read_runs(s, file, piece, piece * s->each + from, n, UINT32_MAX, NULL, true, NULL);
	else if (s->at[s->files[file].piece + piece] != NOWHERE)
		read_at(s, s->at[s->files[file].piece + piece] + from, n, UINT32_MAX, NULL, true, NULL);
}
