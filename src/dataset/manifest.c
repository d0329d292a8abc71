#include "dataset/manifest_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/log.h"
#include "dataset/pin.h"
#include "format/jsonl.h"

/* The pin of a file whose listing tells it. */
static bool listed_pin(const struct listed_file *f, struct http_pin *pin)
{
	if (f->etag == NULL)
		return false;
	*pin = (struct http_pin){ .size = f->size, .linked = f->linked };
	strncpy(pin->etag, f->etag, sizeof pin->etag - 1);
	return true;
}

int manifest_new(const struct manifest_options *o, struct listing *files, struct manifest **out,
                 struct error *err)
{
	struct manifest *m = calloc(1, sizeof *m);
	if (m == NULL)
		return fail(err, ENOMEM, "out of memory");
	m->o = *o;
	m->files = *files;
	*files = (struct listing){ 0 };
	pthread_mutex_init(&m->lock, NULL);
	m->full = max_u64(1, PIECE_TOKENS / o->options->seq_len);
	m->state = calloc(m->files.n, sizeof *m->state);
	m->causes = malloc(BAD_KEPT * sizeof *m->causes);
	m->http_pins = calloc(m->files.n, sizeof *m->http_pins);
	if (m->state == NULL || m->causes == NULL || m->http_pins == NULL) {
		manifest_free(m);
		return fail(err, ENOMEM, "out of memory for %zu files", m->files.n);
	}
	for (size_t i = 0; i < m->files.n; i++) {
		struct http_pin pin;
		if (m->files.files[i].mtime_ns / 1000000000 > m->date)
			m->date = m->files.files[i].mtime_ns / 1000000000;
		if (listed_pin(&m->files.files[i], &pin)) {
			pin_of_http(m->files.files[i].where, &pin, m->state[i].pin);
			m->state[i].have_pin = 1;
		}
	}
	*out = m;
	return 0;
}

void manifest_free(struct manifest *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->files.n; i++) {
		if (m->state != NULL) {
			free(m->state[i].tokens);
			free(m->state[i].documents);
			free(m->state[i].many);
		}
		if (m->http_pins != NULL)
			free(m->http_pins[i]);
	}
	free(m->state);
	free(m->http_pins);
	free(m->causes);
	listing_free(&m->files);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void manifest_use_column(struct manifest *m, bool by_column)
{
	m->by_column = by_column;
}

uint32_t manifest_files(const struct manifest *m)
{
	return (uint32_t)m->files.n;
}

const struct listed_file *manifest_file(const struct manifest *m, uint32_t file)
{
	return &m->files.files[file];
}

bool manifest_is_tokens(enum file_kind kind)
{
	return kind == KIND_TOKENS_BIN || kind == KIND_TOKENS_NPY;
}

/* The date that the first mount of these files took: what servers say is known of files that were opened only,
 * and the next mount opens others. */
static int64_t remembered_date(struct manifest *m, int64_t now)
{
	struct pin_memory memory = { m->o.cache, m->o.index };
	struct buffer key = { 0 }, value = { 0 };
	uint8_t sum[HASH_SIZE], bytes[8];
	struct hash *h = hash_new();
	if (h == NULL)
		return now;
	for (size_t i = 0; i < m->files.n; i++) {
		const struct listed_file *f = &m->files.files[i];
		hash_add_text(h, f->where);
		hash_add_text(h, f->etag == NULL ? "" : f->etag);
	}
	hash_end(h, sum);
	int r = buffer_printf(&key, "date ");
	for (size_t i = 0; r == 0 && i < sizeof sum; i++)
		r = buffer_printf(&key, "%02x", sum[i]);
	bool known = r == 0 && !m->o.options->repin && pin_recall(&memory, (const char *)key.at, &value) &&
	             value.n == sizeof bytes;
	if (known)
		now = (int64_t)load_u64(value.at);
	store_u64(bytes, (uint64_t)now);
	if (r == 0 && !known)
		pin_record(&memory, (const char *)key.at, bytes, sizeof bytes);
	buffer_free(&key);
	buffer_free(&value);
	return now;
}

