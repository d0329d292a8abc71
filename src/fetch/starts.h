/* starts: where the documents of a piece begin, and their ids. Plain data, read by any thread once the piece
 * is made. The cache has it beside the piece where `index` left both.
 */
#ifndef FW_FETCH_STARTS_H
#define FW_FETCH_STARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "store/cache.h"

struct start {
	uint64_t token; /* of the piece: the document's first */
	size_t id;      /* where in `ids` its id stands, up to a NUL; "" where it has none */
};

/* A zeroed struct has none. */
struct starts {
	struct buffer list; /* of struct start, in the order of their tokens */
	struct buffer ids;
};

static inline size_t starts_number(const struct starts *s)
{
	return s->list.n / sizeof(struct start);
}

static inline const struct start *starts_at(const struct starts *s, size_t i)
{
	return &((const struct start *)(const void *)s->list.at)[i];
}

static inline const char *starts_id(const struct starts *s, size_t i)
{
	return (const char *)s->ids.at + starts_at(s, i)->id;
}

void starts_free(struct starts *s);

/* Puts them beside a piece that is in the cache. 0, or for what it could not. */
int starts_keep(struct cache *c, const struct cache_key *piece, const struct starts *s, uint64_t text_bytes);
/* 0: *out is the caller's, and *text_bytes what the piece was made of; -ENOENT: they are not there; -EBADMSG,
 * -EIO, -ENOMEM. */
int starts_find(struct cache *c, const struct cache_key *piece, struct starts *out, uint64_t *text_bytes);

/* As bytes and back. 0, -ENOMEM, -ENOTSUP (larger than 64 MiB); -EBADMSG. */
int starts_encode(const struct starts *s, uint64_t text_bytes, struct buffer *out);
int starts_decode(struct span in, struct starts *out, uint64_t *text_bytes);

#endif
