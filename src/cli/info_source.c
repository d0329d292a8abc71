#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "cli/info.h"
#include "dataset/blocking.h"
#include "dataset/survey.h"

static void add_columns(struct sheet *s, const struct survey *v)
{
	json_t *list = json_array();
	struct buffer line = { 0 };
	for (uint32_t i = 0; i < v->n_columns; i++) {
		const struct survey_column *c = &v->columns[i];
		const char *use = c->text ? " (texts)" : c->token_count ? " (counts)" : "";
		s->failed |=
		        json_array_append_new(list, json_pack("{s:o,s:s,s:b,s:b}", "name",
		                                              sheet_string(c->name), "type", c->type, "text",
		                                              c->text, "token_count", c->token_count)) != 0;
		s->failed |= buffer_printf(&line, "%s%s%s", i == 0 ? "" : ", ", c->name, use) != 0;
	}
	sheet_json(s, "columns", list);
	if (v->n_columns > 0)
		sheet_line(s, "columns", "%s", (const char *)line.at);
	buffer_free(&line);
}

static void add_files(struct sheet *s, const struct survey *v, const struct dataset_facts *f)
{
	char bytes[SHEET_NUMBER], rows[SHEET_NUMBER], groups[SHEET_NUMBER];
	json_t *sources = json_array();
	for (size_t i = 0; i < f->pins; i++) {
		s->failed |= json_array_append_new(sources, sheet_string(f->pinned[i])) != 0;
		sheet_line(s, i == 0 ? "source" : "", "%s%s", f->pinned[i],
		           f->sample ? " (the bundled sample)" : "");
	}
	sheet_json(s, "source", sources);
	sheet_text(s, "kind", NULL, v->kind);
	sheet_json(s, "files", json_integer(v->files));
	sheet_json(s, "remote", json_boolean(v->remote));
	sheet_json(s, "bytes", v->whole ? json_integer((json_int_t)v->bytes) : json_null());
	sheet_line(s, "kind", "%s%s, %" PRIu32 " file%s%s%s", v->kind, v->remote ? " on a server" : "",
	           v->files, v->files == 1 ? "" : "s", v->whole ? ", " : "",
	           v->whole ? sheet_bytes_text((double)v->bytes, bytes) : "");
	add_columns(s, v);
	sheet_json(s, "row_groups", v->whole ? json_integer((json_int_t)v->row_groups) : json_null());
	sheet_json(s, "rows", v->whole ? json_integer((json_int_t)v->rows) : json_null());
	if (v->whole && v->row_groups > 0)
		sheet_line(s, "row groups", "%s, with %s rows", sheet_count_text(v->row_groups, groups),
		           sheet_count_text(v->rows, rows));
	if (v->pieces > 0)
		sheet_count(s, "pieces", "pieces", v->pieces, NULL);
}

/* The training part: its counts, and what of it stands in no batch. */
static void add_counts(struct sheet *s, const struct dataset_facts *f, const struct dataset_counts *c,
                       uint64_t run)
{
	const struct options *o = f->options;
	char n[SHEET_NUMBER], m[SHEET_NUMBER], bytes[SHEET_NUMBER];
	uint64_t each = (uint64_t)o->batch_size * o->world_size,
	         used = min_u64(c->sequences, c->batches_known * each), left = c->sequences - used,
	         lost = c->dropped_tokens + left * o->seq_len;
	double share = c->tokens == 0 ? 0 : 100 * (double)lost / (double)c->tokens;
	double epoch = (double)c->batches_known * (double)each * o->seq_len;
	const char *so_far = c->final ? "" : " so far";
	sheet_json(s, "final", json_boolean(c->final));
	sheet_json(s, "documents", f->has_documents ? json_integer((json_int_t)c->documents) : json_null());
	if (f->has_documents)
		sheet_line(s, "documents", "%s%s", sheet_count_text(c->documents, n), so_far);
	sheet_json(s, "tokens", json_integer((json_int_t)c->tokens));
	sheet_line(s, "tokens", "%s%s, %s as %s (%s)", sheet_count_text(c->tokens, n), so_far,
	           sheet_bytes_text((double)c->tokens * f->width, bytes), f->dtype, f->tokenizer);
	sheet_json(s, "sequences", json_integer((json_int_t)c->sequences));
	sheet_line(s, "sequences", "%s of seq_len=%" PRIu32 "%s", sheet_count_text(c->sequences, n),
	           o->seq_len, so_far);
	sheet_json(s, "batches", c->final ? json_integer((json_int_t)c->batches_known) : json_null());
	sheet_json(s, "batches_known", json_integer((json_int_t)c->batches_known));
	sheet_line(s, "batches", "%s a rank%s: world_size=%" PRIu32 ", batch_size=%" PRIu32,
	           sheet_count_text(c->batches_known, n), so_far, o->world_size, o->batch_size);
	sheet_json(s, "dropped_tokens", json_integer((json_int_t)c->dropped_tokens));
	sheet_json(s, "unused_sequences", json_integer((json_int_t)left));
	sheet_json(s, "tail_loss", json_real(share / 100));
	if (c->final)
		sheet_line(s, "tail loss", "%.3g %%: %s tokens in no sequence, %s sequences in no batch",
		           share, sheet_count_text(c->dropped_tokens, n), sheet_count_text(left, m));
	sheet_json(s, "run_tokens", json_integer((json_int_t)run));
	sheet_json(s, "run_epochs", c->final && epoch > 0 ? json_real((double)run / epoch) : json_null());
	if (c->final && epoch > 0)
		sheet_line(s, "a run", "of %s tokens is %.2f epochs", sheet_count_text(run, n),
		           (double)run / epoch);
}

