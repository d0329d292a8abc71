/* cat: batches without a mount, and where their rows are from. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/subcommands.h"
#include "dataset/blocking.h"
#include "dataset/origin.h"
#include "dataset/quantity.h"
#include "token/tokenizer.h"
#include "tree/npy.h"
#include "tree/text.h"

#define PART ((size_t)8 << 20) /* bytes of a batch that are read at once */

enum form { FORM_BIN, FORM_NPY, FORM_TEXT, FORM_JSON };

struct cat {
	struct dataset *d;
	struct dataset_facts facts;
	struct dataset_object object; /* the batch at hand */
	uint64_t first, last;         /* last is UINT64_MAX: to the end */
	enum form form;
	bool where, json;
	struct origins *origins;
	struct tokenizer *tokenizer;
	uint8_t *bytes;
	struct buffer out;
};

/* "5", "5-9", "5-" */
static int read_range(const char *text, uint64_t *first, uint64_t *last, struct error *err)
{
	char number[24];
	const char *dash = strchr(text, '-');
	size_t n = dash == NULL ? strlen(text) : (size_t)(dash - text);
	snprintf(number, sizeof number, "%.*s", n < sizeof number ? (int)n : 0, text);
	bool good = quantity_number(number, first);
	*last = *first;
	if (good && dash != NULL && dash[1] == 0)
		*last = UINT64_MAX;
	else if (good && dash != NULL)
		good = quantity_number(dash + 1, last) && *last >= *first;
	return good ? 0
	            : fail(err, EINVAL, "--batch %.100s: expected a number or a range, as 5, 5-9 or 5-",
	                   text);
}

static int out_of_range(struct cat *c, uint64_t batch, struct error *err)
{
	uint64_t known;
	bool final;
	int stopped;
	char view[32] = "val";
	if (!c->object.val)
		snprintf(view, sizeof view, "epoch %" PRIu32, c->object.epoch);
	dataset_batches_now(c->d, c->object.val, c->object.epoch, &known, &final, &stopped);
	if (known == 0) {
		const struct options *o = c->facts.options;
		struct dataset_counts counts;
		dataset_counts(c->d, c->object.val, &counts);
		return fail(err, ENOENT,
		            "no batch: %s has %" PRIu64 " sequences of seq_len=%" PRIu32
		            "; world_size=%" PRIu32 " times batch_size=%" PRIu32
		            " is needed from start=%" PRIu64 " on",
		            view, counts.sequences, o->seq_len, o->world_size, o->batch_size, o->start);
	}
	return fail(err, ENOENT, "there is no batch %" PRIu64 ": %s has %" PRIu64 " batches a rank", batch,
	            view, known);
}

/* Counts until the batch is known, or to the end. */
static int cover(struct cat *c, uint64_t batch, struct error *err)
{
	c->object.number = batch;
	int r = blocking_cover(c->d, &c->object, err);
	return r == -ENOENT ? out_of_range(c, batch, err) : r;
}

static int find_end(struct cat *c, struct error *err)
{
	struct dataset_object all = c->object;
	bool final;
	int stopped;
	all.kind = OBJECT_EPOCH;
	int r = blocking_cover(c->d, &all, err);
	if (r != 0 && r != -ENOENT)
		return r;
	dataset_batches_now(c->d, c->object.val, c->object.epoch, &c->last, &final, &stopped);
	return c->first < c->last-- ? 0 : out_of_range(c, c->first, err);
}

static int read_part(struct cat *c, uint64_t off, size_t n, struct error *err)
{
	int r = blocking_read(c->d, &c->object, off, c->bytes, n, err);
	return r == 0 ? 0 : fail_in(err, "batch %" PRIu64, c->object.number);
}

/* Batches larger than PART stream. */
static int put_bytes(struct cat *c, struct error *err)
{
	int r = 0;
	for (uint64_t off = 0; off < c->facts.batch_bytes && r == 0; off += PART) {
		size_t n = (size_t)min_u64(PART, c->facts.batch_bytes - off);
		r = read_part(c, off, n, err);
		if (r == 0)
			r = output_write(c->bytes, n, err);
	}
	return r;
}

