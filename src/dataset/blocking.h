/* blocking: the questions of dataset.h that may have to wait, for callers with a thread to wait in. Any
 * thread.
 */
#ifndef FW_DATASET_BLOCKING_H
#define FW_DATASET_BLOCKING_H

#include "dataset/dataset.h"

/* Counts until the object's size is known. 0; -ENOENT: the data ends before it; or as dataset_cover, with the
 * cause in *err, which may not be NULL. */
int blocking_cover(struct dataset *d, const struct dataset_object *o, struct error *err);
/* Reads n bytes at off of an object whose size is known. As dataset_read; *err as above. */
int blocking_read(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n,
                  struct error *err);

#endif
