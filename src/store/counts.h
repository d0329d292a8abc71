/* counts: the record of what is known of one file's pieces: a list of numbers; in the index, the cache,
 * archives and prepared folders. Whoever writes one says what the numbers are: of the index and the cache the
 * tokens of each piece, then the documents of each; of a prepared folder tokens, documents and flags of each
 * piece.
 *
 * Bytes: "FWC1", version u32 = 1, documents u64 (UINT64_MAX: not known), n u32, flags u32 = 0, then each
 * number + 1 as a LEB128 varint (0: COUNTS_BAD). Untrusted when read: every length is checked, a number over
 * 2^32 - 2 or bytes left over are an error. Pure.
 */
#ifndef FW_STORE_COUNTS_H
#define FW_STORE_COUNTS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct counts {
	uint64_t documents;
	uint32_t n;
	uint32_t *numbers; /* malloc'ed; COUNTS_BAD: can not be counted */
};
#define COUNTS_BAD UINT32_MAX
#define COUNTS_NUMBERS (1u << 28) /* most of a record */

int counts_encode(const struct counts *c, struct buffer *out);
/* 0, -EBADMSG, -ENOMEM. out->numbers is the caller's to free. */
int counts_decode(struct span in, struct counts *out);

#endif
