#define _GNU_SOURCE
#include "unit/server.h"
#include "unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/access.h"
#include "io/http.h"
#include "io/link.h"
#include "io/pace.h"
#include "io/redirect.h"
#include "io/spare.h"

static uint64_t requests(struct http *h)
{
	struct http_counters c;
	http_counters(h, &c);
	return c.requests;
}

static struct http *client(struct http_options options)
{
	struct http *h = NULL;
	CU_ASSERT_EQUAL_FATAL(http_new(&options, &h, NULL), 0);
	return h;
}

static void leaves_servers_alone(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	/* Another file of the server, asked for by whoever it is: nothing is sent before the time is over. */
	CU_ASSERT_EQUAL(http_open(h, server_url("~status;code=429;retry=2", "data.bin"), false, &pin, &s, &err),
			-EIO);
	CU_ASSERT_EQUAL(http_open(h, server_url("", "small.bin"), false, &pin, &s, &err), -EIO);
	CU_ASSERT(err.again && err.wait_ms > 1500 && err.wait_ms <= 2000);
	CU_ASSERT_EQUAL(requests(h), 1);
	http_free(h);
	/* A short wait is waited. */
	h = client((struct http_options){ 0 });
	int64_t from = server_ms();
	CU_ASSERT_EQUAL(http_open(h, server_url("~status;code=429;retry=1", "data.bin"), false, &pin, &s, &err),
			-EIO);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "small.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT(server_ms() - from >= 1000);
	source_close(s);
	http_free(h);
}

struct caller {
	pthread_t thread;
	struct http *h;
	const struct http_pin *pin;
	unsigned turn, right, other;
	int64_t ended;
	const atomic_bool *stop;
};

/* Reads until it is stopped, each time into memory that is gone as soon as the read has returned. */
static void *call(void *arg)
{
	static const char *const faults[] = { "~drip;rate=20000", "~silent", "", "~stall" };
	struct caller *x = arg;
	struct http_pin pin = *x->pin;
	struct source *s = NULL;
	int r = http_open(x->h, server_url(faults[x->turn % 4], "data.bin"), false, &pin, &s, NULL);
	while (r == 0) {
		uint8_t *buf = malloc(50000);
		r = source_read(s, 1000, buf, 50000, NULL);
		x->right += r == 0 && memcmp(buf, server_data + 1000, 50000) == 0;
		free(buf);
	}
	x->other = r != -EINTR || !atomic_load(x->stop);
	x->ended = server_ms();
	source_close(s);
	return NULL;
}

#define CALLERS 48

/* How many ms the slowest of many callers takes to end: some wait, some run, some begin just then. */
static int64_t stop_many(void)
{
	atomic_bool stop = false;
	struct caller x[CALLERS] = { 0 };
	struct http *h = client((struct http_options){ .connections = 40, .stop = &stop });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &pin, &s, NULL), 0);
	source_close(s);
	for (unsigned i = 0; i < CALLERS; i++) {
		x[i] = (struct caller){ .h = h, .pin = &pin, .turn = i, .stop = &stop };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&x[i].thread, NULL, call, &x[i]), 0);
	}
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	int64_t from = server_ms(), slowest = 0;
	unsigned reads = 0;
	atomic_store(&stop, true);
	for (unsigned i = 0; i < CALLERS; i++) {
		pthread_join(x[i].thread, NULL);
		CU_ASSERT_EQUAL(x[i].other, 0);
		reads += x[i].right;
		if (x[i].ended - from > slowest)
			slowest = x[i].ended - from;
	}
	CU_ASSERT(reads > 0);
	http_free(h);
	return slowest;
}

static void stops_many_callers(void)
{
	int64_t took = stop_many();
	for (int i = 0; i < 2 && took > 100; i++)
		took = stop_many();
	CU_ASSERT(took <= 100);
}

