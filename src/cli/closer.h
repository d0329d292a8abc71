/* closer: ends shards that are written, each in a thread of its own: sync, name, record. One at a time, so
 * that the next is written meanwhile. One thread calls it.
 */
#ifndef FW_CLI_CLOSER_H
#define FW_CLI_CLOSER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "cli/ledger.h"
#include "cli/shardwriter.h"
#include "dataset/prepared.h"

/* A zeroed struct with these two in it has nothing to do. */
struct closer {
	struct ledger *ledger;
	atomic_uint_fast64_t *closed; /* counts them */
	/* private */
	pthread_t thread;
	bool running;
	struct shardwriter w;
	struct prepared record; /* of its one shard, which gets its sha256 */
	char name[LEDGER_NAME];
	int result;
	struct error error;
};

/* Waits for the one before, and begins this one. Takes w and record over, also when it fails: they are then
 * zeroed. 0, or why the one before could not be ended. */
int closer_add(struct closer *c, struct shardwriter *w, struct prepared *record, const char *name,
               struct error *err);
/* Waits until nothing is left to do. 0, or why the last could not be ended. */
int closer_wait(struct closer *c, struct error *err);

#endif
