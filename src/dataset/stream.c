#include "dataset/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "dataset/internal.h"
#include "dataset/sidecount.h"
#include "io/kind.h"

#define PIECE_BYTES (2u << 20) /* of a piece of a million tokens: what is reckoned before one was seen */
#define CHUNK 65536            /* tokens that are looked at at once */

struct stream {
	struct dataset *d;
	uint32_t file, piece;             /* the next one */
	uint32_t ahead_file, ahead_piece; /* the next that is asked for */
	uint64_t ahead;                   /* pieces that were asked for and have not come yet */
	uint64_t largest;                 /* bytes of the largest piece so far */
	bool fetched;                     /* pieces are made, not read where they lie */
	bool next_known, next_bad;        /* token files: what is known of piece `piece` */
	struct error next_cause;
	struct piece_ref ref; /* of the current piece, entry NULL: none */
	struct stream_piece at;
};

int dataset_stream(const struct options *options, const atomic_bool *stop, bool keep, struct dataset **out,
                   struct error *err)
{
	return dataset_open_until(options, false, stop, NULL, keep, out, err);
}

int stream_open(struct dataset *d, uint32_t file, uint32_t piece, struct stream **out, struct error *err)
{
	struct stream *s = calloc(1, sizeof *s);
	if (s == NULL)
		return fail(err, ENOMEM, "out of memory");
	s->d = d;
	s->file = s->ahead_file = file;
	s->piece = s->ahead_piece = piece;
	s->largest = PIECE_BYTES;
	s->fetched = !d->lies;
	*out = s;
	return 0;
}

static void let_go(struct stream *s)
{
	if (s->ref.entry != NULL)
		pieces_drop(s->d->pieces, &s->ref);
	s->ref = (struct piece_ref){ 0 };
}

void stream_close(struct stream *s)
{
	if (s == NULL)
		return;
	let_go(s);
	free(s);
}

static bool ending(const struct dataset *d)
{
	return d->outer_stop != NULL && atomic_load(d->outer_stop);
}

static uint64_t changes(struct dataset *d)
{
	pthread_mutex_lock(&d->requests);
	uint64_t n = d->changes;
	pthread_mutex_unlock(&d->requests);
	return n;
}

/* Waits until some piece has changed since `seen`, for 100 ms at most. */
static int wait_change(struct dataset *d, uint64_t seen, struct error *err)
{
	pthread_mutex_lock(&d->requests);
	if (d->changes == seen)
		dataset_wait(&d->news, &d->requests, 100000000);
	pthread_mutex_unlock(&d->requests);
	return ending(d) ? fail(err, EINTR, "stopped") : 0;
}

/* What on_error=skip passes over. */
static bool damaged(int r)
{
	return r == -EBADMSG || r == -ENOTSUP || r == -ESTALE;
}

/* Pieces of a file, counted now if they are not known. wait: also over a network; else -EAGAIN. */
static int64_t pieces_of(struct stream *s, uint32_t file, bool wait, struct error *err)
{
	struct dataset *d = s->d;
	const struct order_need need = { file, ORDER_PIECES };
	for (;;) {
		int64_t n = manifest_pieces(d->manifest, file);
		if (n != -EAGAIN)
			return n;
		int r = d->sidecount != NULL && manifest_remote(d->manifest, file)
		                ? sidecount_want(d->sidecount, &need, wait ? err : NULL)
		                : counting_remote(d, &need, err);
		if (r != 0 && r != -EAGAIN)
			return r;
		if (r == -EAGAIN && !wait)
			return r;
		if (r == -EAGAIN && (r = wait_change(d, changes(d), err)) != 0)
			return r;
	}
}

static uint64_t window(const struct stream *s)
{
	const struct options *o = &s->d->options;
	struct pieces_counters c;
	pieces_counters(s->d->pieces, &c);
	/* As many as a path takes while as many again are made and waited for. */
	uint64_t room = o->memory / 2 / s->largest, useful = 4 * o->threads + max_u64(16, 2 * c.ahead);
	return max_u64(1, min_u64(room, useful));
}

