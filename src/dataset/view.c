#include "dataset/view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/lock.h"

#define EPOCHS 4096
#define STEP 16384 /* batches that are covered under one hold of the lock */

struct views {
	struct manifest *manifest;
	const struct options *options;
	struct order_files files;
	pthread_mutex_t lock;
	struct view *view[EPOCHS + 1]; /* by epoch, and the held-out part */
	unsigned orders, most;
	uint64_t clock;
};

int views_new(struct manifest *m, const struct options *o, uint32_t cut_file, uint32_t cut_piece,
              struct views **out, struct error *err)
{
	struct views *v = calloc(1, sizeof *v);
	if (v == NULL)
		return fail(err, ENOMEM, "out of memory");
	v->manifest = m;
	v->options = o;
	v->files = (struct order_files){
		.arg = m,
		.files = manifest_files(m),
		.cut_file = cut_file,
		.cut_piece = cut_piece,
		.pieces = manifest_pieces,
		.sequences = manifest_sequences,
		.uniform = manifest_uniform,
	};
	v->most = o->shuffle == SHUFFLE_TORCH ? 2 : VIEWS;
	lock_init(&v->lock);
	*out = v;
	return 0;
}

static void view_free(struct view *view)
{
	if (view == NULL)
		return;
	epoch_free(view->order);
	pthread_mutex_destroy(&view->lock);
	free(view);
}

void views_free(struct views *v)
{
	if (v == NULL)
		return;
	for (unsigned i = 0; i <= EPOCHS; i++)
		view_free(v->view[i]);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

static int order_new(struct views *v, const struct view *view, struct epoch **out, struct error *err)
{
	const struct options *o = v->options;
	struct order_params p = {
		.seed = o->seed,
		.epoch = view->epoch,
		.seq_len = o->seq_len,
		.world_size = o->world_size,
		.batch_size = o->batch_size,
		.shuffle = o->shuffle,
		.stride = o->stride,
		.tail = o->tail,
		.block = o->block,
		.mix_files = o->mix_files,
		.start = !view->val && view->epoch == o->epoch ? o->start : 0,
		.max_tokens = o->max_tokens,
		.val = view->val,
	};
	return epoch_new(&p, &v->files, out, err);
}

/* Under the lock: lets go orders that nobody uses, the longest unused first, until there are few enough. */
static void trim(struct views *v)
{
	while (v->orders > v->most) {
		struct view *old = NULL;
		for (unsigned i = 0; i <= EPOCHS; i++) {
			struct view *w = v->view[i];
			if (w != NULL && w->order != NULL && w->users == 0 &&
			    (old == NULL || w->used < old->used))
				old = w;
		}
		if (old == NULL)
			return;
		epoch_free(old->order);
		old->order = NULL;
		v->orders--;
	}
}

/* Under the lock. */
static int look(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err)
{
	if (epoch >= EPOCHS || (val && v->options->val_tokens == 0))
		return fail(err, ENOENT, "there is no such view");
	struct view **at = &v->view[val ? EPOCHS : epoch];
	if (*at == NULL) {
		struct view *view = calloc(1, sizeof *view);
		if (view == NULL)
			return fail(err, ENOMEM, "out of memory");
		view->val = val;
		view->epoch = val ? 0 : epoch;
		lock_init(&view->lock);
		*at = view;
	}
	*out = *at;
	return 0;
}

int views_look(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err)
{
	pthread_mutex_lock(&v->lock);
	int r = look(v, val, epoch, out, err);
	pthread_mutex_unlock(&v->lock);
	return r;
}

int views_get(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err)
{
	struct view *view = NULL;
	pthread_mutex_lock(&v->lock);
	int r = look(v, val, epoch, &view, err);
	if (r == 0 && view->order == NULL) {
		r = order_new(v, view, &view->order, err);
		v->orders += r == 0;
	}
	if (r == 0) {
		view->users++;
		view->used = ++v->clock;
		trim(v);
		*out = view;
	}
	pthread_mutex_unlock(&v->lock);
	return r;
}

void views_put(struct views *v, struct view *view)
{
	pthread_mutex_lock(&v->lock);
	view->users--;
	trim(v);
	pthread_mutex_unlock(&v->lock);
}

int view_cover(struct view *view, uint64_t batches, struct order_need *need)
{
	for (;;) {
		bool final;
		pthread_mutex_lock(&view->lock);
		uint64_t known = epoch_batches(view->order, &final);
		uint64_t target = batches > known && batches - known > STEP ? known + STEP : batches;
		int r = epoch_cover(view->order, target, need);
		known = epoch_batches(view->order, &final);
		if (known > atomic_load(&view->known))
			atomic_store(&view->known, known);
		if (final)
			atomic_store(&view->final, true);
		if (r < 0 && r != -EAGAIN)
			atomic_store(&view->stop_code, -r);
		pthread_mutex_unlock(&view->lock);
		if (r != 0 || target == batches)
			return r;
	}
}

static int places(struct view *view, uint32_t rank, uint64_t batch, uint32_t first, uint32_t n,
                  uint32_t batch_size, struct order_place *out)
{
	bool final;
	int r = 0;
	pthread_mutex_lock(&view->lock);
	if (batch >= epoch_batches(view->order, &final) && batch < atomic_load(&view->known))
		r = -EAGAIN;
	else if (n == batch_size)
		r = epoch_batch(view->order, rank, batch, out);
	else
		for (uint32_t i = 0; r == 0 && i < n; i++)
			r = epoch_row(view->order, rank, batch, first + i, &out[i]);
	pthread_mutex_unlock(&view->lock);
	return r;
}

int view_places(struct view *view, uint32_t rank, uint64_t batch, uint32_t first, uint32_t n,
                uint32_t batch_size, bool wait, struct order_place *out)
{
	struct order_need need;
	int r = places(view, rank, batch, first, n, batch_size, out);
	if (r != -EAGAIN || !wait)
		return r;
	/* All that this needs was counted before. Under tail=pad and stride=piece the end may be needed. */
	r = view_cover(view, batch + 1, &need);
	return r < 0 ? r : places(view, rank, batch, first, n, batch_size, out);
}
