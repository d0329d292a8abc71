#include "dataset/blocking.h"

#include <errno.h>
#include <semaphore.h>

struct waiter {
	struct dataset_request request;
	sem_t done;
	int result;
};

static void answered(struct dataset_request *r, int result)
{
	struct waiter *w = r->arg;
	w->result = result;
	sem_post(&w->done);
}

static int wait_for(struct waiter *w, struct error *err)
{
	while (sem_wait(&w->done) != 0 && errno == EINTR)
		;
	sem_destroy(&w->done);
	if (w->result != 0 && err->text[0] == 0)
		fail(err, -w->result, "%s", errno_name(-w->result));
	return w->result;
}

static void begin(struct waiter *w, struct error *err)
{
	*err = (struct error){ 0 };
	*w = (struct waiter){ .request = { .done = answered, .arg = w, .cause = err } };
	sem_init(&w->done, 0, 0);
}

int blocking_cover(struct dataset *d, const struct dataset_object *o, struct error *err)
{
	struct waiter w;
	begin(&w, err);
	dataset_cover(&w.request, d, o);
	return wait_for(&w, err);
}

int blocking_read(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n,
                  struct error *err)
{
	struct waiter w;
	begin(&w, err);
	dataset_read(&w.request, d, o, off, buf, n);
	return wait_for(&w, err);
}