/* Asks for the pieces that come next. */
static void ask_ahead(struct stream *s)
{
	struct dataset *d = s->d;
	if (s->ahead_file < s->file || (s->ahead_file == s->file && s->ahead_piece < s->piece)) {
		s->ahead_file = s->file;
		s->ahead_piece = s->piece;
		s->ahead = 0;
	}
	while (s->ahead < window(s) && s->ahead_file < manifest_files(d->manifest)) {
		int64_t n = pieces_of(s, s->ahead_file, false, NULL);
		if (n < 0)
			return;
		if (s->ahead_piece >= n) {
			s->ahead_file++;
			s->ahead_piece = 0;
			continue;
		}
		if (manifest_tokens(d->manifest, s->ahead_file, s->ahead_piece) >= 0 ||
		    manifest_tokens(d->manifest, s->ahead_file, s->ahead_piece) == -EAGAIN)
			pieces_want(d->pieces, s->ahead_file, s->ahead_piece, PRIORITY_READER);
		s->ahead_piece++;
		s->ahead++;
	}
}

/* Waits for a piece that is made. */
static int get_made(struct stream *s, uint32_t file, uint32_t piece, struct piece_ref *ref, struct error *err)
{
	for (;;) {
		uint64_t seen = changes(s->d);
		int r = pieces_get(s->d->pieces, file, piece, PRIORITY_READER, ref, err);
		if (r != -EAGAIN)
			return r;
		ask_ahead(s);
		r = wait_change(s->d, seen, err);
		if (r != 0)
			return r;
	}
}

/* ---- text ---- */

/* The count of a piece; of a column it may not be known yet where the text could not be had. */
static int64_t count_of(struct stream *s, uint32_t file, uint32_t piece, struct error *err)
{
	struct dataset *d = s->d;
	int64_t n = manifest_tokens(d->manifest, file, piece);
	if (n != -EAGAIN || !d->by_column)
		return n;
	const struct order_need need = { file, piece };
	int r = counting_remote(d, &need, err);
	return r != 0 ? r : manifest_tokens(d->manifest, file, piece);
}

static int take_text(struct stream *s, struct stream_piece *p, struct error *err)
{
	struct dataset *d = s->d;
	int64_t n = manifest_tokens(d->manifest, p->file, p->piece);
	int r = n < 0 && n != -EAGAIN ? (int)n : 0;
	if (r != 0)
		manifest_cause(d->manifest, p->file, p->piece, err);
	/* What an index says is damaged is looked at again: for why. */
	if (s->fetched && (r == 0 || manifest_recorded(d->manifest, p->file, p->piece)))
		r = get_made(s, p->file, p->piece, &s->ref, err);
	if (r == 0 && s->fetched) {
		n = count_of(s, p->file, p->piece, err);
		if (n < 0) {
			let_go(s);
			r = (int)n;
			if (damaged(r))
				manifest_cause(d->manifest, p->file, p->piece, err);
		}
	}
	if (r == 0) {
		p->layout = p->counted = p->tokens = (uint64_t)n;
		p->altered = s->fetched && s->ref.tokens != p->layout;
		p->starts = s->ref.starts;
		p->documents = manifest_documents(d->manifest, p->file, p->piece);
		p->text_bytes = s->fetched ? s->ref.text_bytes : p->tokens * d->width;
		s->largest = max_u64(s->largest, s->ref.tokens * d->width);
		return 0;
	}
	if (!damaged(r) || d->options.on_error != ON_ERROR_SKIP)
		return r;
	p->left_out = true;
	p->cause = *err;
	log_warning("%s: piece %" PRIu32 " is left out: %s", errno_name(-r), p->piece, err->text);
	n = count_of(s, p->file, p->piece, err);
	if (n < 0 && n != -EAGAIN && !damaged((int)n))
		return (int)n;
	if (n == -EAGAIN)
		manifest_set_bad(d->manifest, p->file, p->piece, -r, p->cause.text);
	p->layout = n < 0 ? STREAM_UNCOUNTED : (uint64_t)n;
	p->counted = n < 0 ? 0 : (uint64_t)n;
	return 0;
}

/* ---- token files ---- */

