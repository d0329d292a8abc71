/* delay PORT TARGET_PORT RTT_MS [MB_PER_S]: a TCP proxy on the loopback that adds a round trip, and a rate that
 * all connections share on their way to the client; for kernels without netem.
 *
 * A connection is served one round trip after it was made, as if its handshake took that long; what comes is
 * passed on half a round trip later. At most HELD bytes of a connection are on their way. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (64u << 10)
#define HELD (64u << 20)
#define EVENTS 256

struct chunk {
	struct chunk *next;
	int64_t due_ns;
	size_t n, done; /* n is 0 at the end of a direction */
	uint8_t bytes[];
};

struct way {
	int from, to;
	struct chunk *first, *last;
	size_t held;
	bool ended, shut, limited;
};

struct link {
	struct link *next;
	int64_t serve_ns; /* when its handshake is over */
	bool gone;
	struct way up, down;
};

static struct link *links;
static int64_t rtt_ns, free_ns;
static double ns_per_byte;
static uint16_t target;
static int poller;

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void watch(int fd)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int one = 1;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 1024) != 0) {
		perror("listen");
		exit(1);
	}
	return fd;
}

static void accept_all(int server)
{
	int fd;
	while ((fd = accept(server, NULL, NULL)) >= 0) {
		struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(target) };
		struct link *l = calloc(1, sizeof *l);
		int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (l == NULL || connect(to, (struct sockaddr *)&a, sizeof a) != 0) {
			close(fd);
			close(to);
			free(l);
			continue;
		}
		l->serve_ns = now_ns() + rtt_ns;
		l->up = (struct way){ .from = fd, .to = to };
		l->down = (struct way){ .from = to, .to = fd, .limited = true };
		watch(fd);
		watch(to);
		l->next = links;
		links = l;
	}
}

static bool add(struct way *w, size_t n, struct chunk *c)
{
	int64_t now = now_ns();
	if (w->limited && ns_per_byte > 0) {
		free_ns = (free_ns > now ? free_ns : now) + (int64_t)((double)n * ns_per_byte);
		now = free_ns;
	}
	*c = (struct chunk){ .due_ns = now + rtt_ns / 2, .n = n };
	*(w->first == NULL ? &w->first : &w->last->next) = c;
	w->last = c;
	w->held += n;
	return n > 0;
}

static void take(struct way *w)
{
	while (!w->ended && w->held < HELD) {
		struct chunk *c = malloc(sizeof *c + CHUNK);
		ssize_t n = c == NULL ? -1 : recv(w->from, c->bytes, CHUNK, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			free(c);
			return;
		}
		w->ended = !add(w, n > 0 ? (size_t)n : 0, c);
	}
}

/* Passes on what is due. Returns when to look again, 0: when the socket says so or there is nothing. */
static int64_t give(struct way *w, int64_t now)
{
	while (w->first != NULL && w->first->due_ns <= now) {
		struct chunk *c = w->first;
		if (c->n == 0 && !w->shut) {
			shutdown(w->to, SHUT_WR);
			w->shut = true;
		}
		ssize_t n = c->n == 0 ? 0 : send(w->to, c->bytes + c->done, c->n - c->done, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			return 0;
		c->done += n > 0 ? (size_t)n : c->n - c->done;
		if (c->done < c->n)
			continue;
		w->held -= c->n;
		w->first = c->next;
		free(c);
	}
	return w->first != NULL ? w->first->due_ns : 0;
}

static void sooner(int64_t *wake, int64_t at)
{
	if (at != 0 && (*wake == 0 || at < *wake))
		*wake = at;
}

static int64_t step(void)
{
	int64_t wake = 0;
	for (struct link **at = &links; *at != NULL;) {
		struct link *l = *at;
		int64_t now = now_ns();
		if (now < l->serve_ns) {
			sooner(&wake, l->serve_ns);
			at = &l->next;
			continue;
		}
		take(&l->up);
		take(&l->down);
		sooner(&wake, give(&l->up, now));
		sooner(&wake, give(&l->down, now));
		if (l->up.shut && l->down.shut) {
			close(l->up.from);
			close(l->up.to);
			*at = l->next;
			free(l);
		} else {
			at = &l->next;
		}
	}
	return wake;
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS], e = { .events = EPOLLIN };
	if (argc < 4) {
		fprintf(stderr, "usage: delay PORT TARGET_PORT RTT_MS [MB_PER_S]\n");
		return 2;
	}
	int server = listen_on((uint16_t)atoi(argv[1]));
	target = (uint16_t)atoi(argv[2]);
	rtt_ns = (int64_t)(atof(argv[3]) * 1e6);
	ns_per_byte = argc > 4 && atof(argv[4]) > 0 ? 1000 / atof(argv[4]) : 0;
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_TIMERSLACK, 1000);
	poller = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(poller, EPOLL_CTL_ADD, server, &e);
	for (;;) {
		accept_all(server);
		int64_t wake = step(), left = wake == 0 ? -1 : wake - now_ns();
		struct timespec t = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
		if (left >= 0 || wake == 0)
			epoll_pwait2(poller, events, EVENTS, wake == 0 ? NULL : &t, NULL);
	}
}
