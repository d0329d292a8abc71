#include "dataset/origin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "dataset/blocking.h"
#include "dataset/internal.h"
#include "format/jsonl.h"

struct origins {
	struct dataset *d;
	struct tokenizer *tokenizer; /* NULL: no text is there, only tokens */
	uint32_t groups;             /* row groups of a piece */
};

int origins_open(struct dataset *d, struct origins **out, struct error *err)
{
	struct origins *o = calloc(1, sizeof *o);
	if (o == NULL)
		return fail(err, ENOMEM, "out of memory");
	o->d = d;
	o->groups = (uint32_t)max_u64(1, ceil_div(d->options.seq_len, 16384));
	int r = 0;
	if (!d->lies)
		r = tokenizer_open(d->options.tokenizer, d->options.pattern, &o->tokenizer, err);
	if (r != 0)
		origins_close(o);
	else
		*out = o;
	return r;
}

void origins_close(struct origins *o)
{
	if (o == NULL)
		return;
	tokenizer_close(o->tokenizer);
	free(o);
}

void origin_free(struct origin *rows, uint32_t n)
{
	for (uint32_t i = 0; rows != NULL && i < n; i++) {
		for (size_t k = 0; k < rows[i].n; k++) {
			free(rows[i].documents[k].id);
			free(rows[i].documents[k].url);
		}
		free(rows[i].documents);
	}
	free(rows);
}

void origin_places_free(struct origin_place *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(p[i].id);
		free(p[i].url);
	}
	free(p);
}

/* *out is NULL for an empty span, as sources without the column have. */
static int copy_span(struct span s, char **out, struct error *err)
{
	*out = s.n == 0 ? NULL : strndup((const char *)s.at, s.n);
	return s.n > 0 && *out == NULL ? fail(err, ENOMEM, "out of memory") : 0;
}

/* ---- attempts ---- */

#define SLEEP_MS 50 /* at once, so that a data set can be closed meanwhile */

struct attempts {
	int64_t until_ns; /* 0: the first has not failed yet */
	unsigned tries;
	bool damaged; /* what came over a network was looked at once more */
};

static bool stopped(const struct dataset *d)
{
	return atomic_load(&d->stop) || (d->outer_stop != NULL && atomic_load(d->outer_stop));
}

/* Whether what failed may be tried again; waits before it: from 0.2 s to 10 s, or what the server asked for.
 */
static bool try_again(struct dataset *d, uint32_t file, struct attempts *a, int r, const struct error *err)
{
	int64_t now = dataset_clock();
	if (a->until_ns == 0)
		a->until_ns = now + (int64_t)d->options.retry * 1000000000;
	if (r == -EBADMSG && manifest_remote(d->manifest, file) && !a->damaged)
		return a->damaged = true;
	if (r >= 0 || !err->again || stopped(d))
		return false;
	int64_t wait = (int64_t)max_u64(err->wait_ms, min_u64(10000, 200u << min_u64(a->tries++, 6)));
	int64_t then = now + wait * 1000000;
	/* The last when `retry` ends, unless the server wants to be left alone for longer. */
	if (now >= a->until_ns || (then > a->until_ns && err->wait_ms > 0))
		return false;
	if (then > a->until_ns)
		then = a->until_ns;
	for (const struct timespec step = { .tv_nsec = SLEEP_MS * 1000000 };
	     dataset_clock() < then && !stopped(d);)
		nanosleep(&step, NULL);
	return !stopped(d);
}

/* ---- the documents of a piece, with their tokens ---- */

enum { ENOUGH = 1 }; /* what a taker returns to stop */

typedef int taker(void *arg, const struct document *d, uint64_t first, uint64_t tokens, struct error *err);

#define PART (1u << 20) /* bytes of a text that are encoded at once, where it can be cut */

struct measure {
	const struct dataset *d;
	struct encoder *encoder;
	struct buffer ids;
	uint64_t at;       /* tokens so far */
	uint64_t n, taken; /* documents so far; that were handed on, also by attempts before */
	taker *take;
	void *arg;
};

