#include "fetch/make.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "base/span.h"
#include "fetch/table.h"

struct maker {
	const struct make_options *o;
	struct encoder *encoder;
	struct cache_writer *writer; /* once the piece has spilled */
	const struct cache_key *key;
	const char *name;
	struct made *out;
	struct share share;
	size_t counted; /* bytes of out->ids in it */
	bool disk;      /* the disk may still be tried */
};

#define PART (1u << 20) /* bytes of a text that are encoded at once, where it can be cut */

static void put_id(uint8_t *to, unsigned width, int64_t id)
{
	if (width == 2)
		store_u16(to, (uint16_t)id);
	else
		store_u32(to, (uint32_t)id);
}

/* Ids come in the machine's order; files and readers want little-endian. */
static void to_little(uint8_t *ids, size_t n, unsigned width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	for (size_t i = 0; i < n; i++) {
		uint8_t *p = ids + i * width;
		if (width == 2) {
			uint16_t v;
			memcpy(&v, p, 2);
			store_u16(p, v);
		} else {
			uint32_t v;
			memcpy(&v, p, 4);
			store_u32(p, v);
		}
	}
#else
	(void)ids;
	(void)n;
	(void)width;
#endif
}

/* Moves what the buffer has to disk when the piece grows past `spill`. */
static int spill(struct maker *m, struct error *err)
{
	struct buffer *b = &m->out->ids;
	if (!m->disk || b->n <= m->o->spill)
		return 0;
	struct error cause = { 0 };
	int r = 0;
	if (m->writer == NULL)
		r = cache_begin(m->o->cache, m->key, m->o->width, &m->writer, &cause);
	if (r == 0)
		r = cache_write(m->writer, b->at, b->n / m->o->width, &cause);
	if (r != 0) {
		m->disk = false;
		m->out->disk_failed = true;
		/* What is on disk already can not be had back here: the caller reads the piece once more,
		 * without a disk. */
		log_warning("%s: the cache does not take a piece: %s", m->name, cause.text);
		return fail(err, EAGAIN, "%s", cause.text);
	}
	b->n = 0;
	return 0;
}

/* Notes a document that begins here. */
static int note_start(struct maker *m, const struct document *d, struct error *err)
{
	struct starts *s = &m->out->starts;
	const struct start start = { m->out->tokens, s->ids.n };
	int r = buffer_add(&s->list, &start, sizeof start, 0, err);
	if (r == 0)
		r = buffer_add(&s->ids, d->id.at, d->id.n, 0, err);
	return r == 0 ? buffer_add(&s->ids, "", 1, 0, err) : r;
}

/* Counts what the ids take by now. */
static int count_ids(struct maker *m, struct error *err)
{
	const struct buffer *b = &m->out->ids;
	int r = 0;
	if (b->n < m->counted)
		share_give(&m->share, m->counted - b->n);
	else if (b->n - m->counted >= PART)
		r = share_take(&m->share, b->n - m->counted, err);
	else
		return 0;
	if (r == 0)
		m->counted = b->n;
	return r;
}

/* Encodes one part of a text behind the ids that are there. */
static int encode_part(struct maker *m, const struct document *d, size_t from, size_t n, struct error *err)
{
	struct buffer *b = &m->out->ids;
	unsigned width = m->o->width;
	size_t room;
	if (!mul_size(encoder_bound(n) + 2, width, &room))
		return fail(err, ENOTSUP, "%s: a text of %zu bytes", m->name, d->text.n);
	/* The bound on ids is far above what a text becomes: only what is used counts against `most`. */
	int r = buffer_reserve(b, room, 0, err);
	if (r != 0)
		return r;
	int64_t begun = piece_clock();
	int64_t ids = encoder_encode(m->encoder, d->text.at + from, n, b->at + b->n);
	m->out->encoded_ns += (uint64_t)(piece_clock() - begun);
	if (ids < 0)
		return fail(err, (int)-ids, "%s: row %" PRIu64 ": cannot encode a text of %zu bytes", m->name,
		            d->row, d->text.n);
	to_little(b->at + b->n, (size_t)ids, width);
	b->n += (size_t)ids * width;
	m->out->tokens += (uint64_t)ids;
	if (!m->disk && b->n > m->o->most)
		return fail(err, ENOTSUP,
		            "%s: a piece has more than %zu bytes of tokens and there is no disk to write it to: "
		            "give more `memory` or a `cache`",
		            m->name, m->o->most);
	r = count_ids(m, err);
	return r == 0 ? spill(m, err) : r;
}

