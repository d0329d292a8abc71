#include "dataset/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "dataset/internal.h"

static const char *kind_name(enum file_kind kind)
{
	switch (kind) {
	case KIND_PARQUET:
		return "Parquet";
	case KIND_JSONL:
		return "JSON lines";
	case KIND_JSONL_GZ:
		return "JSON lines, gzip";
	case KIND_JSONL_ZST:
		return "JSON lines, zstd";
	case KIND_TOKENS_NPY:
		return "token files (.npy)";
	default:
		return "token files (.bin)";
	}
}

static int take_columns(struct survey *s, const struct textfile *f, struct error *err)
{
	s->n_columns = (uint32_t)min_u64(parquet_columns(f->parquet), SURVEY_COLUMNS);
	s->columns = calloc(s->n_columns + 1, sizeof *s->columns);
	if (s->columns == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < s->n_columns; i++) {
		struct survey_column *c = &s->columns[i];
		parquet_column_path(f->parquet, i, c->name, sizeof c->name);
		c->type = parquet_column_type(f->parquet, i);
		c->text = (int)i == f->text;
		c->token_count = (int)i == f->token_count;
	}
	return 0;
}

static int add_parquet(struct dataset *d, struct survey *s, uint32_t file, struct error *err)
{
	struct textfile *f;
	int r = textfiles_get(d->textfiles, file, &f, err);
	if (r != 0)
		return r;
	if (s->columns == NULL)
		r = take_columns(s, f, err);
	uint32_t groups = parquet_row_groups(f->parquet);
	for (uint32_t g = 0; g < groups && r == 0; g++) {
		struct parquet_range chunk;
		parquet_chunk(f->parquet, g, f->text, &chunk);
		s->text_bytes += chunk.n;
		s->rows += parquet_rows(f->parquet, g);
	}
	s->row_groups += groups;
	s->bytes += f->source->size;
	textfiles_put(d->textfiles, f, false);
	return r;
}

/* Of a file on a server the size is known once it was opened. */
static int add_file(struct dataset *d, struct survey *s, uint32_t file, struct error *err)
{
	const struct listed_file *f = manifest_file(d->manifest, file);
	uint64_t size = f->size;
	if (d->stored != NULL)
		return 0;
	if (f->kind == KIND_PARQUET)
		return add_parquet(d, s, file, err);
	if (f->remote) {
		struct source *source;
		enum file_kind kind;
		int r = manifest_open(d->manifest, file, &source, &kind, err);
		if (r != 0)
			return r;
		size = source->size;
		source_close(source);
	}
	s->bytes += size;
	s->text_bytes += size;
	return 0;
}

int survey_make(struct dataset *d, struct survey *out, struct error *err)
{
	uint32_t files = manifest_files(d->manifest);
	struct manifest_sums before, after;
	*out = (struct survey){
		.kind = kind_name(manifest_file(d->manifest, 0)->kind),
		.files = files,
		.remote = d->remote,
		.whole = !d->remote || files <= SURVEY_REMOTE,
	};
	manifest_sum(d->manifest, d->cut_file, d->cut_piece, true, &before);
	manifest_sum(d->manifest, d->cut_file, d->cut_piece, false, &after);
	out->pieces = before.final && after.final ? before.pieces + after.pieces : 0;
	int r = 0;
	textfiles_whole(d->textfiles);
	for (uint32_t i = 0; i < (out->whole ? files : 1) && r == 0; i++)
		r = add_file(d, out, i, err);
	if (d->stored != NULL) {
		out->kind = "prepared shards";
		out->bytes = out->text_bytes = (before.tokens + after.tokens) * d->width;
	}
	return r;
}

void survey_free(struct survey *s)
{
	free(s->columns);
	s->columns = NULL;
}
