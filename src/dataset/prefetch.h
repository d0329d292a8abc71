/* prefetch: what will be read next is asked for before it is read.
 *
 * Text: reading in block c of a stream wants all pieces of c, then of c+1, a bounded number at a time; those
 * of a stream read in the last minute are not evicted. Local token files on a cold disk: the rows of the next
 * batches are announced to the kernel, as long as that finds rows that are not in memory. Any thread.
 */
#ifndef FW_DATASET_PREFETCH_H
#define FW_DATASET_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "dataset/view.h"
#include "store/cache.h"

#define PREFETCH_BATCHES 8 /* batches ahead whose rows are announced */

struct dataset;

int prefetch_new(struct dataset *d, struct error *err);
/* Ends its thread. */
void prefetch_stop(struct dataset *d);
void prefetch_free(struct dataset *d);

/* A batch is being read; *last is one of its rows. */
void prefetch_touch(struct dataset *d, struct view *view, uint32_t rank, uint64_t batch,
                    const struct order_place *last);
/* A read could not be answered from memory. */
void prefetch_missed(struct dataset *d, struct view *view, uint32_t rank, uint64_t batch);
/* Announces rows that are about to be read, all at once, so that the disk can take them in its own order. */
void prefetch_announce_rows(struct dataset *d, const struct order_place *places, uint32_t rows);
/* Some piece became ready: ask for more. */
void prefetch_changed(struct dataset *d);
/* Something was counted: ask for the pieces of a block that waited for it. */
void prefetch_counted(struct dataset *d);
/* cache_options.keep */
bool prefetch_keeps(void *dataset, const struct cache_key *key);

#endif
