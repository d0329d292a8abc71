/* fake_dataset: a dataset of made-up bytes behind src/dataset/dataset.h, for tests of the floors above it.
 *
 * Token i of anything is fake_token(kind, val, epoch, rank, i). Requests answer from another thread after
 * `delay_ms`.
 */
#ifndef FW_TESTS_FAKE_DATASET_H
#define FW_TESTS_FAKE_DATASET_H

#include "dataset/dataset.h"

struct fake {
	uint64_t batches; /* of each rank, in truth */
	uint64_t known;   /* counted so far; dataset_cover goes on by 10 */
	uint64_t val;     /* batches of val */
	uint64_t shards;  /* files in shards/ of 1000 tokens */
	int stopped;      /* -errno behind the last known batch, or 0 */
	uint64_t cold;    /* every cold-th batch has to wait when it is read, 0: none */
	uint64_t damaged; /* every damaged-th batch is EBADMSG, 0: none */
	unsigned delay_ms;
	bool ignorant; /* the fingerprint takes delay_ms */
};
/* Taken over by dataset_open; tests may change it while nothing runs. */
extern struct fake fake;

uint16_t fake_token(const struct dataset_object *o, uint64_t i);

#endif