/* A token beside a text; encode_part has left room for two. */
static int put_beside(struct maker *m, int64_t id, struct error *err)
{
	struct buffer *b = &m->out->ids;
	if (id < 0)
		return 0;
	int r = buffer_reserve(b, m->o->width, 0, err);
	if (r != 0)
		return r;
	put_id(b->at + b->n, m->o->width, id);
	b->n += m->o->width;
	m->out->tokens++;
	return 0;
}

static int take(void *arg, const struct document *d, struct error *err)
{
	struct maker *m = arg;
	if (d->text.n == 0)
		return 0;
	int r = m->o->documents ? note_start(m, d, err) : 0;
	if (r == 0)
		r = put_beside(m, m->o->bos, err);
	for (size_t done = 0; r == 0 && done < d->text.n;) {
		size_t n = textstream_cut(d->text.at + done, d->text.n - done, PART);
		r = encode_part(m, d, done, n, err);
		done += n;
	}
	if (r == 0)
		r = put_beside(m, m->o->eos, err);
	m->out->documents++;
	m->out->text_bytes += d->text.n;
	return r;
}

/* Whether a piece that somebody may want later pushes out none that somebody used. */
static bool has_room(const struct maker *m)
{
	struct cache_counters c;
	uint64_t bound = cache_bound(m->o->cache);
	cache_counters(m->o->cache, &c);
	return c.bytes <= bound && m->out->ids.n + m->out->starts.ids.n <= bound - c.bytes;
}


/* The ids are on disk: where they were is good for those of the next piece. */
static void keep_spare(struct maker *m)
{
	struct buffer *spare = m->o->spare, *ids = &m->out->ids;
	if (spare != NULL && spare->at == NULL && ids->room <= SPARE_MOST) {
		*spare = *ids;
		*ids = (struct buffer){ 0 };
	} else {
		buffer_free(ids);
	}
}

/* Writes the piece to the cache; when that fails it stays in memory. */
static void store(struct maker *m)
{
	struct made *out = m->out;
	struct error cause = { 0 };
	int r = 0;
	if (m->o->cache == NULL || !m->disk ||
	    (m->o->documents && m->writer == NULL && !(m->o->keep && has_room(m))))
		return;
	if (m->writer == NULL)
		r = cache_begin(m->o->cache, m->key, m->o->width, &m->writer, &cause);
	if (r == 0)
		r = cache_write(m->writer, out->ids.at, out->ids.n / m->o->width, &cause);
	if (r == 0) {
		if (m->o->waits != NULL)
			m->o->waits(m->o->arg, true);
		r = cache_commit(m->writer, out->documents, &out->cached, &cause);
		if (m->o->waits != NULL)
			m->o->waits(m->o->arg, false);
		m->writer = NULL;
	}
	if (r == 0) {
		keep_spare(m);
		if (m->o->keep)
			starts_keep(m->o->cache, m->key, &out->starts, out->text_bytes);
		return;
	}
	out->disk_failed = true;
	log_warning("%s: the cache does not take a piece: %s", m->name, cause.text);
}

