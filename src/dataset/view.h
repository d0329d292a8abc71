/* view: the orders that are in use: epochs, and the held-out part.
 *
 * At most VIEWS are kept (2 under shuffle=torch, which takes 4 bytes a sequence), the least recently used
 * unused one goes first. Any thread; a view's epoch only under its lock.
 */
#ifndef FW_DATASET_VIEW_H
#define FW_DATASET_VIEW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "dataset/manifest.h"
#include "order/epoch.h"

#define VIEWS 8

struct view {
	bool val;
	uint32_t epoch;
	pthread_mutex_t lock;
	struct epoch *order;
	struct error
	        stopped; /* code != 0: a piece that can not be counted ends it; written once, under lock */
	atomic_uint_fast64_t known; /* epoch_batches, for who only asks */
	atomic_bool final;
	atomic_int stop_code; /* stopped.code */
	/* private */
	unsigned users;
	uint64_t used;
};

struct views;

/* The cut is where the held-out part ends. */
int views_new(struct manifest *m, const struct options *o, uint32_t cut_file, uint32_t cut_piece,
              struct views **out, struct error *err);
void views_free(struct views *v); /* NULL-safe; none may be in use */

/* The view, made if need be. 0, -ENOENT (val without val_tokens, an epoch of 4096 or more), -ENOMEM, -EINVAL.
 * *out is given back with views_put. */
int views_get(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err);
void views_put(struct views *v, struct view *view);

/* Counts forward as epoch_cover, in steps that hold the lock for a short time. */
int view_cover(struct view *view, uint64_t batches, struct order_need *need);

#endif