static int put_where(struct cat *c, const struct origin *rows)
{
	int r = 0;
	for (uint32_t i = 0; i < c->facts.options->batch_size && r == 0; i++) {
		r = buffer_printf(&c->out,
		                  "batch %" PRIu64 " row %" PRIu32 ": %s piece %" PRIu32 " sequence %" PRIu64
		                  "\n",
		                  c->object.number, i, rows[i].file, rows[i].piece, rows[i].sequence);
		for (size_t k = 0; k < rows[i].n && r == 0; k++) {
			const struct origin_document *d = &rows[i].documents[k];
			r = buffer_printf(&c->out, "  %5" PRIu64 " + %-5" PRIu64 " %s%s%s", d->offset,
			                  d->tokens, d->id == NULL ? "(no id)" : d->id,
			                  d->url == NULL ? "" : " ", d->url == NULL ? "" : d->url);
			if (r == 0)
				r = d->skipped == 0
				            ? buffer_printf(&c->out, "\n")
				            : buffer_printf(&c->out, " (from its token %" PRIu64 " on)\n",
				                            d->skipped);
		}
	}
	return r;
}

static int put_readable(struct cat *c, struct error *err)
{
	const struct options *o = c->facts.options;
	const struct text_form form = { o->batch_size, o->seq_len + 1, c->facts.width,
		                        o->bos,        o->eos,         c->tokenizer };
	struct origin *rows = NULL;
	int r = 0;
	if (c->form == FORM_TEXT && !c->where)
		r = read_part(c, 0, (size_t)c->facts.batch_bytes, err);
	if (r == 0)
		r = origin_batch(c->origins, &c->object, c->where || c->form == FORM_JSON, &rows, err);
	if (r != 0)
		return r;
	if (c->form == FORM_JSON)
		r = text_of_origin(&c->out, rows, o->batch_size, err);
	else if (c->where)
		r = put_where(c, rows);
	else
		r = text_of_batch(&c->out, c->bytes, &form, c->object.rank, rows, err);
	origin_free(rows, o->batch_size);
	return r == 0 ? output_buffer(&c->out, err) : r;
}

static int put_npy_header(struct cat *c, struct error *err)
{
	const struct options *o = c->facts.options;
	uint8_t header[NPY_HEADER];
	uint64_t rows;
	if (!mul_u64(c->last - c->first + 1, o->batch_size, &rows) || rows > UINT32_MAX)
		return fail(err, EINVAL, "--format npy: %" PRIu64 " batches are too many for one array",
		            c->last - c->first + 1);
	npy_header(c->facts.width, (uint32_t)rows, o->seq_len + 1, header);
	return output_write(header, sizeof header, err);
}

static int put_batches(struct cat *c, struct error *err)
{
	bool readable = c->where || c->form == FORM_TEXT || c->form == FORM_JSON;
	size_t room = readable ? (size_t)c->facts.batch_bytes : (size_t)min_u64(PART, c->facts.batch_bytes);
	int r = 0;
	if ((c->bytes = malloc(room)) == NULL)
		return fail(err, ENOMEM, "out of memory for a batch of %zu bytes", room);
	if (readable)
		r = origins_open(c->d, &c->origins, err);
	if (r == 0 && c->form == FORM_TEXT)
		r = tokenizer_open(c->facts.options->tokenizer, c->facts.options->pattern, &c->tokenizer,
		                   err);
	if (r == 0 && c->last == UINT64_MAX)
		r = find_end(c, err);
	/* What is written is never followed by "there is no such batch". */
	if (r == 0)
		r = cover(c, c->last, err);
	if (r == 0 && c->form == FORM_NPY)
		r = put_npy_header(c, err);
	for (uint64_t b = c->first; r == 0 && b <= c->last; b++) {
		c->object.number = b;
		r = readable ? put_readable(c, err) : put_bytes(c, err);
	}
	return r;
}

/* ---- --find ---- */

struct found {
	struct cat *cat;
	json_t *rows; /* NULL: lines */
};