static int hand_on(struct measure *m, const struct document *document, uint64_t tokens, struct error *err)
{
	if (m->n++ < m->taken)
		return 0;
	m->taken = m->n;
	return m->take(m->arg, document, m->at, tokens, err);
}

static int measure_document(void *arg, const struct document *document, struct error *err)
{
	struct measure *m = arg;
	const struct options *o = &m->d->options;
	if (document->text.n == 0)
		return hand_on(m, document, 0, err);
	uint64_t tokens = (o->bos >= 0 ? 1u : 0u) + (o->eos >= 0 ? 1u : 0u);
	for (struct span left = document->text, part = left; left.n > 0; span_skip(&left, part.n)) {
		part = span_of(left.at, textstream_cut(left.at, left.n, PART));
		int r = buffer_reserve(&m->ids, encoder_bound(part.n) * m->d->width, 0, err);
		if (r != 0)
			return r;
		int64_t n = encoder_encode(m->encoder, part.at, part.n, m->ids.at);
		if (n < 0)
			return fail(err, (int)-n, "cannot encode a text of %zu bytes", document->text.n);
		tokens += (uint64_t)n;
	}
	int r = hand_on(m, document, tokens, err);
	m->at += tokens;
	return r;
}

static int documents_once(struct origins *o, uint32_t file, uint32_t piece, struct measure *m,
                          struct error *err)
{
	struct share share = { .pool = textfiles_options(o->d->textfiles)->pool };
	struct textfile *f;
	m->at = m->n = 0;
	int r = textfiles_get(o->d->textfiles, file, &f, err);
	if (r != 0)
		return r;
	r = textfile_documents(f, textfiles_options(o->d->textfiles), piece, o->groups, true, &share,
	                       measure_document, m, err);
	share_end(&share);
	textfiles_put(o->d->textfiles, f, r < 0);
	return r;
}

/* Hands on every document of a piece, once. */
static int documents_of(struct origins *o, uint32_t file, uint32_t piece, taker *take, void *arg,
                        struct error *err)
{
	struct measure m = { .d = o->d, .take = take, .arg = arg, .encoder = encoder_new(o->tokenizer) };
	struct attempts attempts = { 0 };
	struct error local;
	int r;
	if (err == NULL)
		err = &local;
	do {
		*err = (struct error){ 0 };
		r = m.encoder == NULL ? fail(err, ENOMEM, "out of memory")
		                      : documents_once(o, file, piece, &m, err);
	} while (r < 0 && try_again(o->d, file, &attempts, r, err));
	encoder_free(m.encoder);
	buffer_free(&m.ids);
	return r < 0 ? r : 0;
}

/* ---- rows to documents ---- */

struct wanted {
	struct order_place place;
	uint32_t row;
};

static int by_place(const void *a, const void *b)
{
	const struct order_place *p = &((const struct wanted *)a)->place,
	                         *q = &((const struct wanted *)b)->place;
	if (p->file != q->file)
		return p->file < q->file ? -1 : 1;
	if (p->piece != q->piece)
		return p->piece < q->piece ? -1 : 1;
	return p->sequence < q->sequence ? -1 : p->sequence > q->sequence;
}

struct gather {
	const struct wanted *want; /* of one piece, by sequence */
	size_t n;                  /* the first ends behind the document at hand */
	uint64_t T;
	struct origin *rows;
};

static int add_document(struct origin *row, const struct document *d, uint64_t offset, uint64_t skipped,
                        uint64_t tokens, struct error *err)
{
	struct origin_document *more = realloc(row->documents, (row->n + 1) * sizeof *more);
	if (more == NULL)
		return fail(err, ENOMEM, "out of memory");
	row->documents = more;
	struct origin_document *to = &more[row->n];
	*to = (struct origin_document){ .offset = offset, .skipped = skipped, .tokens = tokens };
	row->n++;
	int r = copy_span(d->id, &to->id, err);
	return r == 0 ? copy_span(d->url, &to->url, err) : r;
}