/* Tokens of a piece, those that it shares with the next one left to that. */
static uint64_t own_tokens(struct stream *s, uint32_t file, uint32_t piece, bool *shares)
{
	struct dataset *d = s->d;
	uint64_t each = manifest_piece_sequences(d->manifest) * d->options.seq_len;
	*shares = piece + 1 < manifest_pieces(d->manifest, file);
	return *shares ? each : (uint64_t)manifest_file_tokens(d->manifest, file) - piece * each;
}

static int read_tokens(struct stream *s, uint32_t file, uint32_t piece, uint64_t from, size_t n, void *out,
                       struct error *err)
{
	for (;;) {
		uint64_t seen = changes(s->d);
		int r = rows_tokens(s->d, file, piece, from, n, out, true, err);
		if (r != -EAGAIN)
			return r;
		r = wait_change(s->d, seen, err);
		if (r != 0)
			return r;
	}
}

/* on_error=skip: whether all of a piece is there. 0, or for what it is not. */
static int look_through(struct stream *s, uint32_t file, uint32_t piece, struct error *err)
{
	bool shares;
	int64_t count = manifest_tokens(s->d->manifest, file, piece);
	if (count < 0) {
		manifest_cause(s->d->manifest, file, piece, err);
		return (int)count;
	}
	uint64_t n = own_tokens(s, file, piece, &shares) + (shares ? 1 : 0);
	uint8_t *tokens = malloc((size_t)CHUNK * s->d->width);
	int r = tokens == NULL ? fail(err, ENOMEM, "out of memory") : 0;
	for (uint64_t at = 0; r == 0 && at < n; at += CHUNK)
		r = read_tokens(s, file, piece, at, (size_t)min_u64(CHUNK, n - at), tokens, err);
	free(tokens);
	return r;
}

static int take_tokens(struct stream *s, struct stream_piece *p, struct error *err)
{
	struct dataset *d = s->d;
	bool skip = d->options.on_error == ON_ERROR_SKIP;
	int64_t n = manifest_tokens(d->manifest, p->file, p->piece);
	int r = 0;
	if (n < 0) {
		manifest_cause(d->manifest, p->file, p->piece, err);
		r = (int)n;
	} else {
		p->counted = (uint64_t)n;
		p->layout = own_tokens(s, p->file, p->piece, &p->shares);
	}
	if (r == 0 && skip && !s->next_known)
		r = look_through(s, p->file, p->piece, err);
	else if (r == 0 && skip && s->next_bad) {
		*err = s->next_cause;
		r = -err->code;
	}
	s->next_known = false;
	if (r == 0 && s->fetched)
		r = get_made(s, p->file, p->piece, &s->ref, err);
	if (r != 0 && damaged(r) && skip) {
		p->left_out = true;
		p->cause = *err;
		log_warning("%s: piece %" PRIu32 " is left out: %s", errno_name(-r), p->piece, err->text);
		p->layout = n < 0 ? STREAM_UNCOUNTED : p->layout;
		return 0;
	}
	if (r != 0)
		return r;
	p->tokens = p->layout;
	if (skip && p->shares) {
		s->next_cause = (struct error){ 0 };
		r = look_through(s, p->file, p->piece + 1, &s->next_cause);
		if (r != 0 && !damaged(r)) {
			*err = s->next_cause;
			return r;
		}
		s->next_known = true;
		s->next_bad = p->closed = r != 0;
		p->tokens += p->closed;
	}
	p->text_bytes = p->tokens * d->width;
	return 0;
}

/* ---- both ---- */

int stream_next(struct stream *s, struct stream_piece *out, struct error *err)
{
	struct dataset *d = s->d;
	struct error local;
	if (err == NULL)
		err = &local;
	let_go(s);
	for (;; s->file++, s->piece = 0) {
		if (s->file >= manifest_files(d->manifest))
			return 1;
		int64_t n = pieces_of(s, s->file, true, err);
		if (n < 0)
			return (int)n;
		if (s->piece < n)
			break;
	}
	s->at = (struct stream_piece){ .file = s->file, .piece = s->piece };
	if (s->fetched)
		ask_ahead(s);
	int r = ending(d)        ? fail(err, EINTR, "stopped")
	        : d->token_files ? take_tokens(s, &s->at, err)
	                         : take_text(s, &s->at, err);
	if (r != 0)
		return r;
	s->piece++;
	s->ahead -= s->ahead > 0;
	*out = s->at;
	return 0;
}

