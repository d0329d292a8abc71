#include "mount/call.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* A thread for what only a thread can wait for, while calls wait for it. */
struct helper {
	struct calls *calls;
	struct call *first; /* calls that wait */
	bool running;       /* the thread runs, or has ended and is not joined */
	bool ended;         /* it has ended */
	pthread_t thread;
};

enum { HELPER_FACTS, HELPER_TEXTS, HELPERS };

struct calls {
	struct dataset *d;
	struct tree *tree;
	atomic_uint waiting;
	atomic_bool reap;
	pthread_mutex_t lock; /* guards what follows */
	struct helper helpers[HELPERS];
};

struct calls *calls_new(void)
{
	struct calls *cs = calloc(1, sizeof *cs);
	if (cs != NULL) {
		pthread_mutex_init(&cs->lock, NULL);
		for (struct helper *h = cs->helpers; h < cs->helpers + HELPERS; h++)
			h->calls = cs;
	}
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
		.begun_ns = from->begun_ns,
		.calls = cs,
		.request = { .done = done, .arg = c },
	};
	if (name > 0)
		c->name = memcpy(c + 1, from->name, name);
	return c;
}

/* Calls that wait for this work (work NULL: for any), or only those of them that were interrupted. */
static struct call *take(struct helper *h, const uint64_t *work, bool only_interrupted)
{
	struct call *taken = NULL;
	pthread_mutex_lock(&h->calls->lock);
	for (struct call **at = &h->first; *at != NULL;) {
		struct call *c = *at;
		if ((only_interrupted && !atomic_load(&c->interrupted)) ||
		    (work != NULL && c->work != *work)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->next = taken;
		taken = c;
	}
	pthread_mutex_unlock(&h->calls->lock);
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

/* What the first call waits for; false when there is none, and the thread then ends. */
static bool next_work(struct helper *h, uint64_t *work)
{
	pthread_mutex_lock(&h->calls->lock);
	bool any = h->first != NULL;
	if (any)
		*work = h->first->work;
	else
		h->ended = true;
	pthread_mutex_unlock(&h->calls->lock);
	return any;
}

static void *help(void *arg)
{
	struct helper *h = arg;
	struct tree *t = h->calls->tree;
	uint64_t work;
	while (next_work(h, &work)) {
		struct error err = { 0 };
		int r = work == 0 ? tree_wait_facts(t, &err) : tree_wait_text(t, work, &err);
		if (r != 0 && r != -ENOENT && r != -EINTR)
			log_error("%s: %s", work == 0 ? "dataset.json" : "text of a batch", err.text);
		finish_all(take(h, &work, false), r);
	}
	return NULL;
}

static void wait_for_help(struct helper *h, struct call *c, uint64_t work)
{
	struct calls *cs = h->calls;
	int r = 0;
	c->work = work;
	pthread_mutex_lock(&cs->lock);
	if (h->running && h->ended) {
		pthread_mutex_unlock(&cs->lock);
		pthread_join(h->thread, NULL);
		pthread_mutex_lock(&cs->lock);
		h->running = false;
	}
	/* In turn: nobody waits for those who came later. */
	struct call **end = &h->first;
	while (*end != NULL)
		end = &(*end)->next;
	c->next = NULL;
	*end = c;
	if (!h->running) {
		h->ended = false;
		r = pthread_create(&h->thread, NULL, help, h);
		h->running = r == 0;
	}
	pthread_mutex_unlock(&cs->lock);
	if (r != 0)
		finish_all(take(h, NULL, false), -r);
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
	if (wait.facts || wait.text) {
		wait_for_help(&cs->helpers[wait.text ? HELPER_TEXTS : HELPER_FACTS], c,
		              wait.text ? wait.inode : 0);
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
	if (!atomic_load_explicit(&cs->reap, memory_order_relaxed) || !atomic_exchange(&cs->reap, false))
		return;
	for (struct helper *h = cs->helpers; h < cs->helpers + HELPERS; h++)
		finish_all(take(h, NULL, true), -EINTR);
}

bool calls_end(struct calls *cs)
{
	bool all = true;
	for (struct helper *h = cs->helpers; h < cs->helpers + HELPERS; h++) {
		finish_all(take(h, NULL, false), -EINTR);
		pthread_mutex_lock(&cs->lock);
		bool running = h->running && !h->ended, joinable = h->running && h->ended;
		pthread_mutex_unlock(&cs->lock);
		if (joinable)
			pthread_join(h->thread, NULL);
		all &= !running;
	}
	return all;
}