static int gather_document(void *arg, const struct document *d, uint64_t first, uint64_t tokens,
                           struct error *err)
{
	struct gather *g = arg;
	int r = 0;
	while (g->n > 0 && g->want->place.sequence * g->T + g->T < first) {
		g->want++;
		g->n--;
	}
	if (g->n == 0)
		return ENOUGH;
	for (size_t i = 0; i < g->n && r == 0; i++) {
		uint64_t begin = g->want[i].place.sequence * g->T, end = begin + g->T + 1;
		if (begin >= first + tokens)
			break;
		uint64_t from = max_u64(begin, first), to = min_u64(end, first + tokens);
		if (from < to)
			r = add_document(&g->rows[g->want[i].row], d, from - begin, from - first, to - from,
			                 err);
	}
	return r;
}

static int gather_documents(struct origins *o, struct wanted *want, uint32_t n, struct origin *rows,
                            struct error *err)
{
	int r = 0;
	qsort(want, n, sizeof *want, by_place);
	for (uint32_t i = 0, same; i < n && r == 0; i += same) {
		for (same = 1; i + same < n && want[i + same].place.file == want[i].place.file &&
		               want[i + same].place.piece == want[i].place.piece;)
			same++;
		struct gather g = { want + i, same, o->d->options.seq_len, rows };
		r = documents_of(o, want[i].place.file, want[i].place.piece, gather_document, &g, err);
	}
	return r;
}

/* on_error=skip: moves a place to the one that is served in its stead, as reading the row does. */
static int find_served(struct dataset *d, struct view *view, const struct dataset_object *batch, uint32_t row,
                       struct order_place *place, struct error *err)
{
	uint64_t T = d->options.seq_len, in_block = 0, tried = 0;
	size_t bytes = (size_t)(T + 1) * d->width;
	void *buf = malloc(bytes);
	int r = buf == NULL ? fail(err, ENOMEM, "out of memory") : -EAGAIN;
	while (r == -EAGAIN) {
		r = rows_tokens(d, place->file, place->piece, place->sequence * T, (size_t)T + 1, buf, true,
		                err);
		if (r == -EAGAIN) {
			/* Its piece is not at hand any more: whoever reads the row has it made. */
			int read = blocking_read(d, batch, row * bytes, buf, bytes, err);
			r = read == 0 ? -EAGAIN : read;
		} else if (r == -EBADMSG || r == -ENOTSUP || r == -ESTALE) {
			pthread_mutex_lock(&view->lock);
			int next = epoch_next(view->order, place, &in_block);
			pthread_mutex_unlock(&view->lock);
			if (next == 0 && ++tried < in_block)
				r = -EAGAIN;
		}
	}
	free(buf);
	return r;
}

static int find_places(struct dataset *d, const struct dataset_object *batch, struct order_place *places,
                       struct error *err)
{
	struct view *view;
	int r = views_get(d->views, batch->val, batch->epoch, &view, err);
	if (r != 0)
		return r;
	uint32_t rows = d->options.batch_size;
	r = view_places(view, batch->rank, batch->number, 0, rows, rows, true, places);
	if (r != 0)
		fail(err, -r, "batch %" PRIu64 " of rank %" PRIu32 ": %s", batch->number, batch->rank,
		     errno_name(-r));
	for (uint32_t i = 0; d->options.on_error == ON_ERROR_SKIP && i < rows && r == 0; i++)
		r = find_served(d, view, batch, i, &places[i], err);
	views_put(d->views, view);
	return r;
}

