#include "fetch/textfile.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/span.h"
#include "fetch/overlay.h"
#include "format/jsonl.h"

/* A file that some thread is opening, on its stack; who wants the same file waits for it and shares what
 * comes of it, or every one of them would wait for a server that is not there, one after another. */
struct opening {
	uint32_t file;
	unsigned waiters; /* who must see the result before it goes */
	bool ended;
	int result;
	struct error error;
	struct opening *next;
};

struct textfiles {
	struct textfiles_options options;
	char *column;
	pthread_mutex_t lock;
	pthread_cond_t opened; /* some opening has ended, or was seen by all that waited for it */
	struct opening *opening;
	struct textfile *open[TEXTFILES_OPEN];
	uint64_t clock;
	atomic_bool whole;
};

int textfiles_new(const struct textfiles_options *options, struct textfiles **out, struct error *err)
{
	struct textfiles *t = calloc(1, sizeof *t);
	if (t == NULL)
		return fail(err, ENOMEM, "out of memory");
	t->options = *options;
	if (options->column != NULL) {
		t->column = strdup(options->column);
		if (t->column == NULL) {
			free(t);
			return fail(err, ENOMEM, "out of memory");
		}
		t->options.column = t->column;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->opened, NULL);
	*out = t;
	return 0;
}

static void textfile_close(struct textfile *f)
{
	parquet_close(f->parquet);
	source_close(f->source);
	free(f);
}

void textfiles_free(struct textfiles *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < TEXTFILES_OPEN; i++)
		if (t->open[i] != NULL)
			textfile_close(t->open[i]);
	pthread_cond_destroy(&t->opened);
	pthread_mutex_destroy(&t->lock);
	free(t->column);
	free(t);
}

const struct textfiles_options *textfiles_options(const struct textfiles *t)
{
	return &t->options;
}

static int choose_columns(struct textfile *f, const struct textfiles_options *o, struct error *err)
{
	static const char *const usual[] = { "text", "raw_content", "content" };
	f->text = -1;
	if (o->column != NULL)
		f->text = parquet_column(f->parquet, o->column);
	for (size_t i = 0; o->column == NULL && f->text < 0 && i < sizeof usual / sizeof *usual; i++)
		f->text = parquet_column(f->parquet, usual[i]);
	if (f->text < 0 && o->column != NULL)
		return fail(err, EBADMSG, "%s: has no column '%s'", f->source->name, o->column);
	if (f->text < 0)
		return fail(err, EBADMSG,
		            "%s: has none of the columns text, raw_content, content; name one with column=",
		            f->source->name);
	int r = parquet_is_text(f->parquet, f->text, err);
	if (r != 0)
		return r;
	f->id = parquet_column(f->parquet, "id");
	if (f->id >= 0 && parquet_is_text(f->parquet, f->id, NULL) != 0)
		f->id = -1;
	f->url = parquet_column(f->parquet, "url");
	if (f->url >= 0 && parquet_is_text(f->parquet, f->url, NULL) != 0)
		f->url = -1;
	f->token_count = parquet_column(f->parquet, "token_count");
	return 0;
}

#define FOOTER_TAIL (64u << 10) /* bytes from the end that are asked for first: a small footer is in them */
#define FOOTER_LARGE (1u << 20)
#define FOOTER_MOST (64u << 20) /* bytes of a footer that are fetched in one request */

/* The footer of a remote file in one request, or two where it is large, not one for each thing that is read
 * of it. */
static int fetch_footer(struct source *s, uint64_t held[2], struct error *err)
{
	uint8_t end[8];
	held[0] = held[1] = s->size > FOOTER_TAIL ? s->size - FOOTER_TAIL : 0;
	int r = overlay_fill(s, held[0], FOOTER_TAIL, err);
	if (r != 0 || s->size < sizeof end)
		return r;
	r = source_read(s, s->size - sizeof end, end, sizeof end, err);
	uint64_t n = (uint64_t)load_u32(end) + sizeof end;
	/* What is no footer is for the parser to refuse. */
	if (r != 0 || n <= FOOTER_TAIL || n > FOOTER_MOST || n > s->size)
		return r;
	held[1] = s->size - n;
	return overlay_fill(s, held[1], n - FOOTER_TAIL, err);
}

