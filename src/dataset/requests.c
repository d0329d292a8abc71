/* requests: what was asked for and could not be answered at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/log.h"
#include "dataset/internal.h"

void requests_add(struct request_list *l, struct dataset_request *r)
{
	r->next = NULL;
	*(l->last == NULL ? &l->first : &l->last->next) = r;
	l->last = r;
	l->n++;
}

void requests_remove(struct request_list *l, struct dataset_request *r)
{
	struct dataset_request *before = NULL;
	for (struct dataset_request *q = l->first; q != NULL; before = q, q = q->next) {
		if (q != r)
			continue;
		*(before == NULL ? &l->first : &before->next) = q->next;
		if (l->last == q)
			l->last = before;
		l->n--;
		return;
	}
}

static void finish(struct dataset_request *r, int result)
{
	free(r->rows_done);
	r->rows_done = NULL;
	r->done(r, result);
}

/* Tries a read once; it may wait for a disk here, but not for a network. */
static int try_read(struct dataset *d, struct dataset_request *r)
{
	struct error local = { 0 }, *err = r->cause == NULL ? &local : r->cause;
	int result = r->object.kind == OBJECT_SHARD
	                     ? shards_read(d, r->object.number, r->off, r->buf, r->n, true, err)
	                     : rows_read(d, &r->object, r->off, r->buf, r->n, true, r->rows_done, err);
	if (result != 0 && result != -EAGAIN)
		log_debug("read: %s: %s", errno_name(-result), err->text);
	return result;
}

static void *reply_thread(void *arg)
{
	struct dataset *d = arg;
	pthread_mutex_lock(&d->requests);
	while (!atomic_load(&d->stop)) {
		struct dataset_request *r = d->run.first;
		if (r == NULL) {
			pthread_cond_wait(&d->runnable, &d->requests);
			continue;
		}
		requests_remove(&d->run, r);
		uint64_t changes = d->changes;
		pthread_mutex_unlock(&d->requests);
		int result = atomic_load(&r->cancelled) ? -EINTR : try_read(d, r);
		if (result != -EAGAIN) {
			finish(r, result);
			pthread_mutex_lock(&d->requests);
			continue;
		}
		pthread_mutex_lock(&d->requests);
		/* A piece that became ready while we looked may be the one that was missing. */
		requests_add(d->changes != changes || atomic_load(&r->cancelled) ? &d->run : &d->waiting, r);
	}
	pthread_mutex_unlock(&d->requests);
	return NULL;
}

void requests_changed(void *arg)
{
	struct dataset *d = arg;
	pthread_mutex_lock(&d->requests);
	d->changes++;
	struct dataset_request *r;
	bool any = d->waiting.first != NULL;
	while ((r = d->waiting.first) != NULL) {
		requests_remove(&d->waiting, r);
		requests_add(&d->run, r);
	}
	if (any)
		pthread_cond_broadcast(&d->runnable);
	pthread_cond_broadcast(&d->news);
	pthread_mutex_unlock(&d->requests);
	counting_wake(d);
}

/* Takes out of a list what was cancelled, or is past its time and then gets `late`. */
static struct dataset_request *sift(struct request_list *l, int64_t now, int late_result)
{
	struct dataset_request *gone = NULL, *next;
	for (struct dataset_request *r = l->first; r != NULL; r = next) {
		next = r->next;
		bool late = r->deadline_ns != 0 && now > r->deadline_ns;
		if (!atomic_load(&r->cancelled) && !late)
			continue;
		requests_remove(l, r);
		r->result = late ? late_result : -EINTR;
		r->next = gone;
		gone = r;
	}
	return gone;
}

static void answer_all(struct dataset_request *gone)
{
	while (gone != NULL) {
		struct dataset_request *r = gone;
		gone = r->next;
		finish(r, r->result);
	}
}

static void sweep(struct dataset *d)
{
	int64_t now = dataset_clock();
	pthread_mutex_lock(&d->requests);
	struct dataset_request *reads = sift(&d->waiting, now, -ETIMEDOUT);
	pthread_mutex_unlock(&d->requests);
	answer_all(reads);
	pthread_mutex_lock(&d->lock);
	size_t asked = d->covers.n;
	int late = d->count_error != 0 ? -d->count_error : -ETIMEDOUT;
	struct dataset_request *covers = sift(&d->covers, now, late);
	if (d->covers.n < asked && d->count_error != 0 && covers->result == late)
		d->count_failed_ns = now + (int64_t)PIECE_FAILED_S * 1000000000;
	pthread_mutex_unlock(&d->lock);
	answer_all(covers);
}

