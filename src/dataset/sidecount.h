/* sidecount: what is counted over a network, side by side: row groups and token_count columns of remote
 * files.
 *
 * SIDECOUNT_THREADS threads, at most SIDECOUNT_JOBS jobs; each is one step of counting that waits for a
 * server. Results go into the manifest; the counter is woken after each. Any thread.
 */
#ifndef FW_DATASET_SIDECOUNT_H
#define FW_DATASET_SIDECOUNT_H

#include "base/error.h"
#include "order/epoch.h"

#define SIDECOUNT_THREADS 8
#define SIDECOUNT_JOBS 64

struct dataset;
struct sidecount;

/* count does one job: 0 or -errno with a text. */
int sidecount_new(struct dataset *d,
                  int (*count)(struct dataset *d, const struct order_need *need, struct error *err),
                  struct sidecount **out, struct error *err);
/* Joins the threads; transfers are ended by the http client's stop flag. NULL-safe. */
void sidecount_free(struct sidecount *s);

/* -EAGAIN: queued, or being counted, or there is no room; 0: it was counted; other -errno: it failed, which is said
 * once. Without err it is only asked for, and what came of it is left for who needs it. */
int sidecount_want(struct sidecount *s, const struct order_need *need, struct error *err);

#endif
