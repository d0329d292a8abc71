#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/span.h"
#include "cli/info.h"
#include "format/tokenfile.h"
#include "io/file.h"
#include "token/decoder.h"
#include "token/tokenizer.h"

#define PART 65536 /* ids that are read at once */
#define WORDS 24   /* ids that are decoded */

struct shard {
	struct tokenfile file;
	uint64_t documents; /* ids that are bos (or eos, where bos is none) */
	int64_t mark, least, most;
	uint64_t outside, first_outside; /* ids outside the vocabulary */
	int64_t outside_id;
	uint32_t head[WORDS];
	unsigned n_head;
};

static int64_t id_at(const struct tokenfile *t, const uint8_t *p)
{
	if (t->width == 2)
		return load_u16(p);
	if (t->width == 4)
		return t->is_signed ? (int32_t)load_u32(p) : (int64_t)load_u32(p);
	return (int64_t)load_u64(p);
}

static int scan(struct shard *h, struct source *s, uint32_t vocab, struct error *err)
{
	const struct tokenfile *t = &h->file;
	uint8_t *buf = malloc((size_t)PART * t->width);
	int r = buf == NULL ? fail(err, ENOMEM, "out of memory") : 0;
	h->least = INT64_MAX;
	h->most = INT64_MIN;
	for (uint64_t at = 0; at < t->tokens && r == 0; at += PART) {
		size_t n = (size_t)min_u64(PART, t->tokens - at);
		r = source_read(s, t->offset + at * t->width, buf, n * t->width, err);
		for (size_t i = 0; i < n && r == 0; i++) {
			int64_t id = id_at(t, buf + i * t->width);
			h->least = id < h->least ? id : h->least;
			h->most = id > h->most ? id : h->most;
			h->documents += id == h->mark;
			if (id < 0 || id >= vocab) {
				if (h->outside++ == 0) {
					h->first_outside = at + i;
					h->outside_id = id;
				}
			} else if (at == 0 && i < WORDS) {
				h->head[h->n_head++] = (uint32_t)id;
			}
		}
	}
	free(buf);
	return r;
}

/* The first words on one line: white space becomes a blank. */
static int decode_head(const struct shard *h, const struct options *o, struct buffer *out, struct error *err)
{
	struct tokenizer *t;
	struct decoder d = { 0 };
	int r = tokenizer_open(o->tokenizer, o->pattern, &t, err);
	if (r != 0)
		return r;
	for (unsigned i = 0; i < h->n_head && r == 0; i++) {
		size_t n;
		const uint8_t *bytes = tokenizer_bytes(t, h->head[i], &n);
		r = n == 0 ? 0 : decoder_put(&d, bytes, n, out, err);
	}
	if (r == 0)
		r = decoder_end(&d, out, err);
	if (r == 0)
		r = buffer_printf(out, "%s", "");
	for (size_t i = 0; i < out->n; i++)
		if (out->at[i] < ' ' || out->at[i] == 0x7f)
			out->at[i] = ' ';
	tokenizer_close(t);
	return r;
}

static const char *header_of(const struct tokenfile *t, bool npy)
{
	if (npy)
		return t->width == 2   ? ".npy, <u2"
		       : t->width == 8 ? ".npy, <i8"
		       : t->is_signed  ? ".npy, <i4"
		                       : ".npy, <u4";
	if (t->offset == 0)
		return t->width == 2 ? "none: raw uint16" : "none: raw uint32";
	return t->width == 2 ? "llm.c, magic 20240520, version 1, uint16"
	                     : "llm.c, magic 20240801, version 7, uint32";
}

static void add_ids(struct sheet *s, const struct shard *h, const struct tokenizer_info *info)
{
	char n[SHEET_NUMBER];
	bool any = h->file.tokens > 0;
	sheet_json(s, "min_id", any ? json_integer(h->least) : json_null());
	sheet_json(s, "max_id", any ? json_integer(h->most) : json_null());
	if (any)
		sheet_line(s, "ids", "%" PRId64 " to %" PRId64 "; %s has 0 to %" PRIu32, h->least, h->most,
		           info->name, info->vocab - 1);
	sheet_json(s, "outside_vocabulary", json_integer((json_int_t)h->outside));
	if (h->outside > 0)
		sheet_line(s, "outside", "%s ids, the first is token %" PRIu64 ": %" PRId64,
		           sheet_count_text(h->outside, n), h->first_outside, h->outside_id);
	sheet_json(s, "documents", h->mark < 0 ? json_null() : json_integer((json_int_t)h->documents));
	if (h->mark >= 0)
		sheet_line(s, "documents", "%s (ids %" PRId64 ")", sheet_count_text(h->documents, n),
		           h->mark);
}

int info_shard(const struct info_request *q, const char *path, bool npy, struct sheet *s, struct error *err)
{
	const struct options *o = &q->arguments->options;
	struct tokenizer_info info;
	struct source *file = NULL;
	struct buffer words = { 0 };
	struct shard h = { 0 };
	int r = tokenizer_info(o->tokenizer, o->pattern, &info, err);
	if (r == 0)
		r = file_open(path, &file, err);
	if (r == 0)
		r = tokenfile_open(file, npy, tokenizer_width(info.vocab), &h.file, err);
	h.mark = o->bos >= 0 ? o->bos : o->bos == ID_AUTO && info.bos >= 0 ? info.bos : o->eos;
	if (r == 0)
		r = scan(&h, file, info.vocab, err);
	if (r == 0)
		r = decode_head(&h, o, &words, err);
	if (r != 0)
		goto out;
	uint64_t T = o->seq_len, sequences = h.file.tokens == 0 ? 0 : (h.file.tokens - 1) / T;
	sheet_text(s, "file", "file", path);
	sheet_text(s, "header", "header", header_of(&h.file, npy));
	sheet_bytes(s, "bytes", "bytes", file->size, NULL);
	sheet_count(s, "tokens", "tokens", h.file.tokens, NULL);
	sheet_json(s, "seq_len", json_integer(o->seq_len));
	sheet_count(s, "sequences", "sequences", sequences, NULL);
	add_ids(s, &h, &info);
	sheet_text(s, "first_words", "first words", words.at == NULL ? "" : (const char *)words.at);
out:
	buffer_free(&words);
	source_close(file);
	return r;
}
