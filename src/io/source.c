#include "io/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static int within(const struct source *s, uint64_t off, size_t n, struct error *err)
{
	if (off <= s->size && n <= s->size - off)
		return 0;
	return fail(err, EBADMSG, "%s: %zu bytes at %" PRIu64 " are expected, the file has %" PRIu64
		    " bytes", s->name, n, off, s->size);
}

int source_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err)
{
	int r = within(s, off, n, err);
	return r != 0 || n == 0 ? r : s->ops->read_at(s, off, buf, n, err);
}

int source_read_now(struct source *s, uint64_t off, void *buf, size_t n)
{
	int r = within(s, off, n, NULL);
	if (r != 0 || n == 0)
		return r;
	return s->ops->read_now == NULL ? -EAGAIN : s->ops->read_now(s, off, buf, n);
}

bool source_view(struct source *s, uint64_t off, size_t n, struct source_view *out)
{
	*out = (struct source_view){ 0 };
	return s->ops->view != NULL && within(s, off, n, NULL) == 0 && n > 0 && s->ops->view(s, off, n, out);
}

void source_unview(struct source *s, struct source_view *v)
{
	if (v->held != NULL)
		s->ops->unview(s, v);
	*v = (struct source_view){ 0 };
}

void source_announce(struct source *s, uint64_t off, uint64_t n)
{
	if (s->ops->announce == NULL || off >= s->size)
		return;
	s->ops->announce(s, off, min_u64(n, s->size - off));
}

void source_doubt(struct source *s)
{
	if (s != NULL && s->ops->doubt != NULL)
		s->ops->doubt(s);
}

void source_close(struct source *s)
{
	if (s != NULL)
		s->ops->close(s);
}

struct memory_source {
	struct source source;
	const uint8_t *bytes;
	char name[];
};

static int memory_now(struct source *s, uint64_t off, void *buf, size_t n)
{
	const struct memory_source *m = (const struct memory_source *)s;
	memcpy(buf, m->bytes + off, n);
	return 0;
}

static int memory_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err)
{
	(void)err;
	return memory_now(s, off, buf, n);
}

static bool memory_view(struct source *s, uint64_t off, size_t n, struct source_view *out)
{
	struct memory_source *m = (struct memory_source *)s;
	*out = (struct source_view){ span_of(m->bytes + off, n), m };
	return true;
}

static void memory_unview(struct source *s, struct source_view *v)
{
	(void)s;
	(void)v;
}

static void memory_close(struct source *s)
{
	free(s);
}

struct source *source_memory(const void *bytes, size_t n, const char *name)
{
	static const struct source_ops ops = {
		.read_at = memory_read,
		.read_now = memory_now,
		.view = memory_view,
		.unview = memory_unview,
		.close = memory_close,
	};
	size_t length = strlen(name) + 1;
	struct memory_source *m = malloc(sizeof *m + length);
	if (m == NULL)
		return NULL;
	memcpy(m->name, name, length);
	m->source = (struct source){ .ops = &ops, .size = n, .name = m->name };
	m->bytes = bytes;
	return &m->source;
}
