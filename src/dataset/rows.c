/* rows: the bytes of batches, gathered row by row from where their tokens are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "base/span.h"
#include "dataset/damage.h"
#include "dataset/internal.h"
#include "dataset/prefetch.h"
#include "dataset/stored.h"

#define CHUNK 65536 /* tokens that are converted at once */

static void fill(struct dataset *d, uint8_t *to, size_t n)
{
	int64_t id = d->options.bos >= 0 ? d->options.bos : d->options.eos >= 0 ? d->options.eos : 0;
	for (size_t i = 0; i < n; i++)
		if (d->width == 2)
			store_u16(to + 2 * i, (uint16_t)id);
		else
			store_u32(to + 4 * i, (uint32_t)id);
}

static int read_bytes(struct source *s, uint64_t off, void *buf, size_t n, bool wait, struct error *err)
{
	return wait ? source_read(s, off, buf, n, err) : source_read_now(s, off, buf, n);
}

static int out_of_range(const char *name, uint64_t at, int64_t id, uint32_t vocab, struct error *err)
{
	return fail(err, EBADMSG, "%s: token %" PRIu64 " is %" PRId64 ", the vocabulary has %" PRIu32 " ids",
	            name, at, id, vocab);
}

/* n tokens of an open token file from token `at` on. */
static int file_tokens(struct dataset *d, struct source *s, const struct tokenfile *t, uint64_t at, size_t n,
                       uint8_t *out, bool wait, struct error *err)
{
	uint8_t wide[8 * 512];
	size_t bad;
	int64_t id;
	if (t->width == d->width && !t->is_signed) {
		int r = read_bytes(s, t->offset + at * t->width, out, n * t->width, wait, err);
		if (r == 0 && tokenfile_convert(t, out, n, d->tokenizer.vocab, d->width, out, &bad, &id) != 0)
			r = out_of_range(s->name, at + bad, id, d->tokenizer.vocab, err);
		return r;
	}
	for (size_t done = 0; done < n;) {
		size_t part = n - done < 512 ? n - done : 512;
		int r = read_bytes(s, t->offset + (at + done) * t->width, wide, part * t->width, wait, err);
		if (r != 0)
			return r;
		if (tokenfile_convert(t, wide, part, d->tokenizer.vocab, d->width, out + done * d->width,
		                      &bad, &id) != 0)
			return out_of_range(s->name, at + done + bad, id, d->tokenizer.vocab, err);
		done += part;
	}
	return 0;
}

/* on_error=skip: whether a piece of a token file is whole. 0, -EBADMSG, or -EAGAIN when it must be read
 * first. */
static int check_piece(struct dataset *d, struct source *s, const struct tokenfile *t, uint32_t file,
                       uint32_t piece, bool wait, struct error *err)
{
	bool bad = false;
	if (!damage_known(d->damage, file, piece, &bad)) {
		if (!wait)
			return -EAGAIN;
		uint64_t n = (uint64_t)manifest_tokens(d->manifest, file, piece);
		uint64_t at = piece * manifest_piece_sequences(d->manifest) * d->options.seq_len;
		uint8_t *tokens = malloc((size_t)CHUNK * d->width);
		int r = tokens == NULL ? fail(err, ENOMEM, "out of memory") : 0;
		for (uint64_t i = 0; r == 0 && i < n; i += CHUNK)
			r = file_tokens(d, s, t, at + i, (size_t)min_u64(CHUNK, n - i), tokens, true, err);
		free(tokens);
		if (r != 0 && r != -EBADMSG)
			return r;
		bad = r != 0;
		if (bad)
			log_warning("left out: piece %" PRIu32 ": %s", piece, err == NULL ? "" : err->text);
		damage_note(d->damage, file, piece, bad);
	}
	return bad ? fail(err, EBADMSG, "%s: piece %" PRIu32 " is damaged", s->name, piece) : 0;
}

/* Tokens of a piece of a local token file. */
static int local_tokens(struct dataset *d, uint32_t file, uint32_t piece, uint64_t from, size_t n, void *out,
                        bool wait, struct error *err)
{
	struct tokenfile t;
	struct source *s;
	int r = manifest_tokenfile_now(d->manifest, file, &t);
	if (r != 0)
		return r;
	r = handles_get(d->handles, file, wait, &s, err);
	if (r != 0)
		return r;
	if (d->options.on_error == ON_ERROR_SKIP)
		r = check_piece(d, s, &t, file, piece, wait, err);
	uint64_t at = piece * manifest_piece_sequences(d->manifest) * d->options.seq_len + from;
	if (r == 0)
		r = file_tokens(d, s, &t, at, n, out, wait, err);
	handles_put(d->handles, file);
	return r;
}

