#include "dataset/origin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

void origin_place_free(struct origin_place *p)
{
	free(p->id);
	free(p->url);
	p->id = p->url = NULL;
}

/* *out is NULL for an empty span, as sources without the column have. */
static int copy_span(struct span s, char **out, struct error *err)
{
	*out = s.n == 0 ? NULL : strndup((const char *)s.at, s.n);
	return s.n > 0 && *out == NULL ? fail(err, ENOMEM, "out of memory") : 0;
}

/* ---- the documents of a piece, with their tokens ---- */

enum { ENOUGH = 1 }; /* what a taker returns to stop */

typedef int taker(void *arg, const struct document *d, uint64_t first, uint64_t tokens, struct error *err);

#define PART (1u << 20) /* bytes of a text that are encoded at once, where it can be cut */

struct measure {
	const struct dataset *d;
	struct encoder *encoder;
	struct buffer ids;
	uint64_t at; /* tokens so far */
	taker *take;
	void *arg;
};

static int measure_document(void *arg, const struct document *document, struct error *err)
{
	struct measure *m = arg;
	const struct options *o = &m->d->options;
	if (document->text.n == 0)
		return m->take(m->arg, document, m->at, 0, err);
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
	int r = m->take(m->arg, document, m->at, tokens, err);
	m->at += tokens;
	return r;
}

/* Hands on every document of a piece; a failed read of the network is tried once more, on a new connection.
 */
static int documents_of(struct origins *o, uint32_t file, uint32_t piece, taker *take, void *arg,
                        struct error *err)
{
	struct measure m = { .d = o->d, .take = take, .arg = arg, .encoder = encoder_new(o->tokenizer) };
	struct share share = { .pool = textfiles_options(o->d->textfiles)->pool };
	struct textfile *f;
	int r = m.encoder == NULL ? fail(err, ENOMEM, "out of memory")
	                          : textfiles_get(o->d->textfiles, file, &f, err);
	if (r == 0) {
		r = textfile_documents(f, textfiles_options(o->d->textfiles), piece, o->groups, true,
		                       &share, measure_document, &m, err);
		share_end(&share);
		textfiles_put(o->d->textfiles, f, r < 0);
	}
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
	const char *id; /* NULL: by row */
	size_t n;
	uint64_t row;
	bool found;
	struct origin_place *out; /* NULL: only whether it is there */
};

static bool is_it(const struct search *s, const struct document *d)
{
	return s->id == NULL ? d->row == s->row : d->id.n == s->n && memcmp(d->id.at, s->id, s->n) == 0;
}

static int search_piece(void *arg, const struct document *d, uint64_t first, uint64_t tokens,
                        struct error *err)
{
	struct search *s = arg;
	if (!is_it(s, d))
		return 0;
	s->found = true;
	s->out->row = d->row;
	s->out->first = first;
	s->out->tokens = tokens;
	int r = copy_span(d->id, &s->out->id, err);
	if (r == 0)
		r = copy_span(d->url, &s->out->url, err);
	return r == 0 ? ENOUGH : r;
}

/* The column of ids, read as the text. */
static int search_ids(void *arg, const struct document *d, struct error *err)
{
	struct search *s = arg;
	(void)err;
	s->found = d->text.n == s->n && memcmp(d->text.at, s->id, s->n) == 0;
	return s->found ? ENOUGH : 0;
}

static int search_documents(void *arg, const struct document *d, struct error *err)
{
	struct search *s = arg;
	(void)err;
	s->found = is_it(s, d);
	return s->found ? ENOUGH : 0;
}