/* A server of which only the queue of connections is used. */
static int listens(struct spare_address *at)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*at = (struct spare_address){ .n = sizeof a, .type = SOCK_STREAM };
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 8), 0);
	socklen_t n = sizeof a;
	getsockname(fd, (struct sockaddr *)&a, &n);
	memcpy(&at->at, &a, sizeof a);
	return fd;
}

static void connects_ahead(void)
{
	struct spares s = { 0 };
	struct spare_address one, two;
	char byte = 0;
	int server = listens(&one), other = listens(&two);
	CU_ASSERT_EQUAL(spares_take(&s, &one, 0), -1);
	spares_begin(&s, &one, 0);
	spares_begin(&s, &one, 0);
	int there = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	CU_ASSERT_EQUAL(spares_take(&s, &two, 1), -1);
	int here = spares_take(&s, &one, 1);
	CU_ASSERT_FATAL(here >= 0);
	CU_ASSERT_EQUAL(send(here, "x", 1, 0), 1);
	CU_ASSERT_EQUAL(recv(there, &byte, 1, 0), 1);
	/* It was one, and an address has its spare once. */
	CU_ASSERT_EQUAL(spares_take(&s, &one, 1), -1);
	spares_begin(&s, &one, 1);
	CU_ASSERT_EQUAL(spares_age(&s, 1), -1);
	close(here);
	close(there);
	/* One that the server ended is none; nor is one that was kept for long. */
	spares_begin(&s, &two, 1);
	CU_ASSERT_EQUAL(spares_age(&s, 1), SPARE_MS);
	there = accept4(other, NULL, NULL, SOCK_CLOEXEC);
	close(there);
	CU_ASSERT_EQUAL(spares_take(&s, &two, 2), -1);
	CU_ASSERT_EQUAL(spares_age(&s, SPARE_MS + 1), -1);
	close(server);
	close(other);
}

static void doubts_once(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[10];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~redirect", "data.bin"), false, &pin, &s, &err), 0);
	source_doubt(s);
	source_close(s);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~redirect", "data.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(requests(h), 2);
	/* Where the file is is asked anew, once. */
	CU_ASSERT_EQUAL(source_read(s, 100000, buf, 10, &err), 0);
	CU_ASSERT_EQUAL(requests(h), 4);
	CU_ASSERT_EQUAL(source_read(s, 200000, buf, 10, &err), 0);
	CU_ASSERT_EQUAL(requests(h), 5);
	source_close(s);
	http_free(h);
}

static void uses_proxies(void)
{
	char proxy[100];
	snprintf(proxy, sizeof proxy, "%s", server_url("", ""));
	unsetenv("no_proxy");
	setenv("http_proxy", proxy, 1);
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[10];
	/* The name has no address: only the proxy can be asked for it. */
	CU_ASSERT_EQUAL(http_open(h, "http://data.invalid/data.bin", false, &pin, &s, &err), 0);
	if (s != NULL) {
		CU_ASSERT_EQUAL(source_read(s, 100000, buf, 10, &err), 0);
		CU_ASSERT_EQUAL(memcmp(buf, server_data + 100000, 10), 0);
	}
	source_close(s);
	unsetenv("http_proxy");
	setenv("no_proxy", "*", 1);
	pin.size = 0;
	CU_ASSERT_EQUAL(http_open(h, "http://data.invalid/data.bin", false, &pin, &s, &err), -EIO);
	CU_ASSERT(err.again);
	http_free(h);
}

/* "localhost" is ::1 first on most machines, where nobody listens. */
static void tries_each_address(void)
{
	char url[100];
	const char *port = strrchr(server_url("", "data.bin"), ':');
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	snprintf(url, sizeof url, "http://localhost%s", port);
	CU_ASSERT_EQUAL(http_open(h, url, false, &pin, &s, &err), 0);
	source_close(s);
	http_free(h);
}