int stream_read(struct stream *s, uint64_t from, size_t n, void *out, struct error *err)
{
	return read_tokens(s, s->at.file, s->at.piece, from, n, out, err);
}

const void *stream_view(struct stream *s, uint64_t from, size_t n)
{
	/* Ids of token files are checked while they are copied. */
	if (s->ref.memory == NULL || s->d->token_files || n > s->ref.tokens || from > s->ref.tokens - n)
		return NULL;
	return s->ref.memory + from * s->d->width;
}

uint64_t stream_found(struct dataset *d)
{
	struct pieces_counters c = { 0 };
	if (d->pieces != NULL)
		pieces_counters(d->pieces, &c);
	return c.hits;
}

void stream_spent(struct dataset *d, double *made, double *encoded)
{
	struct pieces_counters c = { 0 };
	if (d->pieces != NULL)
		pieces_counters(d->pieces, &c);
	*made = (double)c.made_ns / 1e9;
	*encoded = (double)c.encoded_ns / 1e9;
}

int stream_file(struct dataset *d, uint32_t file, struct prepared_file *out, struct error *err)
{
	const struct listed_file *f = manifest_file(d->manifest, file);
	out->name = (char *)(uintptr_t)f->name;
	out->kind = f->kind;
	return manifest_pin(d->manifest, file, out->pin, err);
}

int stream_is_end(struct dataset *d, uint32_t file, uint32_t piece, struct error *err)
{
	struct stream s = { .d = d };
	if (file + 1 < manifest_files(d->manifest))
		return 0;
	int64_t pieces = pieces_of(&s, file, true, err);
	return pieces < 0 ? (int)pieces : piece >= pieces;
}

void stream_names(struct dataset *d, char out[HASH_HEX])
{
	uint8_t digest[HASH_SIZE];
	struct hash *h = hash_new();
	for (uint32_t f = 0; f < manifest_files(d->manifest); f++)
		hash_add_text(h, manifest_file(d->manifest, f)->name);
	hash_end(h, digest);
	hash_hex(digest, sizeof digest, out);
}

/* ---- measuring ---- */

/* Counts a file without tokenising; what a server has to answer side by side. */
static int count_file(struct stream *s, uint32_t file, struct error *err)
{
	struct dataset *d = s->d;
	int64_t pieces = pieces_of(s, file, true, err);
	if (pieces < 0)
		return (int)pieces;
	for (uint32_t p = 0; !d->token_files && p < pieces; p++) {
		const struct order_need need = { file, p };
		while (manifest_tokens(d->manifest, file, p) == -EAGAIN) {
			if (!d->by_column)
				return fail(err, EAGAIN, "%s: is not counted",
				            manifest_file(d->manifest, file)->name);
			uint64_t seen = changes(d);
			int r = 0;
			if (d->sidecount == NULL)
				r = counting_remote(d, &need, err);
			for (uint32_t q = p; d->sidecount != NULL && q < pieces && q < p + SIDECOUNT_JOBS;
			     q++) {
				const struct order_need next = { file, q };
				if (manifest_tokens(d->manifest, file, q) == -EAGAIN)
					r = sidecount_want(d->sidecount, &next, q == p ? err : NULL);
				if (q == p && r != 0 && r != -EAGAIN)
					return r;
			}
			if (r == -EAGAIN)
				r = wait_change(d, seen, err);
			if (r != 0)
				return r;
		}
	}
	return 0;
}

int stream_counted(struct dataset *d, uint32_t file, struct error *err)
{
	struct stream s = { .d = d };
	return count_file(&s, file, err);
}

uint64_t stream_pieces(struct dataset *d)
{
	uint64_t sum = 0;
	for (uint32_t f = 0; f < manifest_files(d->manifest); f++) {
		int64_t n = manifest_pieces(d->manifest, f);
		sum += n > 0 ? (uint64_t)n : 0;
	}
	return sum;
}