/* The piece of a file with a document of this id. 0, -ENOENT. */
static int piece_of_id(struct origins *o, struct textfile *f, struct search *s, uint32_t *piece,
                       struct error *err)
{
	const struct textfiles_options *fo = textfiles_options(o->d->textfiles);
	struct share share = { .pool = fo->pool };
	int r = 0;
	if (f->kind == KIND_PARQUET) {
		for (uint32_t g = 0; f->id >= 0 && g < parquet_row_groups(f->parquet) && r == 0; g++) {
			r = parquet_texts(f->parquet, g, f->id, -1, -1, NULL, search_ids, s, err);
			*piece = g / o->groups;
		}
	} else {
		uint64_t pieces = f->kind == KIND_JSONL ? jsonl_pieces(f->source->size) : 1;
		for (uint32_t p = 0; p < pieces && r == 0; p++) {
			r = textfile_documents(f, fo, p, o->groups, true, &share, search_documents, s, err);
			share_end(&share);
			*piece = p;
		}
	}
	return s->found ? 0 : r < 0 ? r : -ENOENT;
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
static int piece_of_row(struct origins *o, struct textfile *f, struct search *s, uint32_t *piece,
                        struct error *err)
{
	uint64_t rows = 0, before = 0;
	*piece = 0;
	if (f->kind == KIND_PARQUET) {
		uint32_t g = 0, groups = parquet_row_groups(f->parquet);
		while (g < groups && s->row >= rows + parquet_rows(f->parquet, g))
			rows += parquet_rows(f->parquet, g++);
		*piece = g / o->groups;
		return g < groups ? 0 : -ENOENT;
	}
	if (f->kind != KIND_JSONL)
		return 0;
	for (uint64_t p = 1; p < jsonl_pieces(f->source->size); p++) {
		int r = lines_before(f->source, p * JSONL_PIECE, &rows, err);
		if (r != 0)
			return r;
		if (rows > s->row)
			break;
		*piece = (uint32_t)p;
		before = rows;
	}
	s->row -= before;
	return 0;
}

static int find_in_file(struct origins *o, uint32_t file, struct search *s, struct origin_place *out,
                        struct error *err)
{
	struct textfile *f;
	uint64_t row = s->row;
	int r = textfiles_get(o->d->textfiles, file, &f, err);
	if (r != 0)
		return r;
	r = s->id != NULL ? piece_of_id(o, f, s, &out->piece, err) : piece_of_row(o, f, s, &out->piece, err);
	textfiles_put(o->d->textfiles, f, r < 0 && r != -ENOENT);
	if (r != 0)
		return r;
	s->found = false;
	r = documents_of(o, file, out->piece, search_piece, s, err);
	if (r == 0 && !s->found)
		return -ENOENT;
	out->file = file;
	out->name = manifest_file(o->d->manifest, file)->name;
	if (s->id == NULL)
		out->row = row;
	/* A count of a column that is short cuts the piece, and with it the document. */
	int64_t n = manifest_tokens(o->d->manifest, file, out->piece);
	if (n >= 0 && out->first + out->tokens > (uint64_t)n)
		out->tokens = out->first < (uint64_t)n ? (uint64_t)n - out->first : 0;
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

int origin_find(struct origins *o, const char *what, struct origin_place *out, struct error *err)
{
	struct search s = { .out = out };
	uint32_t file;
	int r = -ENOENT;
	*out = (struct origin_place){ 0 };
	if (o->tokenizer == NULL)
		return fail(err, ENOTSUP, "%s: the source is token files, which do not name documents", what);
	if (names_row(o, what, &file, &s.row)) {
		r = find_in_file(o, file, &s, out, err);
		if (r == -ENOENT)
			fail(err, ENOENT, "%s: the file has no such row with a document", what);
	} else {
		s.id = what;
		s.n = strlen(what);
		for (file = 0; file < manifest_files(o->d->manifest) && r == -ENOENT; file++)
			r = find_in_file(o, file, &s, out, err);
		if (r == -ENOENT)
			fail(err, ENOENT, "%s: no document has this id, and no file this name and row", what);
	}
	if (r == 0 && out->tokens == 0)
		r = fail(err, ENOENT, "%s: the document has no text", what);
	if (r != 0)
		origin_place_free(out);
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
