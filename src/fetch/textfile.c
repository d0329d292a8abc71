#include "fetch/textfile.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/jsonl.h"

struct textfiles {
	struct textfiles_options options;
	char *column;
	pthread_mutex_t lock;
	struct textfile *open[TEXTFILES_OPEN];
	uint64_t clock;
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

static int textfile_open(struct textfiles *t, uint32_t file, struct textfile **out, struct error *err)
{
	struct textfile *f = calloc(1, sizeof *f);
	if (f == NULL)
		return fail(err, ENOMEM, "out of memory");
	f->file = file;
	f->id = f->url = f->text = f->token_count = -1;
	int r = t->options.open(t->options.arg, file, &f->source, &f->kind, err);
	if (r == 0 && f->kind == KIND_PARQUET) {
		struct parquet_limits limits = { .page = t->options.page };
		r = parquet_open(f->source, &limits, &f->parquet, err);
		if (r == 0)
			r = choose_columns(f, &t->options, err);
	}
	if (r != 0) {
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

int textfiles_get(struct textfiles *t, uint32_t file, struct textfile **out, struct error *err)
{
	bool still = t->options.still(t->options.arg, file);
	struct textfile *gone = NULL, *f;
	pthread_mutex_lock(&t->lock);
	f = find(t, file);
	if (f != NULL && still) {
		*out = use(t, f);
		pthread_mutex_unlock(&t->lock);
		return 0;
	}
	if (f != NULL && drop(t, f))
		gone = f;
	pthread_mutex_unlock(&t->lock);
	if (gone != NULL)
		textfile_close(gone);
	struct textfile *made = NULL;
	int r = textfile_open(t, file, &made, err);
	if (r != 0)
		return r;
	pthread_mutex_lock(&t->lock);
	f = find(t, file);
	if (f == NULL) {
		f = made;
		made = NULL;
		keep(t, f);
	}
	*out = use(t, f);
	pthread_mutex_unlock(&t->lock);
	if (made != NULL)
		textfile_close(made);
	return 0;
}

void textfiles_put(struct textfiles *t, struct textfile *f, bool again)
{
	pthread_mutex_lock(&t->lock);
	f->users--;
	bool last = f->dropped || again ? drop(t, f) : false;
	pthread_mutex_unlock(&t->lock);
	if (last)
		textfile_close(f);
}

int textfile_documents(struct textfile *f, const struct textfiles_options *options, uint32_t piece,
                       uint32_t groups, bool with_ids, document_fn *fn, void *arg, struct error *err)
{
	struct jsonl_options lines = { .column = options->column, .line = options->page };
	int r = 0;
	switch (f->kind) {
	case KIND_PARQUET: {
		uint64_t first = (uint64_t)piece * groups;
		for (uint64_t g = first; r == 0 && g < first + groups && g < parquet_row_groups(f->parquet);
		     g++)
			r = parquet_texts(f->parquet, (uint32_t)g, f->text, with_ids ? f->id : -1,
			                  with_ids ? f->url : -1, fn, arg, err);
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
