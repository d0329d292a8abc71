#include "mount/call.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Threads for what only a thread can wait for, while calls wait for it: each makes one thing at a time, and
 * ends when there is nothing to make. */
struct helper {
	struct helpers *all;
	enum { HELPER_NONE, HELPER_RUNS, HELPER_ENDED } state; /* ended: not joined */
	bool busy, slow;
	uint64_t work; /* what it makes, when it is busy */
	pthread_t thread;
};

/* A thread may hang on a network that is down. So texts whose tokens are not at hand leave these for those
 * whose are. */
#define TEXTS_QUICK 2
#define TEXTS_MOST 8

struct helpers {
	struct calls *calls;
	struct call *first; /* calls that wait, in the order in which they came */
	unsigned most, most_slow;
	struct helper each[TEXTS_MOST];
};

enum { HELPERS_FACTS, HELPERS_TEXTS, HELPERS };

struct calls {
	struct dataset *d;
	struct tree *tree;
	void *page; /* of the loop thread */
	atomic_uint waiting;
	atomic_bool reap;
	pthread_mutex_t lock; /* guards what follows */
	struct helpers helpers[HELPERS];
};

struct calls *calls_new(void)
{
	struct calls *cs = calloc(1, sizeof *cs);
	if (cs == NULL)
		return NULL;
	pthread_mutex_init(&cs->lock, NULL);
	for (unsigned i = 0; i < HELPERS; i++) {
		struct helpers *h = &cs->helpers[i];
		h->calls = cs;
		h->most = i == HELPERS_FACTS ? 1 : TEXTS_MOST;
		h->most_slow = i == HELPERS_FACTS ? 1 : TEXTS_MOST - TEXTS_QUICK;
		for (unsigned k = 0; k < h->most; k++)
			h->each[k].all = h;
	}
	return cs;
}

void calls_serve(struct calls *cs, struct dataset *d, struct tree *t, void *page)
{
	cs->d = d;
	cs->tree = t;
	cs->page = page;
}

void calls_free(struct calls *cs)
{
	if (cs == NULL)
		return;
	pthread_mutex_destroy(&cs->lock);
	free(cs);
}

static bool wait_again(struct call *c, const struct tree_wait *wait);

/* The last that happens to a call, unless it has to wait once more. */
static void finish(struct call *c, int result)
{
	struct tree_wait wait;
	/* Waits for an interrupt callback that runs now; after it none can see the call any more. */
	fuse_req_interrupt_func(c->req, NULL, NULL);
	if (c->run(c, result, &wait) == -EAGAIN) {
		if (wait_again(c, &wait))
			return;
		fuse_reply_err(c->req, EIO);
	}
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
static struct call *take(struct helpers *h, const uint64_t *work, bool only_interrupted)
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

/* With the lock held: the first call whose work nobody is at and that may be begun now. */
static const struct call *next_call(const struct helpers *h)
{
	unsigned slow = 0;
	for (unsigned k = 0; k < h->most; k++)
		slow += h->each[k].busy && h->each[k].slow;
	for (const struct call *c = h->first; c != NULL; c = c->next) {
		bool begun = false;
		for (unsigned k = 0; k < h->most; k++)
			begun |= h->each[k].busy && h->each[k].work == c->work;
		if (!begun && (!c->slow || slow < h->most_slow))
			return c;
	}
	return NULL;
}

/* False when there is nothing to make, and the thread then ends. */
static bool next_work(struct helper *self)
{
	pthread_mutex_lock(&self->all->calls->lock);
	self->busy = false;
	const struct call *c = next_call(self->all);
	if (c == NULL) {
		self->state = HELPER_ENDED;
	} else {
		self->busy = true;
		self->slow = c->slow;
		self->work = c->work;
	}
	pthread_mutex_unlock(&self->all->calls->lock);
	return c != NULL;
}

static void *help(void *arg)
{
	struct helper *self = arg;
	struct tree *t = self->all->calls->tree;
	while (next_work(self)) {
		struct error err = { 0 };
		uint64_t work = self->work;
		int r = work == 0 ? tree_wait_facts(t, &err) : tree_wait_text(t, work, &err);
		if (r != 0 && r != -ENOENT && r != -EINTR)
			log_error("%s: %s", work == 0 ? "dataset.json" : "text of a batch", err.text);
		finish_all(take(self->all, &work, false), r);
	}
	return NULL;
}

/* With the lock held: one more thread, if there is work for it and none may go on to it. 0 or -errno. */
static int start_helper(struct helpers *h)
{
	if (next_call(h) == NULL)
		return 0;
	for (unsigned k = 0; k < h->most; k++) {
		struct helper *one = &h->each[k];
		if (one->state == HELPER_RUNS)
			continue;
		/* It ended under the lock: nothing is left of it to wait for. */
		if (one->state == HELPER_ENDED)
			pthread_join(one->thread, NULL);
		int r = pthread_create(&one->thread, NULL, help, one);
		one->state = r == 0 ? HELPER_RUNS : HELPER_NONE;
		return -r;
	}
	return 0;
}

static void wait_for_help(struct calls *cs, struct call *c, const struct tree_wait *wait)
{
	struct helpers *h = &cs->helpers[wait->text ? HELPERS_TEXTS : HELPERS_FACTS];
	uint64_t work = wait->text ? wait->inode : 0;
	c->work = work;
	c->next = NULL;
	pthread_mutex_lock(&cs->lock);
	struct call **end = &h->first;
	while (*end != NULL)
		end = &(*end)->next;
	*end = c;
	int r = start_helper(h);
	pthread_mutex_unlock(&cs->lock);
	if (r != 0)
		finish_all(take(h, &work, false), r);
}

/* A text that was made may have had to make room before it was read. */
static bool wait_again(struct call *c, const struct tree_wait *wait)
{
	if (!wait->text || c->tries++ == CALL_TRIES)
		return false;
	fuse_req_interrupt_func(c->req, interrupted, c);
	if (atomic_load(&c->interrupted))
		finish(c, -EINTR);
	else
		wait_for_help(c->calls, c, wait);
	return true;
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
		c->slow = !wait.text || !tree_text_at_hand(cs->tree, wait.inode, cs->page, READ_MAX);
		wait_for_help(cs, c, &wait);
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
	for (struct helpers *h = cs->helpers; h < cs->helpers + HELPERS; h++)
		finish_all(take(h, NULL, true), -EINTR);
}

bool calls_end(struct calls *cs)
{
	bool all = true;
	for (struct helpers *h = cs->helpers; h < cs->helpers + HELPERS; h++) {
		finish_all(take(h, NULL, false), -EINTR);
		pthread_mutex_lock(&cs->lock);
		for (struct helper *one = h->each; one < h->each + h->most; one++) {
			if (one->state == HELPER_ENDED) {
				pthread_join(one->thread, NULL);
				one->state = HELPER_NONE;
			}
			all &= one->state == HELPER_NONE;
		}
		pthread_mutex_unlock(&cs->lock);
	}
	return all;
}