static void add_val(struct sheet *s, struct dataset *d)
{
	struct dataset_counts c;
	char n[SHEET_NUMBER], m[SHEET_NUMBER];
	dataset_counts(d, true, &c);
	sheet_json(s, "val",
	           json_pack("{s:I,s:I,s:I}", "tokens", (json_int_t)c.tokens, "sequences",
	                     (json_int_t)c.sequences, "batches_known", (json_int_t)c.batches_known));
	sheet_line(s, "val", "%s tokens, %s batches a rank", sheet_count_text(c.tokens, n),
	           sheet_count_text(c.batches_known, m));
}

/* Rows of every rank come from every piece; under stride=piece a rank has every W-th piece of its own. */
static void add_fetch(struct sheet *s, const struct survey *v, const struct options *o, uint64_t ranks)
{
	char all[SHEET_NUMBER], part[SHEET_NUMBER];
	double piece = (double)v->text_bytes * (double)ranks / o->world_size;
	if (!v->whole) {
		sheet_json(s, "fetch", json_null());
		return;
	}
	sheet_json(s, "fetch",
	           json_pack("{s:I,s:I,s:I}", "node_ranks", (json_int_t)ranks, "sequence",
	                     (json_int_t)v->text_bytes, "piece", (json_int_t)(piece + 0.5)));
	sheet_line(s, v->remote ? "a node fetches" : "a node reads",
	           "%s an epoch under stride=sequence, %s under stride=piece (%" PRIu64 " of %" PRIu32
	           " ranks)",
	           sheet_bytes_text((double)v->text_bytes, all), sheet_bytes_text(piece, part), ranks,
	           o->world_size);
}

/* Counts all, where that downloads no text. What is damaged or takes too long ends it, and says so in *note.
 */
static int count(struct dataset *d, const struct dataset_facts *f, struct error *note)
{
	struct dataset_object all = { .kind = OBJECT_EPOCH, .epoch = f->options->epoch };
	int r = 0;
	*note = (struct error){ 0 };
	if (f->options->list == LIST_COUNTED)
		return fail(note, EAGAIN,
		            "counting downloads the text: these are the counts so far; `fineweb index` "
		            "counts all");
	r = blocking_cover(d, &all, note);
	if (r == 0 || r == -ENOENT) {
		all.val = true;
		all.epoch = 0;
		r = f->options->val_tokens > 0 ? blocking_cover(d, &all, note) : 0;
	}
	if (r == -ETIMEDOUT)
		fail(note, EAGAIN, "not all was counted in retry=%u s: `fineweb index` counts ahead",
		     f->options->retry);
	if (r == 0 || r == -ENOENT)
		*note = (struct error){ 0 };
	return r == -ENOENT ? 0 : r;
}

int info_source(const struct info_request *q, struct sheet *s, struct error *err)
{
	struct dataset *d = NULL;
	struct dataset_facts f;
	struct dataset_counts c;
	struct survey v = { 0 };
	struct error note;
	char fingerprint[65];
	int r = dataset_inspect(&q->arguments->options, q->arguments->sample, &d, err);
	if (r != 0)
		return r;
	dataset_facts(d, &f);
	int counted = count(d, &f, &note);
	r = survey_make(d, &v, err);
	if (r != 0)
		goto out;
	dataset_counts(d, false, &c);
	add_files(s, &v, &f);
	sheet_text(s, "counts", "counts", f.options->counts == COUNTS_COLUMN ? "column" : "exact");
	sheet_json(s, "dtype", sheet_string(f.dtype));
	sheet_json(s, "tokenizer", sheet_string(f.tokenizer));
	sheet_json(s, "tokenizer_sha256", sheet_string(f.tokenizer_sha256));
	add_counts(s, &f, &c, q->tokens);
	if (f.options->val_tokens > 0)
		add_val(s, d);
	add_fetch(s, &v, f.options, q->node_ranks);
	/* Of a server's files every pin is a request. */
	if (!v.remote && counted == 0 && dataset_fingerprint(d, fingerprint, NULL) == 0)
		sheet_text(s, "fingerprint", "fingerprint", fingerprint);
	sheet_text(s, "note", "note", note.text[0] == 0 ? NULL : note.text);
	if (counted != 0 && note.code != EAGAIN) {
		*err = note;
		r = counted;
	}
out:
	survey_free(&v);
	dataset_close(d);
	return r;
}