int origin_batch(struct origins *o, const struct dataset_object *batch, bool documents, struct origin **out,
                 struct error *err)
{
	struct dataset *d = o->d;
	uint32_t n = d->options.batch_size;
	struct order_place *places = calloc(n, sizeof *places);
	struct wanted *want = calloc(n, sizeof *want);
	struct origin *rows = calloc(n, sizeof *rows);
	int r = 0;
	if (places == NULL || want == NULL || rows == NULL)
		r = fail(err, ENOMEM, "out of memory for %" PRIu32 " rows", n);
	if (r == 0)
		r = find_places(d, batch, places, err);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		want[i] = (struct wanted){ places[i], i };
		rows[i] = (struct origin){
			.file = manifest_file(d->manifest, places[i].file)->name,
			.piece = places[i].piece,
			.sequence = places[i].sequence,
		};
	}
	if (r == 0 && documents && o->tokenizer != NULL)
		r = gather_documents(o, want, n, rows, err);
	free(places);
	free(want);
	if (r != 0)
		origin_free(rows, n);
	else
		*out = rows;
	return r;
}

/* ---- documents to rows ---- */

struct search {
	struct origins *o;
	const char *id; /* NULL: by row */
	size_t n;
	uint64_t row;  /* in the file, or of lines in the piece */
	uint64_t rows; /* of the file that stand before the piece at hand */
	bool here;     /* something that fits stands in what is looked at */
	bool empty;    /* something that fits has no text */
	bool more;     /* than are kept */
	uint32_t file, piece;
	struct buffer found; /* of struct origin_place */
};

static bool is_it(const struct search *s, const struct document *d)
{
	return s->id == NULL ? d->row == s->row : d->id.n == s->n && memcmp(d->id.at, s->id, s->n) == 0;
}

static int search_piece(void *arg, const struct document *d, uint64_t first, uint64_t tokens,
                        struct error *err)
{
	struct search *s = arg;
	struct manifest *m = s->o->d->manifest;
	if (!is_it(s, d))
		return 0;
	/* A count of a column that is short cuts the piece, and with it the document. */
	int64_t n = manifest_tokens(m, s->file, s->piece);
	if (n >= 0 && first + tokens > (uint64_t)n)
		tokens = first < (uint64_t)n ? (uint64_t)n - first : 0;
	int r = s->id == NULL ? ENOUGH : 0;
	s->empty |= tokens == 0;
	if (tokens == 0)
		return r;
	if (s->found.n / sizeof(struct origin_place) == ORIGIN_FOUND) {
		s->more = true;
		return ENOUGH;
	}
	struct origin_place p = { .file = s->file,
		                  .piece = s->piece,
		                  .name = manifest_file(m, s->file)->name,
		                  .row = s->rows + d->row,
		                  .first = first,
		                  .tokens = tokens };
	int failed = copy_span(d->id, &p.id, err);
	if (failed == 0)
		failed = copy_span(d->url, &p.url, err);
	if (failed == 0)
		failed = buffer_add(&s->found, &p, sizeof p, 0, err);
	if (failed != 0) {
		free(p.id);
		free(p.url);
	}
	return failed != 0 ? failed : r;
}

/* The column of ids, read as the text. */
static int search_ids(void *arg, const struct document *d, struct error *err)
{
	struct search *s = arg;
	(void)err;
	s->here = d->text.n == s->n && memcmp(d->text.at, s->id, s->n) == 0;
	return s->here ? ENOUGH : 0;
}

static int search_documents(void *arg, const struct document *d, struct error *err)
{
	struct search *s = arg;
	(void)err;
	s->here = is_it(s, d);
	return s->here ? ENOUGH : 0;
}

/* Whether a piece has a document of the id: s->here. */
static int look_at(struct search *s, struct textfile *f, struct error *err)
{
	const struct textfiles_options *fo = textfiles_options(s->o->d->textfiles);
	struct share share = { .pool = fo->pool };
	uint64_t first = (uint64_t)s->piece * s->o->groups;
	int r = 0;
	s->here = false;
	if (f->kind != KIND_PARQUET) {
		r = textfile_documents(f, fo, s->piece, s->o->groups, true, &share, search_documents, s, err);
		share_end(&share);
	}
	for (uint64_t g = first; f->kind == KIND_PARQUET && f->id >= 0 && g < first + s->o->groups &&
	                         g < parquet_row_groups(f->parquet) && r == 0;
	     g++)
		r = parquet_texts(f->parquet, (uint32_t)g, f->id, -1, -1, NULL, search_ids, s, err);
	return r < 0 ? r : 0;
}