/* Answers what was cancelled, and once a second what is past its time. */
static void *watch_thread(void *arg)
{
	struct dataset *d = arg;
	while (!atomic_load(&d->stop)) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1;
		while (sem_timedwait(&d->cancels, &until) != 0 && errno == EINTR)
			;
		sweep(d);
	}
	return NULL;
}

void requests_refuse(struct dataset *d, int r, const struct error *err)
{
	int64_t now = dataset_clock();
	pthread_mutex_lock(&d->lock);
	bool known = d->count_error == -r && now < d->count_failed_ns;
	d->count_error = -r;
	if (!known)
		d->count_failed_ns = now + (int64_t)PIECE_FAILED_S * 1000000000;
	pthread_mutex_unlock(&d->lock);
	if (!known)
		log_warning("cannot count: %s: %s", errno_name(-r), err->text);
}

static void ask(struct dataset_request *r, struct dataset *d, const struct dataset_object *o)
{
	r->dataset = d;
	r->object = *o;
	r->next = NULL;
	r->result = 0;
	r->deadline_ns = 0;
	r->n = 0;
	r->rows_done = NULL;
}

void dataset_read(struct dataset_request *r, struct dataset *d, const struct dataset_object *o, uint64_t off,
                  void *buf, size_t n)
{
	ask(r, d, o);
	r->off = off;
	r->buf = buf;
	r->n = n;
	if (atomic_load(&d->stop)) {
		finish(r, -EINTR);
		return;
	}
	if (o->kind != OBJECT_SHARD) {
		r->rows_done = calloc(1, rows_done_size(d, off, n));
		if (r->rows_done == NULL) {
			finish(r, -ENOMEM);
			return;
		}
	}
	pthread_mutex_lock(&d->requests);
	requests_add(&d->run, r);
	pthread_cond_signal(&d->runnable);
	pthread_mutex_unlock(&d->requests);
}

/* The cause for which counting ended some time ago. */
static void explain(struct dataset_request *r, int result)
{
	struct dataset *d = r->dataset;
	pthread_mutex_lock(&d->lock);
	if (r->cause != NULL && result < 0 && d->failure.code == -result)
		*r->cause = d->failure;
	pthread_mutex_unlock(&d->lock);
}

void dataset_cover(struct dataset_request *r, struct dataset *d, const struct dataset_object *o)
{
	uint64_t size;
	ask(r, d, o);
	int now = atomic_load(&d->stop) ? -EINTR : dataset_size_now(d, o, &size);
	if (now != -EAGAIN) {
		explain(r, now);
		finish(r, now);
		return;
	}
	r->deadline_ns = dataset_clock() + (int64_t)max_u64(1, d->options.retry) * 1000000000;
	pthread_mutex_lock(&d->lock);
	int failed = dataset_clock() < d->count_failed_ns ? d->count_error : 0;
	if (failed != 0) {
		pthread_mutex_unlock(&d->lock);
		finish(r, -failed);
		return;
	}
	requests_add(&d->covers, r);
	d->count_again = true;
	pthread_cond_signal(&d->to_count);
	pthread_mutex_unlock(&d->lock);
}

void dataset_cancel(struct dataset_request *r)
{
	atomic_store(&r->cancelled, true);
	sem_post(&r->dataset->cancels);
}

int requests_start(struct dataset *d, struct error *err)
{
	d->repliers = calloc(d->options.threads, sizeof *d->repliers);
	int r = d->repliers == NULL ? ENOMEM : 0;
	while (r == 0 && d->n_repliers < d->options.threads) {
		r = pthread_create(&d->repliers[d->n_repliers], NULL, reply_thread, d);
		d->n_repliers += r == 0;
	}
	if (r == 0) {
		r = pthread_create(&d->watcher, NULL, watch_thread, d);
		d->has_watcher = r == 0;
	}
	return r == 0 ? 0 : fail(err, r, "cannot start threads: %s", strerror(r));
}

void requests_stop(struct dataset *d)
{
	pthread_mutex_lock(&d->requests);
	pthread_cond_broadcast(&d->runnable);
	pthread_mutex_unlock(&d->requests);
	sem_post(&d->cancels);
	for (unsigned i = 0; i < d->n_repliers; i++)
		pthread_join(d->repliers[i], NULL);
	if (d->has_watcher)
		pthread_join(d->watcher, NULL);
	struct request_list *lists[] = { &d->run, &d->waiting, &d->covers };
	for (size_t i = 0; i < 3; i++)
		while (lists[i]->first != NULL) {
			struct dataset_request *r = lists[i]->first;
			requests_remove(lists[i], r);
			finish(r, -EINTR);
		}
	free(d->repliers);
}