int64_t manifest_date(struct manifest *m)
{
	int64_t date = 0;
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; m->date == 0 && i < m->files.n; i++)
		if (m->http_pins[i] != NULL && m->http_pins[i]->mtime > date)
			date = m->http_pins[i]->mtime;
	if (m->date == 0)
		m->date = remembered_date(m, date > 0 ? date : (int64_t)time(NULL));
	date = m->date;
	pthread_mutex_unlock(&m->lock);
	return date;
}

bool manifest_pinned(struct manifest *m)
{
	for (size_t i = 0; i < m->files.n; i++)
		if (!GET(m->state[i].have_pin))
			return false;
	return true;
}

bool manifest_remote(void *m, uint32_t file)
{
	return ((struct manifest *)m)->files.files[file].remote;
}

uint64_t manifest_piece_sequences(const struct manifest *m)
{
	return m->full;
}

/* ---- opening and pins ---- */

static int open_remote(struct manifest *m, uint32_t file, struct source **out, struct error *err)
{
	struct listed_file *f = &m->files.files[file];
	struct http_pin pin = { 0 };
	if (listed_pin(f, &pin))
		return http_open(m->o.http, f->where, f->kind == KIND_PARQUET, &pin, out, err);
	pthread_mutex_lock(&m->lock);
	bool known = m->http_pins[file] != NULL;
	if (known)
		pin = *m->http_pins[file];
	pthread_mutex_unlock(&m->lock);
	struct pin_memory memory = { m->o.cache, m->o.index };
	if (!known && !m->o.options->repin)
		known = pin_recall_http(&memory, f->where, &pin);
	int r = http_open(m->o.http, f->where, f->kind == KIND_PARQUET, &pin, out, err);
	if (r != 0)
		return r;
	struct http_pin *keep = malloc(sizeof *keep);
	if (keep == NULL) {
		source_close(*out);
		return fail(err, ENOMEM, "out of memory");
	}
	*keep = pin;
	pthread_mutex_lock(&m->lock);
	if (m->http_pins[file] == NULL) {
		m->http_pins[file] = keep;
		pin_of_http(f->where, &pin, m->state[file].pin);
		f->size = pin.size;
		SET(m->state[file].have_pin, 1);
		keep = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	free(keep);
	if (!known)
		pin_record_http(&memory, f->where, &pin);
	return 0;
}

/* The pin of an open local file, from the index where inode and mtime say that nothing changed. */
static int pin_local(struct manifest *m, const char *where, struct source *s, const struct file_stat *st,
                     uint8_t out[HASH_SIZE], struct error *err)
{
	if (m->o.index != NULL && pin_recall_local(m->o.index, where, st, out))
		return 0;
	int r = pin_of_source(s, out, err);
	if (r == 0 && m->o.index != NULL)
		pin_record_local(m->o.index, where, st, out);
	return r;
}

static int open_local(struct manifest *m, uint32_t file, struct source **out, struct error *err)
{
	struct listed_file *f = &m->files.files[file];
	struct state *s = &m->state[file];
	struct file_stat st;
	uint8_t pin[HASH_SIZE];
	int r = file_open(f->where, out, err);
	if (r == -ENOENT)
		return fail(err, ESTALE, "%s: is gone since it was listed", f->where);
	if (r != 0)
		return r;
	r = file_stat(*out, &st, err);
	pthread_mutex_lock(&m->lock);
	bool same = r == 0 && st.size == f->size && st.inode == f->inode && st.mtime_ns == f->mtime_ns;
	uint64_t size = f->size;
	pthread_mutex_unlock(&m->lock);
	if (r == 0 && !same) {
		r = pin_of_source(*out, pin, err);
		/* Without a pin nothing can tell that the bytes are still those that were listed. */
		if (r == 0 && (st.size != size || !GET(s->have_pin) || memcmp(pin, s->pin, sizeof pin) != 0))
			r = fail(err, ESTALE,
			         "%s: changed since it was pinned (%" PRIu64 " bytes now, %" PRIu64 " then)",
			         f->where, st.size, size);
		if (r == 0) {
			pthread_mutex_lock(&m->lock);
			f->inode = st.inode;
			f->mtime_ns = st.mtime_ns;
			pthread_mutex_unlock(&m->lock);
		}
	}
	if (r != 0) {
		source_close(*out);
		*out = NULL;
	}
	return r;
}

bool manifest_still(void *arg, uint32_t file)
{
	struct manifest *m = arg;
	const struct listed_file *f = &m->files.files[file];
	struct file_stat st;
	if (f->remote)
		return true;
	if (file_stat_path(f->where, &st) != 0)
		return false;
	pthread_mutex_lock(&m->lock);
	bool same = st.size == f->size && st.inode == f->inode && st.mtime_ns == f->mtime_ns;
	pthread_mutex_unlock(&m->lock);
	return same;
}

int manifest_open(void *arg, uint32_t file, struct source **out, enum file_kind *kind, struct error *err)
{
	struct manifest *m = arg;
	*kind = m->files.files[file].kind;
	return m->files.files[file].remote ? open_remote(m, file, out, err) : open_local(m, file, out, err);
}

int manifest_pin(void *arg, uint32_t file, uint8_t out[32], struct error *err)
{
	struct manifest *m = arg;
	struct state *s = &m->state[file];
	if (!GET(s->have_pin)) {
		struct source *source;
		enum file_kind kind;
		struct file_stat st;
		uint8_t pin[HASH_SIZE];
		int r = manifest_open(m, file, &source, &kind, err);
		if (r != 0)
			return r;
		if (!GET(s->have_pin)) {
			r = file_stat(source, &st, err);
			if (r == 0)
				r = pin_local(m, m->files.files[file].where, source, &st, pin, err);
			if (r == 0) {
				pthread_mutex_lock(&m->lock);
				memcpy(s->pin, pin, sizeof pin);
				SET(s->have_pin, 1);
				pthread_mutex_unlock(&m->lock);
			}
		}
		source_close(source);
		if (r != 0)
			return r;
	}
	memcpy(out, s->pin, HASH_SIZE);
	return 0;
}

int manifest_tokenfile_now(struct manifest *m, uint32_t file, struct tokenfile *out)
{
	const struct state *s = &m->state[file];
	if (GET(s->have_header) == 0)
		return -EAGAIN;
	if (s->code != 0)
		return -s->code;
	*out = (struct tokenfile){
		.offset = s->offset, .tokens = s->ids, .width = s->width, .is_signed = s->is_signed
	};
	return 0;
}

int manifest_tokenfile(struct manifest *m, uint32_t file, struct tokenfile *out, struct error *err)
{
	struct state *s = &m->state[file];
	int r = manifest_tokenfile_now(m, file, out);
	if (r != -EAGAIN) {
		if (r != 0)
			manifest_cause(m, file, ORDER_PIECES, err);
		return r;
	}
	struct source *source;
	enum file_kind kind;
	struct tokenfile t;
	r = manifest_open(m, file, &source, &kind, err);
	if (r != 0)
		return r;
	r = tokenfile_open(source, kind == KIND_TOKENS_NPY, m->o.width, &t, err);
	source_close(source);
	if (r == 0 && (t.offset > UINT32_MAX || ceil_div(t.tokens, m->full) > UINT32_MAX - 2))
		r = fail(err, ENOTSUP, "%s: has too many pieces", m->files.files[file].where);
	if (r == -EBADMSG || r == -ENOTSUP) {
		manifest_set_bad(m, file, ORDER_PIECES, -r, err == NULL ? "" : err->text);
		return r;
	}
	if (r != 0)
		return r;
	pthread_mutex_lock(&m->lock);
	s->offset = (uint32_t)t.offset;
	s->ids = t.tokens;
	s->width = t.width;
	s->is_signed = t.is_signed;
	SET(s->have_header, 1);
	pthread_mutex_unlock(&m->lock);
	*out = t;
	return 0;
}

/* ---- counts ---- */

static uint64_t file_sequences(const struct manifest *m, const struct state *s)
{
	return s->ids == 0 ? 0 : (s->ids - 1) / m->o.options->seq_len;
}

int64_t manifest_pieces(void *arg, uint32_t file)
{
	struct manifest *m = arg;
	const struct state *s = &m->state[file];
	if (manifest_is_tokens(m->files.files[file].kind)) {
		if (!GET(s->have_header))
			return -EAGAIN;
		if (s->code != 0)
			return 1;
		return (int64_t)max_u64(1, ceil_div(file_sequences(m, s), m->full));
	}
	uint32_t n = GET(s->pieces);
	return n == 0 ? -EAGAIN : (int64_t)n;
}

int64_t manifest_tokens(struct manifest *m, uint32_t file, uint32_t piece)
{
	const struct state *s = &m->state[file];
	if (manifest_is_tokens(m->files.files[file].kind)) {
		if (!GET(s->have_header))
			return -EAGAIN;
		if (s->code != 0)
			return -s->code;
		uint64_t q = file_sequences(m, s), first = piece * m->full;
		return (int64_t)(q == 0 ? s->ids : min_u64(m->full, q - first) * m->o.options->seq_len + 1);
	}
	if (GET(s->pieces) == 0)
		return -EAGAIN;
	uint32_t n = __atomic_load_n(&s->tokens[piece], __ATOMIC_ACQUIRE);
	if (n == UNKNOWN)
		return -EAGAIN;
	if (n != COUNTS_BAD)
		return n;
	struct error cause;
	manifest_cause(m, file, piece, &cause);
	return -cause.code;
}

int64_t manifest_sequences(void *arg, uint32_t file, uint32_t piece)
{
	struct manifest *m = arg;
	int64_t n = manifest_tokens(m, file, piece);
	if (n < 0)
		return n != -EAGAIN && m->o.options->on_error == ON_ERROR_SKIP ? 0 : n;
	return n == 0 ? 0 : (n - 1) / m->o.options->seq_len;
}

bool manifest_uniform(void *arg, uint32_t file, uint64_t *full)
{
	struct manifest *m = arg;
	if (!manifest_is_tokens(m->files.files[file].kind) || !GET(m->state[file].have_header) ||
	    m->state[file].code != 0)
		return false;
	*full = m->full;
	return true;
}

/* Under the lock; NULL: none is remembered. */
static const struct error *find_cause(const struct manifest *m, uint32_t file, uint32_t piece)
{
	for (size_t i = 0; i < m->n_causes; i++)
		if (m->causes[i].file == file &&
		    (m->causes[i].piece == piece || m->causes[i].piece == ORDER_PIECES))
			return &m->causes[i].error;
	return NULL;
}

bool manifest_recorded(struct manifest *m, uint32_t file, uint32_t piece)
{
	const struct state *s = &m->state[file];
	if (manifest_is_tokens(m->files.files[file].kind) || GET(s->pieces) == 0 ||
	    GET(s->tokens[piece]) != COUNTS_BAD)
		return false;
	pthread_mutex_lock(&m->lock);
	bool recorded = find_cause(m, file, piece) == NULL;
	pthread_mutex_unlock(&m->lock);
	return recorded;
}

void manifest_cause(struct manifest *m, uint32_t file, uint32_t piece, struct error *err)
{
	struct error found = { .code = EBADMSG };
	pthread_mutex_lock(&m->lock);
	const struct error *cause = find_cause(m, file, piece);
	if (cause != NULL)
		found = *cause;
	pthread_mutex_unlock(&m->lock);
	if (err == NULL)
		return;
	*err = found;
	if (found.text[0] == 0)
		fail(err, found.code, "%s: piece %" PRIu32 " can not be counted", m->files.files[file].where,
		     piece);
}

int manifest_set_pieces(struct manifest *m, uint32_t file, uint32_t pieces, struct error *err)
{
	struct state *s = &m->state[file];
	int r = 0;
	pthread_mutex_lock(&m->lock);
	if (s->pieces == 0) {
		s->tokens = malloc(pieces * sizeof *s->tokens);
		s->documents = calloc(pieces, sizeof *s->documents);
		if (s->tokens == NULL || s->documents == NULL) {
			free(s->tokens);
			free(s->documents);
			s->tokens = NULL;
			s->documents = NULL;
			r = fail(err, ENOMEM, "out of memory for %" PRIu32 " pieces", pieces);
		} else {
			for (uint32_t i = 0; i < pieces; i++)
				s->tokens[i] = UNKNOWN;
			SET(s->pieces, pieces);
		}
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

void manifest_set_bad(struct manifest *m, uint32_t file, uint32_t piece, int code, const char *text)
{
	struct state *s = &m->state[file];
	if (piece == ORDER_PIECES && !manifest_is_tokens(m->files.files[file].kind))
		manifest_set_pieces(m, file, 1, NULL);
	pthread_mutex_lock(&m->lock);
	if (m->n_causes < BAD_KEPT) {
		struct cause *c = &m->causes[m->n_causes++];
		*c = (struct cause){ .file = file, .piece = piece };
		fail(&c->error, code, "%s", text);
	}
	if (manifest_is_tokens(m->files.files[file].kind)) {
		s->code = (uint8_t)code;
		SET(s->have_header, 1);
	} else {
		for (uint32_t i = 0; i < s->pieces; i++)
			if ((piece == ORDER_PIECES || piece == i) && s->tokens[i] != COUNTS_BAD) {
				s->known += s->tokens[i] == UNKNOWN;
				s->bad++;
				SET(s->tokens[i], COUNTS_BAD);
			}
	}
	bool whole = s->bad > 0 && s->known == s->pieces;
	pthread_mutex_unlock(&m->lock);
	if (whole && piece != ORDER_PIECES)
		manifest_publish(m, file);
}

/* ---- sums ---- */

uint32_t manifest_state_documents(const struct state *s, uint32_t piece)
{
	const uint32_t *many = GET(s->many);
	return many != NULL ? many[piece] : s->documents[piece];
}

int64_t manifest_file_tokens(struct manifest *m, uint32_t file)
{
	const struct state *s = &m->state[file];
	if (manifest_is_tokens(m->files.files[file].kind)) {
		if (!GET(s->have_header))
			return -EAGAIN;
		return s->code != 0 ? 0 : (int64_t)s->ids;
	}
	int64_t sum = 0;
	uint32_t n = GET(s->pieces);
	if (n == 0 || GET(s->known) < n)
		return -EAGAIN;
	for (uint32_t i = 0; i < n; i++)
		if (s->tokens[i] != COUNTS_BAD)
			sum += s->tokens[i];
	return sum;
}

/* Pieces [from, to) of a token file; to is UINT32_MAX for its end. */
static void sum_tokens(const struct manifest *m, const struct state *s, uint64_t from, uint64_t to,
                       struct manifest_sums *out)
{
	uint64_t T = m->o.options->seq_len, q = file_sequences(m, s);
	uint64_t pieces = max_u64(1, ceil_div(q, m->full));
	if (to > pieces)
		to = pieces;
	if (from >= to)
		return;
	uint64_t first = from * m->full, last = min_u64(q, to * m->full);
	/* Neighbours share a token; the first part keeps it, and the file's end takes the tail. */
	uint64_t tokens = to == pieces ? s->ids - first * T : (last - first) * T + 1;
	out->pieces += to - from;
	out->tokens += tokens;
	out->sequences += last - first;
	out->dropped += tokens - (last > first ? (last - first) * T + 1 : 0);
}

static void sum_text(const struct manifest *m, const struct state *s, uint64_t from, uint64_t to,
                     struct manifest_sums *out)
{
	uint64_t T = m->o.options->seq_len;
	uint32_t n = GET(s->pieces);
	if (n == 0 || GET(s->known) < n)
		out->final = false;
	for (uint64_t i = from; i < to && i < n; i++) {
		uint32_t tokens = __atomic_load_n(&s->tokens[i], __ATOMIC_ACQUIRE);
		out->pieces++;
		if (tokens >= UNKNOWN)
			continue;
		uint64_t q = tokens == 0 ? 0 : (tokens - 1) / T;
		out->tokens += tokens;
		out->documents += manifest_state_documents(s, (uint32_t)i);
		out->sequences += q;
		out->dropped += tokens - (q > 0 ? q * T + 1 : 0);
	}
}

void manifest_sum(struct manifest *m, uint32_t cut_file, uint32_t cut_piece, bool before,
                  struct manifest_sums *out)
{
	*out = (struct manifest_sums){ .final = true };
	uint32_t first = before ? 0 : cut_file, last = before ? cut_file : (uint32_t)m->files.n - 1;
	for (uint64_t f = first; f <= last && f < m->files.n; f++) {
		const struct state *s = &m->state[f];
		uint64_t from = !before && f == cut_file ? cut_piece : 0;
		uint64_t to = before && f == cut_file ? cut_piece : UINT64_MAX;
		if (!manifest_is_tokens(m->files.files[f].kind))
			sum_text(m, s, from, to, out);
		else if (!GET(s->have_header))
			out->final = false;
		else if (s->code == 0)
			sum_tokens(m, s, from, to, out);
	}
}