static int put_row(void *arg, const struct origin_row *row, struct error *err)
{
	struct found *f = arg;
	if (f->rows == NULL) {
		printf("rank %" PRIu32 " batch %" PRIu64 " row %" PRIu32 ": tokens %" PRIu64 " to %" PRIu64
		       " of the row are its tokens from %" PRIu64 " on\n",
		       row->rank, row->batch, row->row, row->offset, row->offset + row->tokens - 1,
		       row->skipped);
		return 0;
	}
	json_t *j = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "rank", (json_int_t)row->rank, "batch",
	                      (json_int_t)row->batch, "row", (json_int_t)row->row, "sequence",
	                      (json_int_t)row->sequence, "offset", (json_int_t)row->offset, "skipped",
	                      (json_int_t)row->skipped, "tokens", (json_int_t)row->tokens);
	return json_array_append_new(f->rows, j) == 0 ? 0 : fail(err, ENOMEM, "out of memory");
}

static int print_found(struct cat *c, const struct origin_place *p, struct error *err)
{
	struct found f = { .cat = c };
	uint64_t dropped;
	printf("%s row %" PRIu64 "%s%s%s%s: tokens %" PRIu64 " to %" PRIu64 " of piece %" PRIu32 "\n",
	       p->name, p->row, p->id == NULL ? "" : " ", p->id == NULL ? "" : p->id,
	       p->url == NULL ? "" : " ", p->url == NULL ? "" : p->url, p->first, p->first + p->tokens - 1,
	       p->piece);
	int r = origin_rows(c->origins, p, c->object.val, c->object.epoch, put_row, &f, &dropped, err);
	if (r == 0 && dropped > 0)
		printf("%" PRIu64 " of its sequences stand%s in no batch\n", dropped,
		       dropped == 1 ? "s" : "");
	return r;
}

static int dump_found(struct cat *c, const struct origin_place *p, struct error *err)
{
	struct found f = { .cat = c, .rows = json_array() };
	uint64_t dropped = 0;
	int r = origin_rows(c->origins, p, c->object.val, c->object.epoch, put_row, &f, &dropped, err);
	json_t *j = json_pack("{s:s,s:I,s:s?,s:s?,s:I,s:I,s:I,s:I,s:O}", "file", p->name, "row",
	                      (json_int_t)p->row, "id", p->id, "url", p->url, "piece", (json_int_t)p->piece,
	                      "first", (json_int_t)p->first, "tokens", (json_int_t)p->tokens,
	                      "dropped_sequences", (json_int_t)dropped, "rows", f.rows);
	if (r == 0 && (j == NULL || json_dumpf(j, stdout, JSON_INDENT(1)) != 0))
		r = fail(err, ENOMEM, "%s: cannot be written as JSON", p->name);
	if (r == 0)
		printf("\n");
	json_decref(j);
	json_decref(f.rows);
	return r;
}

static int find_document(struct cat *c, const char *what, struct error *err)
{
	struct dataset_object all = c->object;
	struct origin_place *places = NULL;
	size_t n = 0;
	bool more = false;
	all.kind = OBJECT_EPOCH;
	int r = origins_open(c->d, &c->origins, err);
	if (r == 0)
		r = origin_find(c->origins, what, &places, &n, &more, err);
	if (r != 0)
		return r;
	r = blocking_cover(c->d, &all, err);
	if (r == -ENOENT)
		r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = c->json ? dump_found(c, &places[i], err) : print_found(c, &places[i], err);
	if (r == 0 && more)
		fprintf(stderr,
		        "fineweb: cat: %s: these are the first %u documents of this id, there are more\n",
		        what, ORIGIN_FOUND);
	origin_places_free(places, n);
	return r;
}

/* ---- the command line ---- */

static int choose_form(struct cat *c, const char *form, struct error *err)
{
	static const char *const names[] = { "bin", "npy", "text", "json" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(form, names[i]) == 0) {
			c->form = (enum form)i;
			return 0;
		}
	return fail(err, EINVAL, "--format %s: expected bin, npy, text or json", form);
}

