#include "mount/call.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct calls {
	struct dataset *d;
	struct tree *tree;
	atomic_uint waiting;
	atomic_bool reap;
	pthread_mutex_t lock; /* guards what follows */
	struct call *facts;   /* calls that wait for tree_wait_facts */
	bool learning;        /* the thread runs, or has ended and is not joined */
	bool learned;         /* it has ended */
	pthread_t thread;
};

struct calls *calls_new(void)
{
	struct calls *cs = calloc(1, sizeof *cs);
	if (cs != NULL)
		pthread_mutex_init(&cs->lock, NULL);
	return cs;
}

void calls_serve(struct calls *cs, struct dataset *d, struct tree *t)
{
	cs->d = d;
	cs->tree = t;
}

void calls_free(struct calls *cs)
{
	if (cs == NULL)
		return;
	pthread_mutex_destroy(&cs->lock);
	free(cs);
}

/* The last that happens to a call. */
static void finish(struct call *c, int result)
{
	struct tree_wait wait;
	/* Waits for an interrupt callback that runs now; after it none can see the call any more. */
	fuse_req_interrupt_func(c->req, NULL, NULL);
	if (c->run(c, result, &wait) == -EAGAIN)
		fuse_reply_err(c->req, EIO);
	atomic_fetch_sub(&c->calls->waiting, 1);
	free(c->buf);
	free(c);
}

static void done(struct dataset_request *r, int result)
{
	finish(r->arg, result);
}

/* Under req->lock, in the loop thread: it must not reply, because a reply frees the request that is locked.
 */
static void interrupted(fuse_req_t req, void *data)
{
	struct call *c = data;
	(void)req;
	atomic_store(&c->interrupted, true);
	if (c->asked)
		dataset_cancel(&c->request);
	else
		atomic_store(&c->calls->reap, true);
}

/* A copy of the call that may outlive the operation; replies and returns NULL when there can be none. */
static struct call *keep(struct calls *cs, const struct call *from)
{
	size_t name = from->name == NULL ? 0 : strlen(from->name) + 1;
	struct call *c = NULL;
	if (atomic_fetch_add(&cs->waiting, 1) < CALLS_MAX)
		c = malloc(sizeof *c + name);
	if (c == NULL) {
		atomic_fetch_sub(&cs->waiting, 1);
		fuse_reply_err(from->req, ENOMEM);
		return NULL;
	}
	*c = (struct call){
		.req = from->req,
		.server = from->server,
		.run = from->run,
		.inode = from->inode,
		.off = from->off,
		.n = from->n,
		.calls = cs,
		.request = { .done = done, .arg = c },
	};
	if (name > 0)
		c->name = memcpy(c + 1, from->name, name);
	return c;
}

static struct call *take_facts(struct calls *cs, bool only_interrupted)
{
	struct call *taken = NULL;
	pthread_mutex_lock(&cs->lock);
	for (struct call **at = &cs->facts; *at != NULL;) {
		struct call *c = *at;
		if (only_interrupted && !atomic_load(&c->interrupted)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->next = taken;
		taken = c;
	}
	pthread_mutex_unlock(&cs->lock);
	return taken;
}

static void finish_all(struct call *c, int result)
{
	while (c != NULL) {
		struct call *next = c->next;
		finish(c, result);
		c = next;
	}
}

static void *learn(void *arg)
{
	struct calls *cs = arg;
	struct error err;
	int r = tree_wait_facts(cs->tree, &err);
	if (r != 0)
		log_error("dataset.json: %s", err.text);
	pthread_mutex_lock(&cs->lock);
	cs->learned = true;
	pthread_mutex_unlock(&cs->lock);
	finish_all(take_facts(cs, false), r);
	return NULL;
}

static void wait_for_facts(struct calls *cs, struct call *c)
{
	int r = 0;
	pthread_mutex_lock(&cs->lock);
	if (cs->learning && cs->learned) {
		pthread_mutex_unlock(&cs->lock);
		pthread_join(cs->thread, NULL);
		pthread_mutex_lock(&cs->lock);
		cs->learning = false;
	}
	c->next = cs->facts;
	cs->facts = c;
	if (!cs->learning) {
		cs->learned = false;
		r = pthread_create(&cs->thread, NULL, learn, cs);
		cs->learning = r == 0;
	}
	pthread_mutex_unlock(&cs->lock);
	if (r != 0)
		finish_all(take_facts(cs, false), -r);
}

void call_run(struct calls *cs, struct call *c)
{
	struct tree_wait wait;
	if (c->run(c, CALL_FIRST, &wait) != -EAGAIN)
		return;
	c = keep(cs, c);
	if (c == NULL)
		return;
	fuse_req_interrupt_func(c->req, interrupted, c);
	if (atomic_load(&c->interrupted)) {
		finish(c, -EINTR);
		return;
	}
	if (wait.facts) {
		wait_for_facts(cs, c);
		return;
	}
	log_debug("inode %#" PRIx64 "%s%s waits until more is counted", c->inode,
	          c->name == NULL ? "" : ", name ", c->name == NULL ? "" : c->name);
	c->asked = true;
	c->request.only_size = wait.only_size;
	dataset_cover(&c->request, cs->d, &wait.object);
}

void call_read(struct calls *cs, const struct call *from, const struct tree_rest *rest, const void *head)
{
	struct call *c = keep(cs, from);
	if (c == NULL)
		return;
	c->n = rest->skip + rest->n;
	c->buf = malloc(c->n);
	if (c->buf == NULL) {
		finish(c, -ENOMEM);
		return;
	}
	memcpy(c->buf, head, rest->skip);
	fuse_req_interrupt_func(c->req, interrupted, c);
	if (atomic_load(&c->interrupted)) {
		finish(c, -EINTR);
		return;
	}
	log_debug("inode %#" PRIx64 ": %zu bytes at %" PRIu64 " wait", c->inode, c->n, c->off);
	c->asked = true;
	dataset_read(&c->request, cs->d, &rest->object, rest->off, (char *)c->buf + rest->skip, rest->n);
}

void calls_reap(struct calls *cs)
{
	if (atomic_load_explicit(&cs->reap, memory_order_relaxed) && atomic_exchange(&cs->reap, false))
		finish_all(take_facts(cs, true), -EINTR);
}

bool calls_end(struct calls *cs)
{
	finish_all(take_facts(cs, false), -EINTR);
	pthread_mutex_lock(&cs->lock);
	bool running = cs->learning && !cs->learned, joinable = cs->learning && cs->learned;
	pthread_mutex_unlock(&cs->lock);
	if (joinable)
		pthread_join(cs->thread, NULL);
	return !running;
}
