/* readable: the texts of batches for eyes, .txt and .json, made when somebody asks and kept for a while.
 *
 * What is kept is bounded; a text that was given up is made again, and is the same. Any thread, but for new
 * and free.
 */
#ifndef FW_TREE_READABLE_H
#define FW_TREE_READABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataset/dataset.h"

#define READABLE_KEPT 16                  /* texts that are kept, at most */
#define READABLE_BYTES ((size_t)64 << 20) /* of all kept texts; a larger one is kept alone */

struct readables;

/* d must outlive it. 0 or -ENOMEM. */
int readables_new(struct dataset *d, struct readables **out, struct error *err);
void readables_free(struct readables *r); /* NULL-safe */

/* Makes the text of a batch, unless it is kept: reads the batch, and for JSON the documents' text once more;
 * waits for disk and network. key: any number of this text's own. 0; -ENOENT (no such batch); -ENOTSUP (a
 * batch larger than memory/64: some are made side by side); or what reading says. */
int readables_make(struct readables *r, uint64_t key, const struct dataset_object *batch, bool json,
                   struct error *err);

/* Bytes of a kept text; -EAGAIN: it is not kept. */
int readables_size_now(struct readables *r, uint64_t key, uint64_t *size);
/* At most n bytes from off on: how many; -EAGAIN as above. */
int64_t readables_read_now(struct readables *r, uint64_t key, uint64_t off, void *buf, size_t n);

#endif
