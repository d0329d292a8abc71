#define _GNU_SOURCE
#include "io/redirect.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define WAYS 4

struct kept {
	char *url, *to;
	int64_t until_ms;
	uint64_t used;
	char etag[ANSWER_ETAG];
};

struct redirects {
	pthread_mutex_t lock;
	uint64_t clock;
	struct kept kept[REDIRECTS / WAYS][WAYS];
};

struct redirects *redirects_new(void)
{
	struct redirects *r = calloc(1, sizeof *r);
	if (r != NULL)
		pthread_mutex_init(&r->lock, NULL);
	return r;
}

static void empty(struct kept *k)
{
	if (k->to != NULL)
		explicit_bzero(k->to, strlen(k->to));
	free(k->url);
	free(k->to);
	*k = (struct kept){ 0 };
}

void redirects_free(struct redirects *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < REDIRECTS; i++)
		empty(&r->kept[i / WAYS][i % WAYS]);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* FNV-1a, for the set of a URL. */
static struct kept *set_of(struct redirects *r, const char *url)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *url != '\0'; url++)
		h = (h ^ (uint8_t)*url) * 0x100000001b3u;
	return r->kept[(h ^ h >> 32) % (REDIRECTS / WAYS)];
}

static struct kept *find(struct redirects *r, const char *url)
{
	struct kept *set = set_of(r, url);
	for (size_t i = 0; i < WAYS; i++)
		if (set[i].url != NULL && strcmp(set[i].url, url) == 0)
			return &set[i];
	return NULL;
}

char *redirects_find(struct redirects *r, const char *url, int64_t now_ms, char etag[ANSWER_ETAG])
{
	char *to = NULL;
	pthread_mutex_lock(&r->lock);
	struct kept *k = find(r, url);
	if (k != NULL && k->until_ms <= now_ms) {
		empty(k);
	} else if (k != NULL) {
		k->used = ++r->clock;
		memcpy(etag, k->etag, ANSWER_ETAG);
		to = strdup(k->to);
	}
	pthread_mutex_unlock(&r->lock);
	return to;
}

void redirects_keep(struct redirects *r, const char *url, const char *to, const char *etag, int64_t until_ms)
{
	pthread_mutex_lock(&r->lock);
	struct kept *set = set_of(r, url), *k = find(r, url);
	for (size_t i = 0; k == NULL && i < WAYS; i++)
		if (set[i].url == NULL)
			k = &set[i];
	if (k == NULL) {
		k = &set[0];
		for (size_t i = 1; i < WAYS; i++)
			if (set[i].used < k->used)
				k = &set[i];
	}
	empty(k);
	*k = (struct kept){ .url = strdup(url), .to = strdup(to), .until_ms = until_ms, .used = ++r->clock };
	strncpy(k->etag, etag, sizeof k->etag - 1);
	if (k->url == NULL || k->to == NULL)
		empty(k);
	pthread_mutex_unlock(&r->lock);
}

void redirects_drop(struct redirects *r, const char *url)
{
	pthread_mutex_lock(&r->lock);
	struct kept *k = find(r, url);
	if (k != NULL)
		empty(k);
	pthread_mutex_unlock(&r->lock);
}

/* The number of a parameter of the query, -1 when it is not there or none. */
static int64_t number_of(const char *query, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = query; at != NULL; at = strpbrk(at, "&;")) {
		at++;
		if (strncasecmp(at, name, n) != 0 || at[n] != '=')
			continue;
		int64_t v = 0;
		const char *digit = at + n + 1;
		for (; *digit >= '0' && *digit <= '9' && v < (int64_t)1 << 40; digit++)
			v = v * 10 + (*digit - '0');
		return digit > at + n + 1 ? v : -1;
	}
	return -1;
}

/* X-Amz-Date=20260102T030405Z as seconds since 1970, -1. */
static int64_t date_of(const char *query)
{
	const char *at = strcasestr(query, "x-amz-date=");
	struct tm t = { 0 };
	if (at == NULL || strptime(at + 11, "%Y%m%dT%H%M%S", &t) == NULL)
		return -1;
	return (int64_t)timegm(&t);
}

int64_t redirect_lifetime(const char *url, int64_t now)
{
	const char *query = strchr(url, '?');
	if (query == NULL)
		return -1;
	int64_t until = number_of(query, "expires"), date = date_of(query);
	int64_t seconds = number_of(query, "x-amz-expires");
	if (date >= 0 && seconds >= 0)
		until = date + seconds;
	if (until < 0)
		return -1;
	return until > now ? until - now : 0;
}
