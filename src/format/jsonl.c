#include "format/jsonl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/checked.h"
#include "format/jsontext.h"

#define WINDOW (1u << 20)
#define READ_ON (1u << 16) /* the first step beyond a piece: most lines are shorter */
#define LINE_DEFAULT (512u << 20)

/* A window that moves forward over a file and hands out whole lines. */
struct lines {
	struct source *source;
	struct codec_stream *stream; /* NULL: the file is plain */
	struct buffer window;
	size_t at;    /* first byte of the window that was not handed out */
	size_t seen;  /* bytes from `at` on that have no line end */
	uint64_t off; /* of the window's first byte in the (decompressed) file */
	uint64_t end; /* no line that starts here or later is wanted */
	size_t step;  /* bytes of the next read beyond `end` */
	size_t limit; /* bytes of a line */
	bool all;     /* the window reaches the end of the file */
};

uint64_t jsonl_pieces(uint64_t size)
{
	return max_u64(1, ceil_div(size, JSONL_PIECE));
}

static uint64_t position(const struct lines *l)
{
	return l->off + l->at;
}

static int fill_plain(struct lines *l, struct error *err)
{
	uint64_t at = l->off + l->window.n;
	uint64_t n = min_u64(WINDOW, l->source->size - at);
	if (at < l->end) {
		n = min_u64(n, l->end - at);
	} else {
		n = min_u64(n, l->step);
		l->step = l->step < WINDOW ? 2 * l->step : WINDOW;
	}
	int r = buffer_reserve(&l->window, (size_t)n, 0, err);
	if (r == 0)
		r = source_read(l->source, at, l->window.at + l->window.n, (size_t)n, err);
	if (r != 0)
		return r;
	l->window.n += (size_t)n;
	l->all = at + n == l->source->size;
	return 0;
}

static int fill_stream(struct lines *l, struct error *err)
{
	size_t got = 0;
	int r = buffer_reserve(&l->window, WINDOW, 0, err);
	if (r == 0)
		r = codec_stream_read(l->stream, l->window.at + l->window.n, WINDOW, &got, err);
	if (r != 0)
		return r;
	l->window.n += got;
	l->all = got == 0;
	return 0;
}

/* Forgets what was handed out and reads on. */
static int fill(struct lines *l, struct error *err)
{
	struct buffer *w = &l->window;
	w->n -= l->at;
	if (w->n > 0 && l->at > 0)
		memmove(w->at, w->at + l->at, w->n);
	l->off += l->at;
	l->at = 0;
	return l->stream == NULL ? fill_plain(l, err) : fill_stream(l, err);
}

/* Takes the next line, without its '\n'; *at is its offset. 1; 0 at the end of the file; -errno. */
static int next_line(struct lines *l, struct span *line, uint64_t *at, struct error *err)
{
	for (;;) {
		struct span left = { 0 };
		if (l->at < l->window.n)
			left = span_of(l->window.at + l->at, l->window.n - l->at);
		const uint8_t *end = left.n == l->seen ? NULL :
			memchr(left.at + l->seen, '\n', left.n - l->seen);
		size_t n = end == NULL ? left.n : (size_t)(end - left.at);
		if (n > l->limit)
			return fail(err, ENOTSUP, "%s: the line at byte %" PRIu64 " is longer than %zu bytes: "
				    "a larger `memory` would allow it", l->source->name, position(l), l->limit);
		if (end != NULL || (l->all && n > 0)) {
			*at = position(l);
			l->at += n + (end != NULL);
			l->seen = 0;
			span_take(&left, n, line);
			return 1;
		}
		if (l->all)
			return 0;
		l->seen = n;
		int r = fill(l, err);
		if (r == -ENOTSUP && err != NULL)
			return fail_in(err, "%s: the line at byte %" PRIu64, l->source->name, position(l));
		if (r != 0)
			return r;
	}
}

/* Moves over the rest of a line that belongs to the piece before, without keeping it. */
static int skip_rest(struct lines *l, struct error *err)
{
	while (position(l) < l->end) {
		if (l->at < l->window.n) {
			const uint8_t *from = l->window.at + l->at;
			const uint8_t *end = memchr(from, '\n', l->window.n - l->at);
			if (end != NULL) {
				l->at += (size_t)(end - from) + 1;
				return 0;
			}
			l->at = l->window.n;
		} else if (l->all) {
			return 0;
		} else {
			int r = fill(l, err);
			if (r != 0)
				return r;
		}
	}
	return 0;
}

enum { TEXTS = 3, ID = TEXTS, URL, MEMBERS };