/* A footer of megabytes was read and let go, and what was parsed of it stays: glibc would keep the room between
 * in each thread's heap, 10 MB a thread. */
static void give_back(uint64_t footer)
{
#ifdef __GLIBC__
	if (footer > FOOTER_LARGE)
		malloc_trim(0);
#else
	(void)footer;
#endif
}

static int open_parquet(struct textfiles *t, struct textfile *f, struct error *err)
{
	struct parquet_limits limits = { .page = t->options.page };
	int r = parquet_open(f->source, &limits, &f->parquet, err);
	return r == 0 ? choose_columns(f, &t->options, err) : r;
}

/* What an earlier mount remembered in the place of the footer: nothing is asked of the server then. False: it is not
 * known, or it is none. */
static bool recall_parquet(struct textfiles *t, struct textfile *f)
{
	struct buffer outline = { 0 };
	bool known = t->options.recall != NULL && !atomic_load(&t->whole) &&
	             t->options.recall(t->options.arg, f->file, &outline) && outline.n < f->source->size;
	uint64_t at = known ? f->source->size - outline.n : 0;
	known = known && overlay_put(f->source, at, outline.at, outline.n, NULL) == 0;
	if (known) {
		f->outlined = f->remembered = open_parquet(t, f, NULL) == 0;
		overlay_drop(f->source, at);
	}
	buffer_free(&outline);
	if (!f->outlined) {
		parquet_close(f->parquet);
		f->parquet = NULL;
	}
	return f->outlined;
}

static int open_remote_parquet(struct textfiles *t, struct textfile *f, struct error *err)
{
	uint64_t held[2];
	if (recall_parquet(t, f))
		return 0;
	int r = fetch_footer(f->source, held, err);
	if (r == 0)
		r = open_parquet(t, f, err);
	for (unsigned i = 0; i < 2; i++)
		overlay_drop(f->source, held[i]);
	if (r == 0)
		give_back(f->source->size - held[1]);
	return r;
}

void textfiles_whole(struct textfiles *t)
{
	atomic_store(&t->whole, true);
}

void textfiles_remember(struct textfiles *t, struct textfile *f)
{
	const int columns[] = { f->text, f->id, f->url, f->token_count };
	int kept[4];
	unsigned n = 0;
	struct buffer outline = { 0 };
	pthread_mutex_lock(&t->lock);
	bool due = f->kind == KIND_PARQUET && !f->remembered && t->options.remember != NULL;
	f->remembered = true;
	pthread_mutex_unlock(&t->lock);
	if (!due)
		return;
	for (unsigned i = 0; i < 4; i++) {
		unsigned at = n;
		if (columns[i] < 0)
			continue;
		for (; at > 0 && kept[at - 1] > columns[i]; at--)
			kept[at] = kept[at - 1];
		kept[at] = columns[i];
		n++;
	}
	if (parquet_outline(f->parquet, kept, n, &outline, NULL) == 0)
		t->options.remember(t->options.arg, f->file, &outline);
	buffer_free(&outline);
}

static int textfile_open(struct textfiles *t, uint32_t file, struct textfile **out, struct error *err)
{
	struct textfile *f = calloc(1, sizeof *f);
	if (f == NULL)
		return fail(err, ENOMEM, "out of memory");
	f->file = file;
	f->id = f->url = f->text = f->token_count = -1;
	int r = t->options.open(t->options.arg, file, &f->source, &f->kind, err);
	bool remote = r == 0 && t->options.remote(t->options.arg, file);
	if (remote) {
		struct source *base = f->source;
		f->source = NULL;
		r = overlay_open(base, &f->source, err);
	}
	if (r == 0 && f->kind == KIND_PARQUET)
		r = remote ? open_remote_parquet(t, f, err) : open_parquet(t, f, err);
	if (r != 0) {
		if (r == -EBADMSG)
			source_doubt(f->source);
		textfile_close(f);
		return r;
	}
	*out = f;
	return 0;
}

