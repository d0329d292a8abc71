/* handles: token files that are open, at most so many, least recently used closed first.
 *
 * A file that has been open for a second is looked at again (fstat) when it is next used. Any thread.
 */
#ifndef FW_DATASET_HANDLES_H
#define FW_DATASET_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataset/manifest.h"
#include "io/source.h"

struct handles;

/* most: files open at once, at least 1. */
int handles_new(struct manifest *m, unsigned most, struct handles **out, struct error *err);
void handles_free(struct handles *h); /* NULL-safe; none may be in use */

/* The open file. wait: opens it if it is not; without, -EAGAIN. -ESTALE when it changed since it was pinned,
 * and what manifest_open says. */
int handles_get(struct handles *h, uint32_t file, bool wait, struct source **out, struct error *err);
void handles_put(struct handles *h, uint32_t file);

/* The same for n files under one hold of the lock, without waiting: 0, or -EAGAIN and none is held. */
int handles_get_all(struct handles *h, const uint32_t *files, size_t n, struct source **out);
void handles_put_all(struct handles *h, const uint32_t *files, size_t n);

#endif