/* Tokens of a piece that is fetched: text, or a token file on a server. */
static int fetched_tokens(struct dataset *d, uint32_t file, uint32_t piece, uint64_t from, size_t n,
                          uint8_t *out, bool wait, struct error *err)
{
	struct piece_ref ref;
	int r = pieces_get(d->pieces, file, piece, PRIORITY_READER, &ref, err);
	if (r != 0)
		return r;
	size_t have = from >= ref.tokens ? 0 : (size_t)min_u64(n, ref.tokens - from);
	r = read_bytes(ref.source, ref.offset + from * d->width, out, have * d->width, wait, err);
	if (r == 0) {
		const struct tokenfile t = { .width = (uint8_t)d->width };
		size_t bad;
		int64_t id;
		if (d->token_files &&
		    tokenfile_convert(&t, out, have, d->tokenizer.vocab, d->width, out, &bad, &id) != 0)
			r = out_of_range(manifest_file(d->manifest, file)->where, from + bad, id,
			                 d->tokenizer.vocab, err);
		fill(d, out + have * d->width, n - have);
	}
	/* A disk of ours that fails is no matter of the reader's. */
	bool lost = wait && (r == -EIO || r == -ESTALE) && pieces_lost(d->pieces, &ref);
	if (lost)
		log_warning("the cache's disk fails, tokens are kept in memory: %s", err == NULL ? "" : err->text);
	pieces_put(d->pieces, &ref);
	/* Once: what is made now is in memory. */
	return lost ? fetched_tokens(d, file, piece, from, n, out, wait, err) : r;
}

int rows_tokens(struct dataset *d, uint32_t file, uint32_t piece, uint64_t from, size_t n, void *out,
                bool wait, struct error *err)
{
	if (d->stored != NULL)
		return stored_read(d->stored, file, piece, from, n, d->tokenizer.vocab, out, wait, err);
	if (d->token_files && !manifest_remote(d->manifest, file))
		return local_tokens(d, file, piece, from, n, out, wait, err);
	return fetched_tokens(d, file, piece, from, n, out, wait, err);
}

/* Part of a row: bytes [off, off + n) of it. place changes under on_error=skip. */
static int read_row(struct dataset *d, struct view *view, struct order_place *place, size_t off, uint8_t *buf,
                    size_t n, bool wait, struct error *err)
{
	uint64_t T = d->options.seq_len, tried = 0, in_block = 0;
	size_t first = off / d->width, last = (size_t)ceil_div(off + n, d->width);
	bool aligned = first * d->width == off && last * d->width == off + n;
	uint8_t *to = buf, *whole = NULL;
	if (!aligned && (to = whole = malloc((last - first) * d->width)) == NULL)
		return fail(err, ENOMEM, "out of memory");
	int r;
	for (;;) {
		r = rows_tokens(d, place->file, place->piece, place->sequence * T + first, last - first, to,
		                wait, err);
		if ((r != -EBADMSG && r != -ENOTSUP && r != -ESTALE) || d->options.on_error != ON_ERROR_SKIP)
			break;
		pthread_mutex_lock(&view->lock);
		int next = epoch_next(view->order, place, &in_block);
		pthread_mutex_unlock(&view->lock);
		if (next != 0 || ++tried >= in_block)
			break;
	}
	if (r == 0 && whole != NULL)
		memcpy(buf, whole + (off - first * d->width), n);
	free(whole);
	return r;
}

size_t rows_done_size(const struct dataset *d, uint64_t off, size_t n)
{
	uint64_t row = (uint64_t)(d->options.seq_len + 1) * d->width;
	return (size_t)((off + n) / row - off / row + 1);
}

#define TOGETHER 64 /* rows whose files are held at once */

/* The common case, and the fast one: whole and part rows of local token files, nothing damaged, all in
 * memory. 0, or -EAGAIN when it is not this case. */