/* batch, form, find: NULL where they are not given. */
static int check_together(const struct cat *c, const char *batch, const char *form, const char *find,
                          struct error *err)
{
	if (find != NULL && (c->where || batch != NULL || form != NULL))
		return fail(err, EINVAL, "--find does not go with %s: it tells of the whole epoch",
		            c->where        ? "--where"
		            : batch != NULL ? "--batch"
		                            : "--format");
	if (c->where && form != NULL)
		return fail(err, EINVAL,
		            "--where does not go with --format: it prints lines, or with --json JSON");
	if (c->json && !c->where && find == NULL)
		return fail(err, EINVAL,
		            "--json goes with --where or --find; for a batch there is --format json");
	return 0;
}

static int check(struct cat *c, const struct options *o, uint64_t rank, bool val, struct error *err)
{
	if (rank >= o->world_size)
		return fail(err, EINVAL,
		            "--rank %" PRIu64 ": world_size=%" PRIu32 " has the ranks 0 to %" PRIu32, rank,
		            o->world_size, o->world_size - 1);
	if (val && o->val_tokens == 0)
		return fail(err, EINVAL, "--val: nothing is held out: give val_tokens");
	c->object = (struct dataset_object){
		.kind = OBJECT_BATCH, .val = val, .epoch = val ? 0 : o->epoch, .rank = (uint32_t)rank
	};
	return 0;
}

int cat_run(int argc, char **argv, struct error *err)
{
	const char *batch = NULL, *form = NULL, *find = NULL;
	uint64_t rank = 0;
	bool val = false, debug = false;
	struct cat c = { 0 };
	const struct flag flags[] = {
		{ "rank", 0, "N", "of world_size ranks; default 0", FLAG_NUMBER, &rank },
		{ "batch", 0, "N|N-M|N-", "which batches of the rank; default 0", FLAG_TEXT, &batch },
		{ "val", 0, NULL, "batches of the held-out part", FLAG_SWITCH, &val },
		{ "format", 0, "bin|npy|text|json", "ids, .npy, words, or where rows are from; bin",
		  FLAG_TEXT, &form },
		{ "where", 0, NULL, "where each row is from: file, piece, documents", FLAG_SWITCH, &c.where },
		{ "find", 0, "ID|FILE:ROW", "in which batches of the epoch documents stand", FLAG_TEXT,
		  &find },
		{ "json", 0, NULL, "--where and --find as JSON", FLAG_SWITCH, &c.json },
		{ "debug", 'd', NULL, "log more", FLAG_SWITCH, &debug },
	};
	const struct command command = {
		.name = "cat",
		.words = "[SOURCE]...",
		.about = "Writes batches of a source to stdout: the bytes that a mount with the same\n"
		         "options has in rank_N/batch_XXXX.bin, of the epoch --epoch (0).\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
		.most = SIZE_MAX,
		.sources = true,
	};
	struct arguments a;
	int r = arguments_read(&command, argc, argv, &a, err);
	if (r != 0)
		goto out;
	r = check_together(&c, batch, form, find, err);
	if (r == 0)
		r = read_range(batch == NULL ? "0" : batch, &c.first, &c.last, err);
	if (r == 0)
		r = choose_form(&c, form == NULL ? "bin" : form, err);
	if (r == 0)
		r = check(&c, &a.options, rank, val, err);
	if (r != 0)
		goto out;
	if (c.where && c.json)
		c.form = FORM_JSON;
	log_open(false, debug                                 ? LOG_LEVEL_DEBUG
	                : a.options.on_error == ON_ERROR_SKIP ? LOG_LEVEL_WARNING
	                                                      : LOG_LEVEL_ERROR);
	r = dataset_inspect(&a.options, a.sample, &c.d, err);
	if (r != 0)
		goto out;
	dataset_facts(c.d, &c.facts);
	r = find != NULL ? find_document(&c, find, err) : put_batches(&c, err);
out:
	free(c.bytes);
	buffer_free(&c.out);
	origins_close(c.origins);
	tokenizer_close(c.tokenizer);
	dataset_close(c.d);
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
