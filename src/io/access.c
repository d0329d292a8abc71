#define _GNU_SOURCE
#include "io/access.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct entry {
	struct http_access access;
	struct entry *next;
};

struct accesses {
	pthread_mutex_t lock;
	struct entry *first;
	size_t n;
};

struct accesses *accesses_new(void)
{
	struct accesses *x = calloc(1, sizeof *x);
	if (x != NULL)
		pthread_mutex_init(&x->lock, NULL);
	return x;
}

static void wipe(const char *text)
{
	char *t = (char *)(uintptr_t)text;
	if (t != NULL)
		explicit_bzero(t, strlen(t));
	free(t);
}

static void entry_free(struct entry *e)
{
	const struct http_access *a = &e->access;
	wipe(a->prefix);
	wipe(a->refused);
	wipe(a->bearer);
	wipe(a->key);
	wipe(a->secret);
	wipe(a->session);
	wipe(a->region);
	free(e);
}

void accesses_free(struct accesses *x)
{
	if (x == NULL)
		return;
	while (x->first != NULL) {
		struct entry *e = x->first;
		x->first = e->next;
		entry_free(e);
	}
	pthread_mutex_destroy(&x->lock);
	free(x);
}

static const char *copy(const char *text, bool *failed)
{
	char *c = text == NULL ? NULL : strdup(text);
	*failed |= text != NULL && c == NULL;
	return c;
}

/* Printable ASCII: it goes into a header. */
static bool plain(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		if (*text <= 0x20 || *text >= 0x7f)
			return false;
	return true;
}

int accesses_add(struct accesses *x, const struct http_access *a, struct error *err)
{
	bool failed = false;
	if (!plain(a->bearer) || !plain(a->key) || !plain(a->secret) || !plain(a->session) ||
	    !plain(a->region))
		return fail(err, EINVAL, "%s: a token or key for it has blanks or other odd bytes",
		            a->prefix);
	struct entry *e = calloc(1, sizeof *e);
	if (e == NULL)
		return fail(err, ENOMEM, "out of memory");
	e->access = (struct http_access){
		.prefix = copy(a->prefix, &failed),
		.refused = copy(a->refused, &failed),
		.bearer = copy(a->bearer, &failed),
		.key = copy(a->key, &failed),
		.secret = copy(a->secret, &failed),
		.session = copy(a->session, &failed),
		.region = copy(a->region, &failed),
	};
	pthread_mutex_lock(&x->lock);
	bool full = x->n == ACCESSES;
	if (!full && !failed) {
		e->next = x->first;
		x->first = e;
		x->n++;
	}
	pthread_mutex_unlock(&x->lock);
	if (!full && !failed) {
		if (a->bearer != NULL || a->secret != NULL)
			prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		return 0;
	}
	entry_free(e);
	return failed ? fail(err, ENOMEM, "out of memory")
	              : fail(err, ENOTSUP, "more than %d servers with a token or a key", ACCESSES);
}

static bool fits(const char *prefix, const char *url)
{
	size_t n = strlen(prefix);
	return strncmp(prefix, url, n) == 0 && (url[n] == '\0' || url[n] == '/' || url[n] == '?');
}

const struct http_access *accesses_find(struct accesses *x, const char *url)
{
	pthread_mutex_lock(&x->lock);
	const struct entry *e = x->first;
	while (e != NULL && !fits(e->access.prefix, url))
		e = e->next;
	pthread_mutex_unlock(&x->lock);
	return e == NULL ? NULL : &e->access;
}
