/* record: a value of the index with what tells that it is whole.
 *
 * Bytes: CRC-32 (IEEE 802.3, as zlib's) u32 over the key and what follows it, n u32, then n bytes of value.
 * Pure, any thread.
 */
#ifndef FW_STORE_RECORD_H
#define FW_STORE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

#define RECORD_HEAD 8
#define RECORD_VALUE (1u << 26) /* most bytes of a value */

/* Appends the record to out. 0, -EINVAL (more than RECORD_VALUE), -ENOMEM. */
int record_store(struct span key, struct span value, struct buffer *out);
/* Untrusted. 0, or -EBADMSG; *value is inside `in`. */
int record_parse(struct span key, struct span in, struct span *value);

#endif