/* Lines that start before byte `end` of a file. */
static int lines_before(struct source *source, uint64_t end, uint64_t *lines, struct error *err)
{
	enum { STEP = 1 << 20 };
	uint8_t *buf = malloc(STEP);
	int r = buf == NULL ? fail(err, ENOMEM, "out of memory") : 0;
	*lines = end > 0 ? 1 : 0;
	for (uint64_t at = 0; at + 1 < end && r == 0; at += STEP) {
		size_t n = (size_t)min_u64(STEP, end - 1 - at);
		r = source_read(source, at, buf, n, err);
		for (size_t i = 0; i < n && r == 0; i++)
			*lines += buf[i] == '\n';
	}
	free(buf);
	return r;
}

/* The piece of a row of a file; s->row becomes the row in the piece, for lines. 0, -ENOENT. */
static int piece_of_row(struct search *s, struct textfile *f, struct error *err)
{
	uint64_t rows = 0;
	s->piece = 0;
	if (f->kind == KIND_PARQUET) {
		uint32_t g = 0, groups = parquet_row_groups(f->parquet);
		while (g < groups && s->row >= rows + parquet_rows(f->parquet, g))
			rows += parquet_rows(f->parquet, g++);
		s->piece = g / s->o->groups;
		return g < groups ? 0 : -ENOENT;
	}
	if (f->kind != KIND_JSONL)
		return 0;
	uint32_t piece = 0;
	uint64_t before = 0;
	for (uint64_t p = 1; p < jsonl_pieces(f->source->size); p++) {
		int r = lines_before(f->source, p * JSONL_PIECE, &rows, err);
		if (r != 0)
			return r;
		if (rows > s->row)
			break;
		piece = (uint32_t)p;
		before = rows;
	}
	s->piece = piece;
	s->rows = before;
	s->row -= before;
	return 0;
}

/* One step with the file open. which < 0: finds the piece of s->row; else looks whether piece `which` has the
 * id. */
static int step(struct search *s, int64_t which, struct error *err)
{
	struct textfiles *files = s->o->d->textfiles;
	struct attempts attempts = { 0 };
	struct textfile *f;
	int r;
	do {
		*err = (struct error){ 0 };
		r = textfiles_get(files, s->file, &f, err);
		if (r != 0)
			continue;
		s->piece = which < 0 ? 0 : (uint32_t)which;
		r = which < 0 ? piece_of_row(s, f, err) : look_at(s, f, err);
		if (r == 0 && which >= 0 && s->here && f->kind == KIND_JSONL)
			r = lines_before(f->source, (uint64_t)which * JSONL_PIECE, &s->rows, err);
		textfiles_put(files, f, r < 0 && r != -ENOENT);
	} while (r < 0 && r != -ENOENT && try_again(s->o->d, s->file, &attempts, r, err));
	return r;
}

/* Pieces of a file, as it lies there: what is not counted yet can be looked through as well. */
static int64_t count_pieces(struct search *s, struct error *err)
{
	struct textfiles *files = s->o->d->textfiles;
	struct attempts attempts = { 0 };
	struct textfile *f;
	int64_t n = 1;
	int r;
	do {
		*err = (struct error){ 0 };
		r = textfiles_get(files, s->file, &f, err);
	} while (r != 0 && try_again(s->o->d, s->file, &attempts, r, err));
	if (r != 0)
		return r;
	if (f->kind == KIND_PARQUET)
		n = (int64_t)ceil_div(parquet_row_groups(f->parquet), s->o->groups);
	else if (f->kind == KIND_JSONL)
		n = (int64_t)jsonl_pieces(f->source->size);
	textfiles_put(files, f, false);
	return n;
}

static int find_row(struct search *s, struct error *err)
{
	int r = step(s, -1, err);
	return r == 0 ? documents_of(s->o, s->file, s->piece, search_piece, s, err) : r;
}

