#include "dataset/handles.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/lock.h"
#include "io/file.h"

#define BUCKETS 1024

struct handle {
	uint32_t file;
	unsigned users;
	int64_t looked_s;
	struct source *source;
	struct handle *chain, *next, *prev; /* of the bucket; by last use */
};

struct handles {
	struct manifest *manifest;
	pthread_mutex_t lock;
	unsigned most, n;
	struct handle *table[BUCKETS];
	struct handle *first, *last;
};

static int64_t seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

int handles_new(struct manifest *m, unsigned most, struct handles **out, struct error *err)
{
	struct handles *h = calloc(1, sizeof *h);
	if (h == NULL)
		return fail(err, ENOMEM, "out of memory");
	h->manifest = m;
	h->most = most;
	lock_init(&h->lock);
	*out = h;
	return 0;
}

static struct handle **slot(struct handles *h, uint32_t file)
{
	struct handle **at = &h->table[file % BUCKETS];
	while (*at != NULL && (*at)->file != file)
		at = &(*at)->chain;
	return at;
}

static void unlink_use(struct handles *h, struct handle *e)
{
	*(e->prev == NULL ? &h->first : &e->prev->next) = e->next;
	*(e->next == NULL ? &h->last : &e->next->prev) = e->prev;
}

static void link_use(struct handles *h, struct handle *e)
{
	e->next = NULL;
	e->prev = h->last;
	*(h->last == NULL ? &h->first : &h->last->next) = e;
	h->last = e;
}

static void drop(struct handles *h, struct handle *e)
{
	*slot(h, e->file) = e->chain;
	unlink_use(h, e);
	source_close(e->source);
	free(e);
	h->n--;
}

void handles_free(struct handles *h)
{
	if (h == NULL)
		return;
	while (h->first != NULL)
		drop(h, h->first);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* Under the lock: true when an open file still is what was listed; one that is not and is unused is closed,
 * so that opening it anew says why. */
static bool still_good(struct handles *h, struct handle *e)
{
	int64_t now = seconds();
	struct file_stat st;
	if (e->looked_s == now)
		return true;
	const struct listed_file *f = manifest_file(h->manifest, e->file);
	if (file_stat(e->source, &st, NULL) == 0 && st.size == f->size && st.mtime_ns == f->mtime_ns &&
	    st.inode == f->inode) {
		e->looked_s = now;
		return true;
	}
	if (e->users == 0)
		drop(h, e);
	return false;
}

static struct source *use(struct handles *h, struct handle *e)
{
	e->users++;
	if (e != h->last) {
		unlink_use(h, e);
		link_use(h, e);
	}
	return e->source;
}

static int use_and_unlock(struct handles *h, struct handle *e, struct source **out)
{
	*out = use(h, e);
	pthread_mutex_unlock(&h->lock);
	return 0;
}

int handles_get(struct handles *h, uint32_t file, bool wait, struct source **out, struct error *err)
{
	pthread_mutex_lock(&h->lock);
	struct handle *e = *slot(h, file);
	if (e != NULL && still_good(h, e))
		return use_and_unlock(h, e, out);
	pthread_mutex_unlock(&h->lock);
	if (!wait)
		return -EAGAIN;
	struct handle *made = calloc(1, sizeof *made);
	enum file_kind kind;
	if (made == NULL)
		return fail(err, ENOMEM, "out of memory");
	int r = manifest_open(h->manifest, file, &made->source, &kind, err);
	if (r != 0) {
		free(made);
		return r;
	}
	made->file = file;
	made->looked_s = seconds();
	pthread_mutex_lock(&h->lock);
	e = *slot(h, file);
	if (e != NULL) {
		/* Somebody else opened it meanwhile, or an old one is still in use: it was just found
		 * unchanged. */
		source_close(made->source);
		free(made);
		e->looked_s = seconds();
		return use_and_unlock(h, e, out);
	}
	for (struct handle *old = h->first, *next; h->n >= h->most && old != NULL; old = next) {
		next = old->next;
		if (old->users == 0)
			drop(h, old);
	}
	struct handle **at = slot(h, file);
	made->chain = NULL;
	*at = made;
	link_use(h, made);
	h->n++;
	return use_and_unlock(h, made, out);
}

void handles_put(struct handles *h, uint32_t file)
{
	pthread_mutex_lock(&h->lock);
	struct handle *e = *slot(h, file);
	if (e != NULL)
		e->users--;
	pthread_mutex_unlock(&h->lock);
}

int handles_get_all(struct handles *h, const uint32_t *files, size_t n, struct source **out)
{
	size_t i;
	pthread_mutex_lock(&h->lock);
	for (i = 0; i < n; i++) {
		struct handle *e = *slot(h, files[i]);
		if (e == NULL || !still_good(h, e))
			break;
		out[i] = use(h, e);
	}
	for (size_t k = 0; i < n && k < i; k++)
		(*slot(h, files[k]))->users--;
	pthread_mutex_unlock(&h->lock);
	return i == n ? 0 : -EAGAIN;
}

void handles_put_all(struct handles *h, const uint32_t *files, size_t n)
{
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < n; i++)
		(*slot(h, files[i]))->users--;
	pthread_mutex_unlock(&h->lock);
}
