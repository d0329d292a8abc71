/* overlay: a source over another one, with ranges of it in memory, so that what is fetched and what reads it
 * are two threads. Any thread, but for source_close. Bound: who fills counts the bytes.
 */
#ifndef FW_FETCH_OVERLAY_H
#define FW_FETCH_OVERLAY_H

#include <stdint.h>

#include "io/source.h"

/* Takes base over, also when it fails (-ENOMEM). */
int overlay_open(struct source *base, struct source **out, struct error *err);
/* Reads [off, off + n), cut at the file's end, with one read of the base, and keeps it until it is dropped. 0
 * or what source_read says. */
int overlay_fill(struct source *overlay, uint64_t off, uint64_t n, struct error *err);
/* Takes n bytes for those at off, where the file has as many. 0 or -ENOMEM. */
int overlay_put(struct source *overlay, uint64_t off, const void *bytes, size_t n, struct error *err);
/* Lets a range that was filled or put at off go. */
void overlay_drop(struct source *overlay, uint64_t off);

#endif
