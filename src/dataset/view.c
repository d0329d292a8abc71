#include "dataset/view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/lock.h"

#define STEP 16384 /* batches that are covered under one hold of the lock */

struct views {
	struct manifest *manifest;
	const struct options *options;
	struct order_files files;
	pthread_mutex_t lock;
	struct view *view[VIEWS];
	unsigned most;
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
	for (unsigned i = 0; i < VIEWS; i++)
		view_free(v->view[i]);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

static int view_new(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err)
{
	const struct options *o = v->options;
	struct order_params p = {
		.seed = o->seed,
		.epoch = epoch,
		.seq_len = o->seq_len,
		.world_size = o->world_size,
		.batch_size = o->batch_size,
		.shuffle = o->shuffle,
		.stride = o->stride,
		.tail = o->tail,
		.block = o->block,
		.mix_files = o->mix_files,
		.start = !val && epoch == o->epoch ? o->start : 0,
		.max_tokens = o->max_tokens,
		.val = val,
	};
	struct view *view = calloc(1, sizeof *view);
	if (view == NULL)
		return fail(err, ENOMEM, "out of memory");
	view->val = val;
	view->epoch = epoch;
	lock_init(&view->lock);
	int r = epoch_new(&p, &v->files, &view->order, err);
	if (r != 0)
		view_free(view);
	else
		*out = view;
	return r;
}

int views_get(struct views *v, bool val, uint32_t epoch, struct view **out, struct error *err)
{
	unsigned place = VIEWS;
	int r = 0;
	if (val)
		epoch = 0;
	if (epoch > 4095 || (val && v->options->val_tokens == 0))
		return fail(err, ENOENT, "there is no such view");
	pthread_mutex_lock(&v->lock);
	for (unsigned i = 0; i < VIEWS; i++) {
		struct view *view = v->view[i];
		if (view != NULL && view->val == val && view->epoch == epoch) {
			place = i;
			goto found;
		}
	}
	for (unsigned i = 0; i < v->most; i++) {
		struct view *view = v->view[i];
		if (view == NULL) {
			place = i;
			break;
		}
		if (view->users == 0 && (place == VIEWS || view->used < v->view[place]->used))
			place = i;
	}
	if (place == VIEWS) {
		r = fail(err, ENOMEM, "more than %u epochs are read at the same time", v->most);
		goto out;
	}
	struct view *made = NULL;
	r = view_new(v, val, epoch, &made, err);
	if (r != 0)
		goto out;
	view_free(v->view[place]);
	v->view[place] = made;
found:
	v->view[place]->users++;
	v->view[place]->used = ++v->clock;
	*out = v->view[place];
out:
	pthread_mutex_unlock(&v->lock);
	return r;
}

void views_put(struct views *v, struct view *view)
{
	pthread_mutex_lock(&v->lock);
	view->users--;
	pthread_mutex_unlock(&v->lock);
}

int view_cover(struct view *view, uint64_t batches, struct order_need *need)
{
	for (;;) {
		bool final;
		pthread_mutex_lock(&view->lock);
		uint64_t known = epoch_batches(view->order, &final);
		uint64_t target = batches - known > STEP && batches > known ? known + STEP : batches;
		int r = epoch_cover(view->order, target, need);
		known = epoch_batches(view->order, &final);
		if (r < 0 && r != -EAGAIN && view->stopped.code == 0)
			view->stopped.code = -r;
		atomic_store(&view->known, known);
		atomic_store(&view->final, final);
		if (r < 0 && r != -EAGAIN)
			atomic_store(&view->stop_code, -r);
		pthread_mutex_unlock(&view->lock);
		if (r != 0 || target == batches)
			return r;
	}
}