static void reads_signatures(void)
{
	/* 2026-01-02 03:04:05 UTC is 1767323045. */
	static const struct {
		const char *url;
		int64_t seconds;
	} table[] = {
		{ "https://a.b/c", -1 },
		{ "https://a.b/c?d=1", -1 },
		{ "https://a.b/c?Expires=1767323145&Signature=x", 100 },
		{ "https://a.b/c?x=y&Expires=1767323145", 100 },
		{ "https://a.b/c?NotExpires=1767323145", -1 },
		{ "https://a.b/c?Expires=1767323045", 0 },
		{ "https://a.b/c?Expires=17", 0 },
		{ "https://a.b/c?Expires=soon", -1 },
		{ "https://a.b/c?Expires=99999999999999999999999999", -1 },
		{ "https://a.b/c?X-Amz-Date=20260102T030405Z&X-Amz-Expires=3600", 3600 },
		{ "https://a.b/c?X-Amz-Expires=3600&X-Amz-Date=20260102T030305Z", 3540 },
		{ "https://a.b/c?X-Amz-Expires=3600", -1 },
		{ "https://a.b/c?X-Amz-Date=gestern&X-Amz-Expires=3600", -1 },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		int64_t found = redirect_lifetime(table[i].url, 1767323045);
		bool same = found == table[i].seconds || (i == 8 && found > 1000000);
		CU_ASSERT(same);
		if (!same)
			printf("# %s: %lld\n", table[i].url, (long long)found);
	}
}

static void keeps_redirects(void)
{
	struct redirects *r = redirects_new();
	char etag[ANSWER_ETAG], url[64], *to;
	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_PTR_NULL(redirects_find(r, "http://a/1", 0, etag));
	redirects_keep(r, "http://a/1", "http://b/1?s", "\"e\"", 1000);
	to = redirects_find(r, "http://a/1", 999, etag);
	CU_ASSERT_PTR_NOT_NULL_FATAL(to);
	CU_ASSERT_STRING_EQUAL(to, "http://b/1?s");
	CU_ASSERT_STRING_EQUAL(etag, "\"e\"");
	free(to);
	CU_ASSERT_PTR_NULL(redirects_find(r, "http://a/1", 1000, etag));
	CU_ASSERT_PTR_NULL(redirects_find(r, "http://a/1", 0, etag));
	redirects_keep(r, "http://a/1", "http://b/2", "", 1000);
	redirects_drop(r, "http://a/1");
	CU_ASSERT_PTR_NULL(redirects_find(r, "http://a/1", 0, etag));
	/* The bound: far more than are kept; the last one is there. */
	for (int i = 0; i < 4 * REDIRECTS; i++) {
		snprintf(url, sizeof url, "http://a/%d", i);
		redirects_keep(r, url, url, "", 1000);
	}
	unsigned kept = 0;
	for (int i = 0; i < 4 * REDIRECTS; i++) {
		snprintf(url, sizeof url, "http://a/%d", i);
		to = redirects_find(r, url, 0, etag);
		CU_ASSERT(to == NULL || strcmp(to, url) == 0);
		kept += to != NULL;
		free(to);
	}
	CU_ASSERT(kept > REDIRECTS / 2 && kept <= REDIRECTS);
	redirects_free(r);
}

static void shows_secrets_to_one_server(void)
{
	static const char *const others[] = {
		"https://hub.example.evil.com/x", "https://hub.example:8443/x", "http://hub.example/x",
		"https://hub.example@evil.com/x", "https://evil.com/https://hub.example/", "https://hub.exampl",
		"https://hub.example#@evil.com/", "https://hub.example\\@evil.com/",
	};
	struct accesses *x = accesses_new();
	struct http_access a = { .prefix = "https://hub.example", .bearer = "hf_x" }, b = a;
	CU_ASSERT_PTR_NOT_NULL_FATAL(x);
	CU_ASSERT_PTR_NULL(accesses_find(x, "https://hub.example/x"));
	CU_ASSERT_EQUAL(accesses_add(x, &a, NULL), 0);
	const struct http_access *found = accesses_find(x, "https://hub.example/x");
	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	CU_ASSERT_STRING_EQUAL(found->bearer, "hf_x");
	CU_ASSERT_PTR_NOT_NULL(accesses_find(x, "https://hub.example?x"));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		CU_ASSERT_PTR_NULL(accesses_find(x, others[i]));
	/* The newest counts; what would make a header of its own is refused. */
	b.bearer = "hf_y";
	CU_ASSERT_EQUAL(accesses_add(x, &b, NULL), 0);
	CU_ASSERT_STRING_EQUAL(accesses_find(x, "https://hub.example/x")->bearer, "hf_y");
	b.bearer = "hf\r\nX: y";
	CU_ASSERT_EQUAL(accesses_add(x, &b, NULL), -EINVAL);
	int r = 0;
	for (int i = 0; r == 0 && i < 2 * ACCESSES; i++)
		r = accesses_add(x, &a, NULL);
	CU_ASSERT_EQUAL(r, -ENOTSUP);
	accesses_free(x);
}

