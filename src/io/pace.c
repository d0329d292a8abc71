#include "io/pace.h"

#include <string.h>

#include "base/checked.h"
#include "io/url.h"

void pace_init(struct pace *p)
{
	memset(p, 0, sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
}

void pace_destroy(struct pace *p)
{
	pthread_mutex_destroy(&p->lock);
}

/* The entry of a server, else the one whose wait ends first; NULL for a name that is too long. */
static struct pace_host *find(struct pace *p, struct span authority)
{
	struct pace_host *best = &p->hosts[0];
	if (authority.n == 0 || authority.n >= PACE_AUTHORITY)
		return NULL;
	for (size_t i = 0; i < PACE_HOSTS; i++) {
		struct pace_host *h = &p->hosts[i];
		if (span_is(authority, h->authority))
			return h;
		if (h->until_ms < best->until_ms)
			best = h;
	}
	return best;
}

void pace_hold(struct pace *p, const char *url, int64_t now_ms, unsigned wait_ms)
{
	struct span authority = url_authority(url);
	pthread_mutex_lock(&p->lock);
	struct pace_host *h = find(p, authority);
	if (h != NULL && !span_is(authority, h->authority)) {
		memcpy(h->authority, authority.at, authority.n);
		h->authority[authority.n] = '\0';
		h->until_ms = 0;
	}
	if (h != NULL && h->until_ms < now_ms + wait_ms)
		h->until_ms = now_ms + wait_ms;
	pthread_mutex_unlock(&p->lock);
}

unsigned pace_left(struct pace *p, const char *url, int64_t now_ms)
{
	struct span authority = url_authority(url);
	unsigned left = 0;
	pthread_mutex_lock(&p->lock);
	const struct pace_host *h = find(p, authority);
	if (h != NULL && span_is(authority, h->authority) && h->until_ms > now_ms)
		left = (unsigned)(h->until_ms - now_ms);
	pthread_mutex_unlock(&p->lock);
	return left;
}
