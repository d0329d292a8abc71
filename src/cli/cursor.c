#include "cli/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/log.h"

int cursor_open(struct cursor *c, struct dataset *d, const struct prepared_place *at, struct error *err)
{
	*c = (struct cursor){ .d = d, .at = *at, .skipping = at->token > 0 };
	return stream_open(d, at->file, at->piece, &c->stream, err);
}

void cursor_close(struct cursor *c)
{
	stream_close(c->stream);
	*c = (struct cursor){ 0 };
}

static int no_memory(struct error *err)
{
	return fail(err, ENOMEM, "out of memory");
}

/* Adds the files up to this one; those of a record follow one another from where its shard begins. */
static int note_files(struct cursor *c, uint32_t file, struct prepared *record, struct error *err)
{
	int r = 0;
	while (r == 0 && record->n_files <= file - record->shards[0].begin.file) {
		struct prepared_file f;
		r = stream_file(c->d, record->shards[0].begin.file + (uint32_t)record->n_files, &f, err);
		if (r == 0 && (f.name = strdup(f.name)) == NULL)
			r = no_memory(err);
		if (r == 0)
			r = prepared_add_file(record, &f, err);
	}
	return r;
}

int cursor_begin(struct cursor *c, struct prepared *record, struct error *err)
{
	const struct prepared_shard shard = { .begin = c->at, .end = c->at };
	int r = prepared_add_shard(record, &shard, err);
	return r == 0 ? note_files(c, c->at.file, record, err) : r;
}

static int note_left_out(struct cursor *c, struct prepared *record, struct error *err)
{
	const struct stream_piece *p = &c->piece;
	struct prepared_damage x = { p->file, p->piece, strdup(p->cause.text) };
	c->left_out++;
	return x.cause == NULL ? no_memory(err) : prepared_add_damage(record, &x, err);
}

/* The piece begins here. */
static int note_piece(struct cursor *c, struct prepared *record, struct error *err)
{
	const struct stream_piece *p = &c->piece;
	uint64_t documents = p->starts != NULL ? 0 : p->documents;
	if (p->starts != NULL)
		while (documents < starts_number(p->starts) &&
		       starts_at(p->starts, (size_t)documents)->token < p->tokens)
			documents++;
	struct prepared_piece x = {
		.file = p->file,
		.piece = p->piece,
		.tokens = p->layout == STREAM_UNCOUNTED ? PREPARED_UNCOUNTED : (uint32_t)p->layout,
		.documents = (uint32_t)documents,
		.flags = (uint8_t)((p->left_out ? PREPARED_LEFT_OUT : 0) | (p->closed ? PREPARED_CLOSED : 0) |
		                   (p->altered ? PREPARED_ALTERED : 0)),
	};
	int r = note_files(c, p->file, record, err);
	if (r == 0)
		r = prepared_add_piece(record, &x, err);
	if (r == 0 && p->left_out)
		r = note_left_out(c, record, err);
	c->held += p->counted;
	c->text_bytes += p->text_bytes;
	return r;
}

/* The first document that begins at a token or behind it. */
static size_t start_from(const struct starts *s, uint64_t token)
{
	size_t low = 0, high = starts_number(s);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (starts_at(s, middle)->token < token)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int keep_id(char **to, const char *id, struct error *err)
{
	free(*to);
	*to = id[0] == 0 ? NULL : strdup(id);
	return *to == NULL && id[0] != 0 ? no_memory(err) : 0;
}

/* Tokens [from, from + n) of the piece go into the shard. */
static int note_tokens(struct cursor *c, uint64_t from, size_t n, struct prepared_shard *shard,
                       struct error *err)
{
	const struct starts *s = c->piece.starts;
	bool first = shard->tokens == 0;
	int r = 0;
	shard->tokens += n;
	if (s == NULL || starts_number(s) == 0)
		return 0;
	/* The piece begins with its first document; the one that `from` stands in began at or before it. */
	size_t next = start_from(s, from), behind = start_from(s, from + n);
	shard->documents += behind - next;
	if (first)
		r = keep_id(&shard->first_document,
		            starts_id(s, next < behind && starts_at(s, next)->token == from
		                                 ? next
		                                 : next - (next > 0)),
		            err);
	return r == 0 ? keep_id(&shard->last_document, starts_id(s, behind - (behind > 0)), err) : r;
}

/* Goes to the next piece that has tokens. */
static int enter(struct cursor *c, struct prepared *record, struct error *err)
{
	int r = stream_next(c->stream, &c->piece, err);
	if (r == 1) {
		c->ended = true;
		return 0;
	}
	if (r != 0)
		return r;
	if (c->skipping && c->at.token >= c->piece.tokens)
		return fail(err, ESTALE,
		            "the source is not what it was: piece %" PRIu32 " has %" PRIu64 " tokens",
		            c->piece.piece, c->piece.tokens);
	if (c->skipping)
		c->text_bytes += c->piece.text_bytes;
	if (c->skipping)
		r = note_files(c, c->piece.file, record, err);
	else
		r = note_piece(c, record, err);
	c->at = (struct prepared_place){ c->piece.file, c->piece.piece, c->skipping ? c->at.token : 0 };
	c->skipping = false;
	c->inside = c->piece.tokens > 0;
	if (!c->inside)
		c->at.piece++;
	return r;
}

int cursor_take(struct cursor *c, size_t n, void *room, const void **out, size_t *got,
                struct prepared *record, struct error *err)
{
	int r = 0;
	*got = 0;
	*out = room;
	if (!c->inside)
		r = enter(c, record, err);
	if (r == 0 && c->inside) {
		size_t part = (size_t)min_u64(n, c->piece.tokens - c->at.token);
		const void *lies = stream_view(c->stream, c->at.token, part);
		if (lies != NULL)
			*out = lies;
		else
			r = stream_read(c->stream, c->at.token, part, room, err);
		if (r == 0)
			r = note_tokens(c, c->at.token, part, &record->shards[0], err);
		if (r != 0)
			return r;
		*got = part;
		c->at.token += part;
		if (c->at.token == c->piece.tokens) {
			c->inside = false;
			c->at = (struct prepared_place){ c->piece.file, c->piece.piece + 1, 0 };
		}
	}
	record->shards[0].end = c->at;
	return r;
}

int cursor_take_shared(struct cursor *c, void *out, size_t *got, struct prepared *record, struct error *err)
{
	*got = 0;
	if (c->inside || !c->piece.shares || c->piece.closed || c->piece.left_out)
		return 0;
	int r = stream_read(c->stream, c->piece.tokens, 1, out, err);
	if (r == 0) {
		*got = 1;
		record->shards[0].tokens++;
		record->pieces[record->n_pieces - 1].flags |= PREPARED_CLOSED;
	}
	return r;
}

int cursor_documents(struct cursor *c, struct prepared *record, uint64_t *out, struct error *err)
{
	int r = c->at.token > 0 && !c->inside ? enter(c, record, err) : 0;
	*out = r != 0 || !c->inside || c->piece.starts == NULL ? 0 : start_from(c->piece.starts, c->at.token);
	return r;
}
