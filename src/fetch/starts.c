#include "fetch/starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"

#define WIDTH 4
#define LARGEST (64u << 20) /* bytes in the cache */

/* A piece of its own in the cache, of u32 little-endian: documents, bytes of text (low, high), bytes of ids,
 * then the first token of each document, then their ids, each up to a NUL, and zeros up to a whole number. */
static void key_of(const struct cache_key *piece, struct cache_key *out)
{
	struct hash *h = hash_new();
	hash_add_text(h, "starts 1");
	hash_add(h, piece->bytes, sizeof piece->bytes);
	hash_end(h, out->bytes);
}

static int add_u32(struct buffer *b, uint64_t v)
{
	uint8_t bytes[WIDTH];
	store_u32(bytes, (uint32_t)v);
	return buffer_add(b, bytes, sizeof bytes, LARGEST, NULL);
}

int starts_encode(const struct starts *s, uint64_t text_bytes, struct buffer *out)
{
	static const uint8_t zeros[WIDTH];
	size_t n = starts_number(s);
	int r = add_u32(out, n);
	if (r == 0)
		r = add_u32(out, text_bytes);
	if (r == 0)
		r = add_u32(out, text_bytes >> 32);
	if (r == 0)
		r = add_u32(out, s->ids.n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = starts_at(s, i)->token <= UINT32_MAX ? add_u32(out, starts_at(s, i)->token) : -ENOTSUP;
	if (r == 0)
		r = buffer_add(out, s->ids.at, s->ids.n, LARGEST, NULL);
	return r == 0 ? buffer_add(out, zeros, (WIDTH - out->n % WIDTH) % WIDTH, LARGEST, NULL) : r;
}

int starts_decode(struct span in, struct starts *out, uint64_t *text_bytes)
{
	uint32_t n, low, high, ids, token, before = 0;
	struct span tokens, text;
	*out = (struct starts){ 0 };
	if (in.n % WIDTH != 0 || !span_u32(&in, &n) || !span_u32(&in, &low) || !span_u32(&in, &high) ||
	    !span_u32(&in, &ids) || n > in.n / WIDTH || !span_take(&in, (size_t)n * WIDTH, &tokens) ||
	    !span_take(&in, ids, &text) || in.n >= WIDTH)
		return -EBADMSG;
	if (n == 0 && ids > 0)
		return -EBADMSG;
	*text_bytes = (uint64_t)high << 32 | low;
	int r = buffer_add(&out->ids, text.at, text.n, 0, NULL);
	for (size_t at = 0; r == 0 && n > 0; n--) {
		const uint8_t *end = at < text.n ? memchr(text.at + at, 0, text.n - at) : NULL;
		if (end == NULL || !span_u32(&tokens, &token) || token < before) {
			r = -EBADMSG;
			break;
		}
		const struct start start = { .token = before = token, .id = at };
		r = buffer_add(&out->list, &start, sizeof start, 0, NULL);
		at = (size_t)(end - text.at) + 1;
		if (n == 1 && at != text.n)
			r = -EBADMSG;
	}
	if (r != 0)
		starts_free(out);
	return r;
}

void starts_free(struct starts *s)
{
	buffer_free(&s->list);
	buffer_free(&s->ids);
}

int starts_keep(struct cache *c, const struct cache_key *piece, const struct starts *s, uint64_t text_bytes)
{
	struct cache_writer *w = NULL;
	struct cache_key key;
	struct buffer bytes = { 0 };
	key_of(piece, &key);
	int r = starts_encode(s, text_bytes, &bytes);
	if (r == 0)
		r = cache_begin(c, &key, WIDTH, &w, NULL);
	if (r == 0)
		r = cache_write(w, bytes.at, bytes.n / WIDTH, NULL);
	if (r == 0)
		r = cache_commit(w, starts_number(s), NULL, NULL);
	else
		cache_abort(w);
	buffer_free(&bytes);
	return r;
}

int starts_find(struct cache *c, const struct cache_key *piece, struct starts *out, uint64_t *text_bytes)
{
	struct cached_piece found;
	struct cache_key key;
	uint8_t *bytes = NULL;
	key_of(piece, &key);
	int r = cache_find(c, &key, &found, NULL);
	if (r != 0)
		return r;
	size_t n = found.tokens <= LARGEST / WIDTH ? (size_t)found.tokens * WIDTH : 0;
	if (found.width != WIDTH || n == 0 || (bytes = malloc(n)) == NULL)
		r = -ENOENT;
	if (r == 0)
		r = source_read(found.source, CACHE_HEADER, bytes, n, NULL);
	if (r == 0)
		r = starts_decode(span_of(bytes, n), out, text_bytes);
	source_close(found.source);
	free(bytes);
	return r;
}
