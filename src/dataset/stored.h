/* stored: a folder that `fineweb prepare` wrote, as a source: files and pieces are those of the source that
 * it was made of, and the tokens of each lie in the shards.
 *
 * Any thread, but for open and free. About 20 bytes a piece, and an open file for each shard that was read.
 */
#ifndef FW_DATASET_STORED_H
#define FW_DATASET_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "dataset/manifest.h"
#include "dataset/options.h"
#include "io/listing.h"

struct stored;

/* Opens the folder if the sources are one local folder with the dataset.json of `prepare`; else *out is NULL.
 * 0; or -EBADMSG (dataset.json or pieces.fwc is damaged), -ENOENT (pieces.fwc is gone), -ENOTSUP (a later
 * version), -EIO, -ENOMEM. */
int stored_open(char *const *sources, size_t n, struct stored **out, struct error *err);
void stored_free(struct stored *s); /* NULL-safe */

/* Holds options (resolved but for `counts`) against what was prepared, and sets those that follow from it.
 * by_column: its counts are of the column. 0, or -EINVAL with both values. */
int stored_options(struct stored *s, struct options *o, const char *tokenizer_sha256, bool *by_column,
                   struct error *err);
/* The files of its source, for manifest_new. */
int stored_listing(struct stored *s, struct listing *out, struct error *err);
/* Tells the manifest pins and counts of all files. 0, -EBADMSG, -ENOMEM. */
int stored_count(struct stored *s, struct manifest *m, const struct options *o, struct error *err);

/* Tokens [from, from + n) of a piece, `width` bytes each, little-endian. vocab: an id of this or more is
 * -EBADMSG. wait: may wait for a disk, else -EAGAIN. -EBADMSG also for a piece that was left out; -ESTALE: a
 * shard is not as it was written; -EIO ... */
int stored_read(struct stored *s, uint32_t file, uint32_t piece, uint64_t from, size_t n, uint32_t vocab,
                void *out, bool wait, struct error *err);
/* Tells the kernel that these tokens are wanted soon. */
void stored_announce(struct stored *s, uint32_t file, uint32_t piece, uint64_t from, uint64_t n);

#endif