static void want(struct jsontext_member members[MEMBERS], const char *column)
{
	static const char *const usual[TEXTS] = { "text", "raw_content", "content" };
	for (int i = 0; i < TEXTS; i++)
		members[i].key = column == NULL ? usual[i] : column;
	members[ID].key = "id";
	members[URL].key = "url";
}

/* The value of a string or number; it is decoded where it stands, which nobody reads again. */
static struct span value_of(const struct jsontext_member *m, struct span line, uint8_t *own)
{
	if (m->kind != JSON_STRING && m->kind != JSON_NUMBER)
		return span_of(NULL, 0);
	if (!m->escaped)
		return m->raw;
	uint8_t *to = own + (m->raw.at - line.at);
	return span_of(to, jsontext_decode(m->raw, to));
}

/* Makes the document of one line, whose bytes are `own`. 0 or -errno. */
static int read_line(const char *name, uint64_t at, struct span line, uint8_t *own, const char *column,
		     struct document *d, struct error *err)
{
	struct jsontext_member m[MEMBERS];
	struct jsontext_fault fault;
	want(m, column);
	if (!jsontext_object(line, m, MEMBERS, &fault))
		return fail(err, EBADMSG, "%s: line at byte %" PRIu64 ": expected %s at byte %zu of the line", name,
			    at, fault.expected, fault.at);
	int t = 0;
	while (t < TEXTS - 1 && m[t].kind == JSON_ABSENT)
		t++;
	if (m[t].kind == JSON_NUMBER || m[t].kind == JSON_OTHER)
		return fail(err, EBADMSG, "%s: line at byte %" PRIu64 ": expected a string or null as '%.100s'",
			    name, at, m[t].key);
	d->text = value_of(&m[t], line, own);
	/* The column may be one of them: what is decoded in place is not decoded again. */
	d->id = m[ID].raw.at == m[t].raw.at ? d->text : value_of(&m[ID], line, own);
	d->url = m[URL].raw.at == m[t].raw.at ? d->text : value_of(&m[URL], line, own);
	return 0;
}

static void drop_bom(struct span *line, uint64_t *at)
{
	if (*at == 0 && line->n >= 3 && memcmp(line->at, "\xef\xbb\xbf", 3) == 0) {
		span_skip(line, 3);
		*at = 3;
	}
}

/* Hands on the documents of all lines that start before l->end. */
static int read_lines(struct lines *l, const char *column, document_fn *fn, void *arg, struct error *err)
{
	struct document d = { 0 };
	struct span line, rest;
	uint64_t at = 0;
	int r = 0;
	for (; position(l) < l->end; d.row++) {
		r = next_line(l, &line, &at, err);
		if (r <= 0)
			break;
		drop_bom(&line, &at);
		rest = line;
		jsontext_skip_blank(&rest);
		if (rest.n == 0)
			continue;
		r = read_line(l->source->name, at, line, l->window.at + (line.at - l->window.at), column, &d, err);
		if (r == 0)
			r = fn(arg, &d, err);
		if (r != 0)
			break;
	}
	return r > 0 ? 0 : r;
}

static size_t line_limit(const struct jsonl_options *o)
{
	if (o->share != NULL)
		return SIZE_MAX;
	return o->line == 0 ? LINE_DEFAULT : o->line;
}

int jsonl_texts(struct source *s, uint64_t piece, const struct jsonl_options *options,
		document_fn *fn, void *arg, struct error *err)
{
	if (piece >= jsonl_pieces(s->size))
		return fail(err, EBADMSG, "%s: piece %" PRIu64 " starts beyond the end at %" PRIu64, s->name, piece,
			    s->size);
	uint64_t begin = piece * JSONL_PIECE;
	struct lines l = {
		.source = s,
		/* The byte before tells whether a line starts with the first byte of the piece. */
		.off = begin == 0 ? 0 : begin - 1,
		.end = min_u64(begin + JSONL_PIECE, s->size),
		.step = READ_ON,
		.limit = line_limit(options),
		.window.share = options->share,
		.all = s->size == 0,
	};
	int r = begin == 0 ? 0 : skip_rest(&l, err);
	if (r == 0)
		r = read_lines(&l, options->column, fn, arg, err);
	buffer_free(&l.window);
	return r;
}

int jsonl_stream_texts(struct source *s, int codec, const struct jsonl_options *options,
		       document_fn *fn, void *arg, struct error *err)
{
	struct lines l = {
		.source = s,
		.end = UINT64_MAX,
		.limit = line_limit(options),
		.window.share = options->share,
	};
	int r = codec_stream_open(codec, s, &l.stream, err);
	if (r == 0) {
		r = read_lines(&l, options->column, fn, arg, err);
		codec_stream_close(l.stream);
	}
	buffer_free(&l.window);
	return r;
}
