#include "fetch/overlay.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/checked.h"

struct range {
	uint64_t off;
	size_t n;
	unsigned users; /* readers that copy from it, and views */
	bool dropped;
	struct range *next;
	uint8_t *bytes; /* a block */
};

struct overlay {
	struct source source;
	struct source *base;
	pthread_mutex_t lock;
	struct range *ranges;
};

static void range_free(struct range *r)
{
	if (r != NULL)
		block_free(r->bytes);
	free(r);
}

/* Under the lock: gives a range back, and frees it when it was dropped and nobody uses it. */
static void release(struct overlay *o, struct range *r)
{
	r->users--;
	if (!r->dropped || r->users > 0)
		return;
	for (struct range **at = &o->ranges; *at != NULL; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	range_free(r);
}

/* The range that has the byte at off. */
static struct range *holding(struct overlay *o, uint64_t off)
{
	for (struct range *r = o->ranges; r != NULL; r = r->next)
		if (off >= r->off && off - r->off < r->n && !r->dropped)
			return r;
	return NULL;
}

static int overlay_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err)
{
	struct overlay *o = (struct overlay *)s;
	uint8_t *to = buf;
	while (n > 0) {
		pthread_mutex_lock(&o->lock);
		struct range *r = holding(o, off);
		if (r != NULL)
			r->users++;
		pthread_mutex_unlock(&o->lock);
		if (r == NULL)
			return source_read(o->base, off, to, n, err);
		size_t part = (size_t)min_u64(n, r->off + r->n - off);
		memcpy(to, r->bytes + (off - r->off), part);
		pthread_mutex_lock(&o->lock);
		release(o, r);
		pthread_mutex_unlock(&o->lock);
		to += part;
		off += part;
		n -= part;
	}
	return 0;
}

static bool overlay_view(struct source *s, uint64_t off, size_t n, struct source_view *out)
{
	struct overlay *o = (struct overlay *)s;
	pthread_mutex_lock(&o->lock);
	struct range *r = holding(o, off);
	bool whole = r != NULL && n <= r->off + r->n - off;
	if (whole) {
		r->users++;
		*out = (struct source_view){ span_of(r->bytes + (off - r->off), n), r };
	}
	pthread_mutex_unlock(&o->lock);
	return whole;
}

static void overlay_unview(struct source *s, struct source_view *v)
{
	struct overlay *o = (struct overlay *)s;
	pthread_mutex_lock(&o->lock);
	release(o, v->held);
	pthread_mutex_unlock(&o->lock);
}

static void overlay_close(struct source *s)
{
	struct overlay *o = (struct overlay *)s;
	while (o->ranges != NULL) {
		struct range *r = o->ranges;
		o->ranges = r->next;
		range_free(r);
	}
	source_close(o->base);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

static void overlay_doubt(struct source *s)
{
	source_doubt(((struct overlay *)s)->base);
}

int overlay_open(struct source *base, struct source **out, struct error *err)
{
	static const struct source_ops ops = {
		.read_at = overlay_read,
		.view = overlay_view,
		.unview = overlay_unview,
		.doubt = overlay_doubt,
		.close = overlay_close,
	};
	struct overlay *o = calloc(1, sizeof *o);
	if (o == NULL) {
		source_close(base);
		return fail(err, ENOMEM, "out of memory");
	}
	o->source = (struct source){ .ops = &ops, .size = base->size, .name = base->name };
	o->base = base;
	pthread_mutex_init(&o->lock, NULL);
	*out = &o->source;
	return 0;
}

static struct range *range_new(const struct overlay *o, uint64_t off, size_t n, struct error *err)
{
	struct range *r = malloc(sizeof *r);
	if (r != NULL)
		*r = (struct range){ .off = off, .n = n, .bytes = block_new(n) };
	if (r == NULL || r->bytes == NULL) {
		free(r);
		fail(err, ENOMEM, "%s: out of memory for %zu bytes", o->source.name, n);
		return NULL;
	}
	return r;
}

static void keep(struct overlay *o, struct range *r)
{
	pthread_mutex_lock(&o->lock);
	r->next = o->ranges;
	o->ranges = r;
	pthread_mutex_unlock(&o->lock);
}

int overlay_fill(struct source *s, uint64_t off, uint64_t n, struct error *err)
{
	struct overlay *o = (struct overlay *)s;
	if (off >= s->size)
		return 0;
	struct range *r = range_new(o, off, (size_t)min_u64(n, s->size - off), err);
	if (r == NULL)
		return -ENOMEM;
	int e = source_read(o->base, off, r->bytes, r->n, err);
	if (e != 0) {
		range_free(r);
		return e;
	}
	keep(o, r);
	return 0;
}

int overlay_put(struct source *s, uint64_t off, const void *bytes, size_t n, struct error *err)
{
	struct overlay *o = (struct overlay *)s;
	struct range *r = range_new(o, off, n, err);
	if (r == NULL)
		return -ENOMEM;
	memcpy(r->bytes, bytes, n);
	keep(o, r);
	return 0;
}

void overlay_drop(struct source *s, uint64_t off)
{
	struct overlay *o = (struct overlay *)s;
	pthread_mutex_lock(&o->lock);
	struct range *r = o->ranges;
	while (r != NULL && (r->off != off || r->dropped))
		r = r->next;
	if (r != NULL) {
		r->dropped = true;
		r->users++;
		release(o, r);
	}
	pthread_mutex_unlock(&o->lock);
}
