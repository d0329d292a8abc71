#define _GNU_SOURCE
#include "io/spare.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool same(const struct spare_address *a, const struct spare_address *b)
{
	return a->n == b->n && a->type == b->type && memcmp(&a->at, &b->at, a->n) == 0;
}

static void drop(struct spare *k)
{
	close(k->fd);
	k->to.n = 0;
}

/* Whether it is connected, and the server has not ended it meanwhile. */
static bool stands(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

int spares_take(struct spares *s, const struct spare_address *to, int64_t now_ms)
{
	spares_age(s, now_ms);
	for (struct spare *k = s->kept; k < s->kept + SPARES; k++) {
		if (k->to.n == 0 || !same(&k->to, to) || !stands(k->fd))
			continue;
		k->to.n = 0;
		return k->fd;
	}
	return -1;
}

/* Whether an address is new; it is not any more. */
static bool is_new(struct spares *s, const struct spare_address *to)
{
	for (unsigned i = 0; i < SPARE_SEEN; i++)
		if (same(&s->seen[i], to))
			return false;
	s->seen[s->next] = *to;
	s->next = (s->next + 1) % SPARE_SEEN;
	return true;
}

void spares_begin(struct spares *s, const struct spare_address *to, int64_t now_ms)
{
	struct spare *k = s->kept;
	while (k < s->kept + SPARES && k->to.n != 0)
		k++;
	if (!is_new(s, to) || k == s->kept + SPARES)
		return;
	int fd = socket(to->at.ss_family, to->type | SOCK_CLOEXEC | SOCK_NONBLOCK, to->protocol);
	if (fd < 0)
		return;
	*k = (struct spare){ .to = *to, .fd = fd, .until_ms = now_ms + SPARE_MS };
	if (connect(fd, (const struct sockaddr *)&to->at, to->n) != 0 && errno != EINPROGRESS)
		drop(k);
}

int spares_age(struct spares *s, int64_t now_ms)
{
	int64_t left = -1;
	for (struct spare *k = s->kept; k < s->kept + SPARES; k++) {
		if (k->to.n != 0 && now_ms >= k->until_ms)
			drop(k);
		if (k->to.n != 0 && (left < 0 || k->until_ms - now_ms < left))
			left = k->until_ms - now_ms;
	}
	return (int)left;
}