static int whole_rows_now(struct dataset *d, const struct order_place *places, uint32_t rows, uint64_t off,
                          uint8_t *buf, size_t n)
{
	uint64_t T = d->options.seq_len, row = (T + 1) * d->width,
	         each = manifest_piece_sequences(d->manifest);
	uint64_t skip = off % row;
	if (!d->lies || d->stored != NULL || d->options.on_error == ON_ERROR_SKIP || skip % d->width != 0 ||
	    n % d->width != 0)
		return -EAGAIN;
	for (uint32_t first = 0; first < rows; first += TOGETHER) {
		uint32_t files[TOGETHER], count = (uint32_t)min_u64(TOGETHER, rows - first);
		struct source *sources[TOGETHER];
		for (uint32_t i = 0; i < count; i++)
			files[i] = places[first + i].file;
		int r = handles_get_all(d->handles, files, count, sources);
		if (r != 0)
			return r;
		for (uint32_t i = 0; r == 0 && i < count; i++) {
			const struct order_place *p = &places[first + i];
			struct tokenfile t;
			size_t part = (size_t)min_u64(n, row - skip);
			r = manifest_tokenfile_now(d->manifest, p->file, &t);
			if (r == 0)
				r = file_tokens(d, sources[i], &t,
				                (p->piece * each + p->sequence) * T + skip / d->width,
				                part / d->width, buf, false, NULL);
			buf += part;
			n -= part;
			skip = 0;
		}
		handles_put_all(d->handles, files, count);
		if (r != 0)
			return -EAGAIN;
	}
	return 0;
}

/* Bytes of one batch: [off, off + n). Goes on after -EAGAIN, so that everything missing is asked for at once.
 */
static int read_batch(struct dataset *d, struct view *view, uint32_t rank, uint64_t batch, uint64_t off,
                      uint8_t *buf, size_t n, bool wait, uint8_t *done, struct error *err)
{
	struct order_place few[64], *places = few;
	uint64_t row = (uint64_t)(d->options.seq_len + 1) * d->width;
	uint32_t first = (uint32_t)(off / row), rows = (uint32_t)((off + n - 1) / row) - first + 1;
	if (rows > 64 && (places = malloc(rows * sizeof *places)) == NULL)
		return fail(err, ENOMEM, "out of memory for %" PRIu32 " rows", rows);
	int result = view_places(view, rank, batch, first, rows, d->options.batch_size, wait, places);
	if (result != 0)
		goto out;
	prefetch_touch(d, view, rank, batch, &places[rows - 1]);
	if (wait)
		prefetch_announce_rows(d, places, rows);
	else if (whole_rows_now(d, places, rows, off, buf, n) == 0)
		goto out;
	for (uint32_t i = 0; i < rows; i++) {
		uint64_t start = (first + i) * row, from = max_u64(off, start),
		         to = min_u64(off + n, start + row);
		if (done != NULL && done[i])
			continue;
		int r = read_row(d, view, &places[i], (size_t)(from - start), buf + (from - off),
		                 (size_t)(to - from), wait, err);
		if (r == 0 && done != NULL)
			done[i] = 1;
		if (r == -EAGAIN)
			result = r;
		if (r != 0 && (r != -EAGAIN || !wait)) {
			if (r == -EAGAIN)
				prefetch_missed(d, view, rank, batch);
			result = r;
			break;
		}
	}
out:
	if (places != few)
		free(places);
	return result;
}

int rows_read(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n, bool wait,
              uint8_t *done, struct error *err)
{
	uint64_t row = (uint64_t)(d->options.seq_len + 1) * d->width, bytes = row * d->options.batch_size;
	uint64_t begin = off;
	struct view *view;
	int result = views_get(d->views, o->val, o->epoch, &view, err);
	if (result != 0)
		return result;
	uint8_t *to = buf;
	while (n > 0) {
		uint64_t batch = o->kind == OBJECT_EPOCH ? off / bytes : o->number;
		uint64_t in = o->kind == OBJECT_EPOCH ? off % bytes : off;
		size_t part = (size_t)min_u64(n, bytes - in);
		uint8_t *part_done = done == NULL ? NULL : done + (off / row - begin / row);
		int r = read_batch(d, view, o->rank, batch, in, to, part, wait, part_done, err);
		if (r == -EAGAIN)
			result = r;
		if (r != 0 && (r != -EAGAIN || !wait)) {
			result = r;
			break;
		}
		to += part;
		off += part;
		n -= part;
	}
	views_put(d->views, view);
	return result;
}