/* Puts a newly opened file into the table, closing the one unused for longest; where all are in use it is
 * just not kept. */
static void keep(struct textfiles *t, struct textfile *f)
{
	size_t best = TEXTFILES_OPEN;
	for (size_t i = 0; i < TEXTFILES_OPEN; i++) {
		if (t->open[i] == NULL) {
			best = i;
			break;
		}
		if (t->open[i]->users == 0 &&
		    (best == TEXTFILES_OPEN || t->open[i]->used < t->open[best]->used))
			best = i;
	}
	if (best == TEXTFILES_OPEN) {
		f->dropped = true;
		return;
	}
	if (t->open[best] != NULL)
		textfile_close(t->open[best]);
	t->open[best] = f;
}

static struct textfile *find(struct textfiles *t, uint32_t file)
{
	for (size_t i = 0; i < TEXTFILES_OPEN; i++)
		if (t->open[i] != NULL && t->open[i]->file == file)
			return t->open[i];
	return NULL;
}

/* Takes a file out of the table. True when nobody uses it: then the caller closes it, outside the lock. */
static bool drop(struct textfiles *t, struct textfile *f)
{
	for (size_t i = 0; i < TEXTFILES_OPEN; i++)
		if (t->open[i] == f)
			t->open[i] = NULL;
	f->dropped = true;
	return f->users == 0;
}

static struct textfile *use(struct textfiles *t, struct textfile *f)
{
	f->users++;
	f->used = ++t->clock;
	return f;
}

/* Under the lock, which it lets go meanwhile: opens a file that nobody else is opening, and uses it. */
static int open_alone(struct textfiles *t, uint32_t file, struct textfile **out, struct error *err)
{
	struct opening self = { .file = file, .next = t->opening }, **at = &t->opening;
	struct textfile *f = NULL;
	t->opening = &self;
	pthread_mutex_unlock(&t->lock);
	self.result = textfile_open(t, file, &f, &self.error);
	pthread_mutex_lock(&t->lock);
	while (*at != &self)
		at = &(*at)->next;
	*at = self.next;
	if (self.result == 0) {
		keep(t, f);
		*out = use(t, f);
	} else if (err != NULL) {
		*err = self.error;
	}
	self.ended = true;
	pthread_cond_broadcast(&t->opened);
	while (self.waiters > 0)
		pthread_cond_wait(&t->opened, &t->lock);
	return self.result;
}

static struct opening *opening_of(const struct textfiles *t, uint32_t file)
{
	struct opening *o = t->opening;
	while (o != NULL && o->file != file)
		o = o->next;
	return o;
}

/* Under the lock: waits until somebody has opened a file. 0, or what it failed with. */
static int await(struct textfiles *t, struct opening *o, struct error *err)
{
	o->waiters++;
	while (!o->ended)
		pthread_cond_wait(&t->opened, &t->lock);
	int r = o->result;
	if (r != 0 && err != NULL)
		*err = o->error;
	if (--o->waiters == 0)
		pthread_cond_broadcast(&t->opened);
	return r;
}

int textfiles_get(struct textfiles *t, uint32_t file, struct textfile **out, struct error *err)
{
	bool still = t->options.still(t->options.arg, file);
	struct textfile *gone = NULL, *f = NULL;
	struct opening *o;
	int r = 0;
	pthread_mutex_lock(&t->lock);
	while (r == 0 && (o = opening_of(t, file)) != NULL)
		r = await(t, o, err);
	if (r == 0)
		f = find(t, file);
	if (f != NULL && (!still || (f->outlined && atomic_load(&t->whole)))) {
		if (drop(t, f))
			gone = f;
		f = NULL;
	}
	if (f != NULL)
		*out = use(t, f);
	else if (r == 0)
		r = open_alone(t, file, out, err);
	pthread_mutex_unlock(&t->lock);
	if (gone != NULL)
		textfile_close(gone);
	return r;
}

