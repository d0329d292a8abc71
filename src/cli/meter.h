/* meter: shows how far a subcommand is, from a thread of its own: on a terminal one line that is written
 * anew, else a line every 30 s; with json one object a line on stdout.
 */
#ifndef FW_CLI_METER_H
#define FW_CLI_METER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"

/* The counters may be written by any thread while it runs. */
struct meter {
	atomic_uint_fast64_t tokens, documents, shards, errors, new_tokens, text_bytes;
	_Atomic double share, first_share, tokenizer_share;
	/* private */
	bool quiet, json, terminal, drawn, running, ending;
	int64_t began_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
};

/* m is zeroed, but for counters that an earlier run left. */
void meter_start(struct meter *m, bool quiet, bool json);
/* Ends the thread; the last line stays. done: with json a last object says so. */
void meter_end(struct meter *m, bool done);
/* As of now. */
void meter_read(struct meter *m, struct progress *out);

#endif
