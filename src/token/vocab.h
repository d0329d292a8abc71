/* vocab: the bytes of each id, and the id of bytes.
 *
 * Filled once, then immutable: any number of threads may read it.
 * Source of the .tiktoken form: tiktoken's load.py (a line is base64, a space, the rank; the rank is the id).
 */
#ifndef FW_TOKEN_VOCAB_H
#define FW_TOKEN_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* Ids are below VOCAB_MOST, and VOCAB_NONE is not an id. */
#define VOCAB_MOST (1u << 21)
#define VOCAB_NONE UINT32_MAX

struct vocab {
	uint32_t n;       /* ids are 0 ... n - 1; some may have no bytes */
	uint32_t longest; /* bytes of the longest token */
	uint32_t *at;     /* n + 1 offsets in bytes */
	uint8_t *bytes;
	uint32_t *slot;     /* open addressing: id + 1, 0 is empty */
	uint32_t mask;      /* slots - 1 */
	uint32_t byte[256]; /* the id of each single byte */
	uint8_t *hidden;    /* a bit an id: it has bytes, but is not found by them; NULL: none */
};

/* Reads a whole .tiktoken file, whose name is only for messages. *v is zeroed before and owned by the caller,
 * who calls vocab_free also after a failure. 0, -ENOMEM, -EBADMSG (line, and what was expected), -ENOTSUP (an
 * id beyond VOCAB_MOST). */
int vocab_read_tiktoken(struct vocab *v, struct span file, const char *name, struct error *err);

/* Only the number of ids of such a file. */
int vocab_count_tiktoken(struct span file, const char *name, uint32_t *n, struct error *err);

/* Makes slot and byte from the bytes. 0, -ENOMEM, -EBADMSG: a token stands twice, or a byte has no token. */
int vocab_index(struct vocab *v, const char *name, struct error *err);

void vocab_free(struct vocab *v);

/* Whether n bytes are the same: tokens are short, a call of memcmp takes longer. */
static inline bool vocab_same(const uint8_t *a, const uint8_t *b, size_t n)
{
	if (n >= 8) {
		for (size_t i = 0; i + 8 < n; i += 8)
			if (load_u64(a + i) != load_u64(b + i))
				return false;
		return load_u64(a + n - 8) == load_u64(b + n - 8);
	}
	if (n >= 4)
		return load_u32(a) == load_u32(b) && load_u32(a + n - 4) == load_u32(b + n - 4);
	return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* The id of n bytes, or VOCAB_NONE. */
uint32_t vocab_find(const struct vocab *v, const uint8_t *p, size_t n);

/* The same in steps, so that much can be looked for at once: vocab_hash fetches the place, and then
 * vocab_fetch the bytes. */
uint32_t vocab_hash(const struct vocab *v, const uint8_t *p, size_t n);
void vocab_fetch(const struct vocab *v, uint32_t hash);
uint32_t vocab_find_hashed(const struct vocab *v, const uint8_t *p, size_t n, uint32_t hash);

static inline bool vocab_is_hidden(const struct vocab *v, uint32_t id)
{
	return v->hidden != NULL && (v->hidden[id / 8] >> (id % 8) & 1) != 0;
}

static inline struct span vocab_bytes(const struct vocab *v, uint32_t id)
{
	return span_of(v->bytes + v->at[id], v->at[id + 1] - v->at[id]);
}

#endif