static int find_ids(struct search *s, struct error *err)
{
	int64_t n = count_pieces(s, err);
	int r = n < 0 ? (int)n : 0;
	for (int64_t p = 0; p < n && r == 0 && !s->more; p++) {
		s->rows = 0;
		r = step(s, p, err);
		if (r == 0 && s->here)
			r = documents_of(s->o, s->file, (uint32_t)p, search_piece, s, err);
	}
	return r;
}

/* FILE:ROW, when there is a file of this name. */
static bool names_row(struct origins *o, const char *what, uint32_t *file, uint64_t *row)
{
	const char *colon = strrchr(what, ':');
	size_t digits = colon == NULL ? 0 : strspn(colon + 1, "0123456789");
	if (digits == 0 || digits > 18 || colon[1 + digits] != 0)
		return false;
	size_t n = (size_t)(colon - what);
	*row = strtoull(colon + 1, NULL, 10);
	for (*file = 0; *file < manifest_files(o->d->manifest); ++*file) {
		const struct listed_file *f = manifest_file(o->d->manifest, *file);
		if ((strlen(f->name) == n && memcmp(f->name, what, n) == 0) ||
		    (strlen(f->where) == n && memcmp(f->where, what, n) == 0))
			return true;
	}
	return false;
}

int origin_find(struct origins *o, const char *what, struct origin_place **out, size_t *n, bool *more,
                struct error *err)
{
	struct search s = { .o = o };
	struct error local;
	int r = 0;
	if (err == NULL)
		err = &local;
	*out = NULL;
	if (o->tokenizer == NULL)
		return fail(err, ENOTSUP, "%s: the source is token files, which do not name documents", what);
	bool by_row = names_row(o, what, &s.file, &s.row);
	if (by_row) {
		r = find_row(&s, err);
	} else {
		s.id = what;
		s.n = strlen(what);
		for (s.file = 0; s.file < manifest_files(o->d->manifest) && r == 0 && !s.more; s.file++)
			r = find_ids(&s, err);
	}
	*n = s.found.n / sizeof **out;
	*out = (struct origin_place *)(void *)s.found.at;
	*more = s.more;
	if (r == 0 && *n > 0)
		return 0;
	if ((r == 0 && s.empty) || (r == -ENOENT && s.empty))
		r = fail(err, ENOENT, "%s: the document has no text", what);
	else if (r == 0 || r == -ENOENT)
		r = by_row ? fail(err, ENOENT, "%s: the file has no such row with a document", what)
		           : fail(err, ENOENT, "%s: no document has this id, and no file this name and row",
		                  what);
	origin_places_free(*out, *n);
	*out = NULL;
	return r;
}

int origin_rows(struct origins *o, const struct origin_place *p, bool val, uint32_t epoch, origin_fn *fn,
                void *arg, uint64_t *dropped, struct error *err)
{
	uint64_t T = o->d->options.seq_len, end = p->first + p->tokens;
	struct view *view;
	*dropped = 0;
	int r = views_get(o->d->views, val, epoch, &view, err);
	if (r != 0)
		return r;
	/* Sequence i has the tokens iT ... iT + T. */
	for (uint64_t i = p->first <= T ? 0 : (p->first - 1) / T; i * T < end && r == 0; i++) {
		uint64_t begin = i * T, from = max_u64(begin, p->first), to = min_u64(begin + T + 1, end);
		struct origin_row row = {
			.sequence = i, .offset = from - begin, .skipped = from - p->first, .tokens = to - from
		};
		pthread_mutex_lock(&view->lock);
		int found = epoch_find(view->order, p->file, p->piece, i, &row.rank, &row.batch, &row.row);
		pthread_mutex_unlock(&view->lock);
		if (found == 0)
			r = fn(arg, &row, err);
		else if (found == -ENOENT)
			++*dropped;
		else
			r = fail(err, -found, "%s: piece %" PRIu32 ": %s", p->name, p->piece,
			         errno_name(-found));
	}
	views_put(o->d->views, view);
	return r;
}
