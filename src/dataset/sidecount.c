#include "dataset/sidecount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/internal.h"

enum job_state { JOB_FREE, JOB_QUEUED, JOB_RUNNING, JOB_DONE };

struct job {
	enum job_state state;
	struct order_need need;
	int result;
	struct error error;
	uint64_t turn; /* in which jobs were asked for */
};

struct sidecount {
	struct dataset *d;
	int (*count)(struct dataset *d, const struct order_need *need, struct error *err);
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct job jobs[SIDECOUNT_JOBS];
	uint64_t turn;
	bool stop;
	pthread_t threads[SIDECOUNT_THREADS];
	unsigned started;
};

static struct job *first_queued(struct sidecount *s)
{
	struct job *first = NULL;
	for (struct job *j = s->jobs; j < s->jobs + SIDECOUNT_JOBS; j++)
		if (j->state == JOB_QUEUED && (first == NULL || j->turn < first->turn))
			first = j;
	return first;
}

static void *side_thread(void *arg)
{
	struct sidecount *s = arg;
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct job *j = first_queued(s);
		if (j == NULL) {
			pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		j->state = JOB_RUNNING;
		struct order_need need = j->need;
		struct error err = { 0 };
		pthread_mutex_unlock(&s->lock);
		int r = s->count(s->d, &need, &err);
		pthread_mutex_lock(&s->lock);
		j->state = JOB_DONE;
		j->result = r;
		j->error = err;
		pthread_mutex_unlock(&s->lock);
		counting_wake(s->d);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int sidecount_new(struct dataset *d,
                  int (*count)(struct dataset *d, const struct order_need *need, struct error *err),
                  struct sidecount **out, struct error *err)
{
	struct sidecount *s = calloc(1, sizeof *s);
	if (s == NULL)
		return fail(err, ENOMEM, "out of memory");
	s->d = d;
	s->count = count;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	int r = 0;
	while (r == 0 && s->started < SIDECOUNT_THREADS) {
		r = pthread_create(&s->threads[s->started], NULL, side_thread, s);
		s->started += r == 0;
	}
	if (r != 0) {
		sidecount_free(s);
		return fail(err, r, "cannot start threads: %s", strerror(r));
	}
	*out = s;
	return 0;
}

void sidecount_free(struct sidecount *s)
{
	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->started; i++)
		pthread_join(s->threads[i], NULL);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The job of a need, else one that is free or whose result nobody came for, else NULL. */
static struct job *job_of(struct sidecount *s, const struct order_need *need)
{
	struct job *free_one = NULL, *old = NULL;
	for (struct job *j = s->jobs; j < s->jobs + SIDECOUNT_JOBS; j++) {
		if (j->state != JOB_FREE && j->need.file == need->file && j->need.piece == need->piece)
			return j;
		if (j->state == JOB_FREE)
			free_one = j;
		if (j->state == JOB_DONE && (old == NULL || j->turn < old->turn))
			old = j;
	}
	struct job *j = free_one != NULL ? free_one : old;
	if (j != NULL)
		*j = (struct job){ .need = *need, .turn = ++s->turn };
	return j;
}

int sidecount_want(struct sidecount *s, const struct order_need *need, struct error *err)
{
	int r = -EAGAIN;
	pthread_mutex_lock(&s->lock);
	struct job *j = job_of(s, need);
	if (j != NULL && j->state == JOB_FREE) {
		j->state = JOB_QUEUED;
		pthread_cond_signal(&s->work);
	} else if (j != NULL && j->state == JOB_DONE && err != NULL) {
		j->state = JOB_FREE;
		r = j->result;
		if (r != 0)
			*err = j->error;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}