static int make_once(struct textfile *f, const struct textfiles_options *fo, uint32_t piece, struct maker *m,
                     struct error *err)
{
	*m->out = (struct made){ .disk_failed = m->out->disk_failed };
	if (m->o->spare != NULL) {
		m->out->ids = *m->o->spare;
		m->out->ids.n = 0;
		*m->o->spare = (struct buffer){ 0 };
	}
	m->share = (struct share){ .pool = fo->pool, .diskless = !m->disk };
	m->counted = 0;
	int r = textfile_documents(f, fo, piece, m->o->groups, m->o->documents, &m->share, take, m, err);
	/* What the disk does not give back is made again without it; a read into it says EIO. */
	if (share_lost(&m->share) || (r == -EIO && m->share.disked)) {
		log_warning("%s: the cache's disk fails", m->name);
		m->disk = false;
		m->out->disk_failed = true;
		r = -EAGAIN;
	}
	if (r == 0) {
		bool spilled = m->writer != NULL;
		store(m);
		if (spilled && m->out->cached.source == NULL) {
			m->disk = false;
			r = -EAGAIN;
		}
	}
	cache_abort(m->writer);
	m->writer = NULL;
	share_end(&m->share);
	return r;
}

int make_piece(struct textfiles *files, uint32_t file, uint32_t piece, struct encoder *encoder,
               const struct make_options *o, const struct cache_key *key, struct made *out, struct error *err)
{
	struct textfile *f;
	*out = (struct made){ 0 };
	int r = textfiles_get(files, file, &f, err);
	if (r != 0)
		return r;
	struct maker m = { .o = o,
		           .encoder = encoder,
		           .key = key,
		           .out = out,
		           .disk = o->cache != NULL,
		           .name = f->source->name };
	r = make_once(f, textfiles_options(files), piece, &m, err);
	if (r == -EAGAIN && !m.disk) {
		made_free(out);
		out->disk_failed = true;
		r = make_once(f, textfiles_options(files), piece, &m, err);
	}
	textfiles_put(files, f, r != 0);
	if (r != 0)
		made_free(out);
	return r;
}

#define TOKENS_READ (1u << 20) /* bytes of a range request */

int make_token_piece(struct textfiles *files, uint32_t file, const struct tokenfile *t, uint64_t first,
                     uint64_t n, const struct make_options *o, const struct cache_key *key, struct made *out,
                     struct error *err)
{
	struct textfile *f;
	uint8_t *wide = NULL;
	*out = (struct made){ 0 };
	if (n > o->most / o->width)
		return fail(err, ENOTSUP,
		            "a piece of %" PRIu64 " tokens is larger than a quarter of `memory`", n);
	int r = textfiles_get(files, file, &f, err);
	if (r != 0)
		return r;
	struct maker m = {
		.o = o, .key = key, .out = out, .disk = o->cache != NULL, .name = f->source->name
	};
	size_t most = TOKENS_READ / t->width;
	if ((wide = malloc(TOKENS_READ)) == NULL)
		r = fail(err, ENOMEM, "out of memory");
	if (r == 0)
		r = buffer_reserve(&out->ids, (size_t)n * o->width, 0, err);
	for (uint64_t done = 0; r == 0 && done < n;) {
		size_t part = (size_t)min_u64(most, n - done), bad;
		int64_t id;
		uint8_t *to = out->ids.at + out->ids.n, *in = wide;
		r = source_read(f->source, t->offset + (first + done) * t->width, wide, part * t->width, err);
		for (size_t left = part; r == 0 && left > 0;) {
			if (tokenfile_convert(t, in, left, UINT32_MAX, o->width, to, &bad, &id) == 0)
				break;
			memset(to + bad * o->width, 0xff, o->width);
			in += (bad + 1) * t->width;
			to += (bad + 1) * o->width;
			left -= bad + 1;
		}
		out->ids.n += part * o->width;
		out->tokens += part;
		done += part;
	}
	if (r == 0)
		store(&m);
	cache_abort(m.writer);
	free(wide);
	textfiles_put(files, f, r != 0);
	if (r != 0)
		made_free(out);
	return r;
}

void made_free(struct made *m)
{
	buffer_free(&m->ids);
	starts_free(&m->starts);
	source_close(m->cached.source);
	*m = (struct made){ 0 };
}