int stream_damage_order(const void *a, const void *b)
{
	const struct stream_damage *x = a, *y = b;
	return x->file != y->file    ? (x->file < y->file ? -1 : 1)
	       : x->piece < y->piece ? -1
	                             : x->piece > y->piece;
}

bool stream_left_out(const struct stream_plan *plan, uint32_t file, uint32_t piece)
{
	const struct stream_damage key = { file, piece };
	return plan->n_left_out > 0 &&
	       bsearch(&key, plan->left_out, plan->n_left_out, sizeof key, stream_damage_order) != NULL;
}

/* Tokens that a piece gives to the stream; under on_error=skip one that cannot be counted has none. */
static uint64_t given(struct stream *s, const struct stream_plan *plan, uint32_t file, uint32_t piece,
                      bool *shares)
{
	int64_t n = manifest_tokens(s->d->manifest, file, piece);
	*shares = false;
	if (n < 0 || stream_left_out(plan, file, piece))
		return 0;
	if (!s->d->token_files)
		return (uint64_t)n;
	uint64_t own = own_tokens(s, file, piece, shares);
	bool closed = *shares && stream_left_out(plan, file, piece + 1);
	*shares = *shares && !closed;
	return own + closed;
}

int stream_measure(struct dataset *d, struct stream_plan *out, struct error *err)
{
	struct stream s = { .d = d };
	uint64_t counted = 0, want = d->options.val_tokens;
	out->cut = (struct prepared_place){ 0 };
	out->held = out->train = 0;
	for (uint32_t f = 0; f < manifest_files(d->manifest); f++) {
		int r = count_file(&s, f, err);
		int64_t pieces = r == 0 ? manifest_pieces(d->manifest, f) : 0;
		for (uint32_t p = 0; r == 0 && p < pieces; p++) {
			bool shares, held = counted < want;
			int64_t n = manifest_tokens(d->manifest, f, p);
			if (n < 0 && !(d->options.on_error == ON_ERROR_SKIP && damaged((int)n))) {
				manifest_cause(d->manifest, f, p, err);
				return (int)n;
			}
			uint64_t tokens = given(&s, out, f, p, &shares);
			*(held ? &out->held : &out->train) += tokens;
			counted += n > 0 ? (uint64_t)n : 0;
			if (held && counted >= want) {
				out->held += shares;
				out->cut = (struct prepared_place){ f, p + 1, 0 };
			}
		}
		if (r != 0)
			return r;
	}
	if (counted < want || (want > 0 && out->train == 0))
		return fail(err, EINVAL,
		            "val_tokens=%" PRIu64 " holds out everything: the source has %" PRIu64 " tokens",
		            want, counted);
	return 0;
}

void stream_seek(struct dataset *d, const struct stream_plan *plan, uint64_t token,
                 struct prepared_place *out)
{
	struct stream s = { .d = d };
	*out = plan->cut;
	for (uint32_t f = plan->cut.file; token > 0 && f < manifest_files(d->manifest); f++) {
		int64_t pieces = manifest_pieces(d->manifest, f);
		for (uint32_t p = f == plan->cut.file ? plan->cut.piece : 0; token > 0 && p < pieces; p++) {
			bool shares;
			uint64_t tokens = given(&s, plan, f, p, &shares);
			if (token < tokens) {
				*out = (struct prepared_place){ f, p, token };
				return;
			}
			token -= tokens;
			*out = (struct prepared_place){ f, p + 1, 0 };
		}
	}
}

double stream_share(struct dataset *d, uint32_t file, uint32_t piece)
{
	uint64_t before = 0, all = 0, own = 0;
	uint32_t files = manifest_files(d->manifest);
	for (uint32_t f = 0; f < files; f++) {
		uint64_t size = d->remote ? 1 : manifest_file(d->manifest, f)->size;
		before += f < file ? size : 0;
		own = f == file ? size : own;
		all += size;
	}
	int64_t pieces = file < files ? manifest_pieces(d->manifest, file) : 1;
	double part = pieces > 0 ? (double)piece / (double)pieces : 0;
	return all == 0 ? 1 : ((double)before + (double)own * part) / (double)all;
}
