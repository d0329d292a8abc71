/* counts: the record of what is known of one file's pieces; in the index and in the cache.
 *
 * Bytes: "FWC1", version u32 = 1, documents u64 (UINT64_MAX: not known), pieces u32, flags u32 = 0, then for
 * each piece a LEB128 varint of its tokens + 1 (0: cannot be counted). Untrusted when read: every length is
 * checked, a number over 2^32 - 2 or bytes left over are an error. Pure.
 */
#ifndef FW_STORE_COUNTS_H
#define FW_STORE_COUNTS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct counts {
	uint64_t documents;
	uint32_t pieces;
	uint32_t *tokens; /* malloc'ed; COUNTS_BAD: can not be counted */
};
#define COUNTS_BAD UINT32_MAX
#define COUNTS_PIECES (1u << 28) /* most pieces of a file */

int counts_encode(const struct counts *c, struct buffer *out);
/* 0, -EBADMSG, -ENOMEM. out->tokens is the caller's to free. */
int counts_decode(struct span in, struct counts *out);

#endif