static void paces_by_server(void)
{
	static struct pace p;
	char url[64];
	pace_init(&p);
	pace_hold(&p, "https://u:p@a.example:81/x?y", 1000, 500);
	CU_ASSERT_EQUAL(pace_left(&p, "http://a.example:81/z", 1200), 300);
	CU_ASSERT_EQUAL(pace_left(&p, "http://a.example/z", 1200), 0);
	CU_ASSERT_EQUAL(pace_left(&p, "http://a.example:81/z", 1500), 0);
	pace_hold(&p, "https://a.example:81/", 1000, 100);
	CU_ASSERT_EQUAL(pace_left(&p, "http://a.example:81/z", 1200), 300);
	/* More servers than there is room for: the long waits stay. */
	for (unsigned i = 0; i < 3 * PACE_HOSTS; i++) {
		snprintf(url, sizeof url, "http://h%u/", i);
		pace_hold(&p, url, 1000, i < 10 ? 100000 : 10);
	}
	for (unsigned i = 0; i < 10; i++) {
		snprintf(url, sizeof url, "http://h%u/", i);
		CU_ASSERT_EQUAL(pace_left(&p, url, 2000), 99000);
	}
	pace_destroy(&p);
}

static void reads_links(void)
{
	static const struct {
		const char *value, *url;
	} table[] = {
		{ "<https://a/b?c=d>; rel=\"next\"", "https://a/b?c=d" },
		{ " <a,b;c> ;rel=prev , <x>;  title=\"a, <z>; rel=next\"; rel=\"last next\"", "x" },
		{ "<x>; REL=Next", "x" },
		{ "<x>", NULL },
		{ "<x>; rel=prev", NULL },
		{ "<x>; rel=\"nextish\"", NULL },
		{ "<x; rel=next", NULL },
		{ "x; rel=next", NULL },
		{ "<x>; rel=\"next", NULL },
		{ "<x>; rel=\"next\\", NULL },
		{ "", NULL },
		{ "<>; rel=next", "" },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct span url;
		bool found = link_next(span_text(table[i].value), &url);
		CU_ASSERT_EQUAL(found, table[i].url != NULL);
		CU_ASSERT(!found || table[i].url == NULL || span_is(url, table[i].url));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "leaves a server alone that asks for it", leaves_servers_alone },
		{ "stops many callers at once", stops_many_callers },
		{ "connects once ahead of need", connects_ahead },
		{ "takes another way after damage", doubts_once },
		{ "asks through a proxy", uses_proxies },
		{ "tries each address of a server", tries_each_address },
		{ "reads how long a signature is good", reads_signatures },
		{ "keeps redirects, but not too many", keeps_redirects },
		{ "shows a secret to one server only", shows_secrets_to_one_server },
		{ "paces each server for itself", paces_by_server },
		{ "finds the next page", reads_links },
		CU_TEST_INFO_NULL,
	};
	server_folder();
	if (!server_start_faults()) {
		puts("1..0 # SKIP no python3");
		server_end();
		return 0;
	}
	int code = unit_main("client", tests);
	server_end();
	return code;
}