void textfiles_put(struct textfiles *t, struct textfile *f, bool again)
{
	if (again)
		source_doubt(f->source);
	pthread_mutex_lock(&t->lock);
	f->users--;
	bool last = f->dropped || again ? drop(t, f) : false;
	pthread_mutex_unlock(&t->lock);
	if (last)
		textfile_close(f);
}

#define RANGES_GAP \
	(256u << 10) /* bytes between two chunks that are fetched with them, rather than in two requests */

/* One more range, joined with the last where it lies behind it and near. */
static void add_range(struct parquet_range *out, unsigned *n, struct parquet_range more)
{
	struct parquet_range *last = &out[*n - 1];
	if (*n > 0 && more.off >= last->off && more.off <= last->off + last->n + RANGES_GAP)
		last->n = max_u64(last->n, more.off + more.n - last->off);
	else
		out[(*n)++] = more;
}

unsigned textfile_ranges(const struct textfile *f, uint32_t piece, uint32_t groups, bool with_counts,
                         bool with_ids, struct parquet_range *out, unsigned most, uint64_t bytes)
{
	unsigned n = 0;
	uint64_t all = 0, first = (uint64_t)piece * groups;
	if (f->kind == KIND_JSONL) {
		/* The byte before says whether a line begins at the first; the last line runs on. */
		uint64_t from = (uint64_t)piece * JSONL_PIECE;
		out[n++] = (struct parquet_range){ from - (from > 0), JSONL_PIECE + (64u << 10) };
	}
	for (uint64_t g = first;
	     f->kind == KIND_PARQUET && g < first + groups && g < parquet_row_groups(f->parquet); g++) {
		struct parquet_range chunk;
		if (n + 3 > most)
			return 0;
		parquet_chunk(f->parquet, (uint32_t)g, f->text, &chunk);
		add_range(out, &n, chunk);
		if (with_counts && f->token_count >= 0) {
			parquet_chunk(f->parquet, (uint32_t)g, f->token_count, &chunk);
			add_range(out, &n, chunk);
		}
		if (with_ids && f->id >= 0) {
			parquet_chunk(f->parquet, (uint32_t)g, f->id, &chunk);
			add_range(out, &n, chunk);
		}
	}
	for (unsigned i = 0; i < n; i++)
		all += min_u64(out[i].n, bytes + 1);
	return all <= bytes ? n : 0;
}

int textfile_documents(struct textfile *f, const struct textfiles_options *options, uint32_t piece,
                       uint32_t groups, bool with_ids, struct share *share, document_fn *fn, void *arg,
                       struct error *err)
{
	share = share == NULL || share->pool == NULL ? NULL : share;
	struct jsonl_options lines = { .column = options->column, .line = options->page, .share = share };
	int r = 0;
	switch (f->kind) {
	case KIND_PARQUET: {
		uint64_t first = (uint64_t)piece * groups;
		for (uint64_t g = first; r == 0 && g < first + groups && g < parquet_row_groups(f->parquet);
		     g++)
			r = parquet_texts(f->parquet, (uint32_t)g, f->text, with_ids ? f->id : -1,
			                  with_ids ? f->url : -1, share, fn, arg, err);
		return r;
	}
	case KIND_JSONL:
		return jsonl_texts(f->source, piece, &lines, fn, arg, err);
	case KIND_JSONL_GZ:
		return jsonl_stream_texts(f->source, CODEC_GZIP, &lines, fn, arg, err);
	case KIND_JSONL_ZST:
		return jsonl_stream_texts(f->source, CODEC_ZSTD, &lines, fn, arg, err);
	default:
		return fail(err, EINVAL, "%s: is not a text file", f->source->name);
	}
}
