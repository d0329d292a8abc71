/* starts: where the documents of a piece begin, and their ids. Plain data, read by any thread once the piece
 * is made.
 */
#ifndef FW_FETCH_STARTS_H
#define FW_FETCH_STARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

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

#endif
