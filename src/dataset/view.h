/* view: the orders that are in use: epochs, and the held-out part.
 *
 * What is known of a view's batches is kept for ever (200 bytes a view, at most 4,097); its order, which can
 * take megabytes, is made when it is used: VIEWS orders are kept (2 under shuffle=torch, which takes 4 bytes
 * a sequence), and as many more as threads use at this moment. Any thread; a view's order only under its
 * lock.
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

#define VIEWS 16

struct view {
	bool val;
	uint32_t epoch;
	pthread_mutex_t lock;
	struct epoch *order; /* may be younger than `known`: then it is covered again, see view_cover */
	atomic_uint_fast64_t known; /* batches that some order of it has covered */
	atomic_bool final;          /* and that there are no more */
	atomic_int stop_code;       /* errno of a piece that can not be counted and ends it, 0: none */
	/* private */
	unsigned users;
	uint64_t used;
};

struct views;

/* The cut is where the held-out part ends. */
int views_new(struct manifest *m, const struct options *o, uint32_t cut_file, uint32_t cut_piece,
              struct views **out, struct error *err);
void views_free(struct views *v); /* NULL-safe; none may be in use */

/* The view, without its order. 0, -ENOENT (val without val_tokens, an epoch of 4096 or more) or -ENOMEM. */
int views_look(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err);
/* The view with its order. As above, or -EINVAL. *out is given back with views_put. */
int views_get(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err);
void views_put(struct views *v, struct view *view);

/* Places of rows [first, first + n) of a batch that is among `known`. 0; -EAGAIN (without wait: its order is
 * young and must be covered again, which takes up to 100 ms), -ENOENT (rank, or batch not among known), or
 * what epoch_batch says. */
int view_places(struct view *view, uint32_t rank, uint64_t batch, uint32_t first, uint32_t n,
                uint32_t batch_size, bool wait, struct order_place *out);

/* Counts forward as epoch_cover, in steps that hold the lock for a short time. */
int view_cover(struct view *view, uint64_t batches, struct order_need *need);

#endif
