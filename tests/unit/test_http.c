#define _GNU_SOURCE
#include "unit/server.h"
#include "unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/http.h"

static const char *dir;

static struct http *client(struct http_options options)
{
	struct http *h = NULL;
	CU_ASSERT_EQUAL_FATAL(http_new(&options, &h, NULL), 0);
	return h;
}

static uint64_t requests(struct http *h)
{
	struct http_counters c;
	http_counters(h, &c);
	return c.requests;
}

/* A field of the last line of the server's log. */
static void last_logged(unsigned field, char *out, size_t n)
{
	char path[300], line[1000] = "", next[1000];
	snprintf(path, sizeof path, "%s/log", dir);
	FILE *f = fopen(path, "r");
	while (f != NULL && fgets(next, sizeof next, f) != NULL)
		strcpy(line, next);
	if (f != NULL)
		fclose(f);
	char *at = line;
	for (unsigned i = 0; i < field && at != NULL; i++) {
		at = strchr(at, '\t');
		at = at == NULL ? NULL : at + 1;
	}
	snprintf(out, n, "%.*s", at == NULL ? 0 : (int)strcspn(at, "\t\n"), at == NULL ? "" : at);
}

#define RANGE 2
#define IF_MATCH 5

static void opens_and_reads(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	struct stat st;
	uint8_t buf[5000];
	char text[300];
	snprintf(text, sizeof text, "%s/data.bin", dir);
	CU_ASSERT_EQUAL(stat(text, &st), 0);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(requests(h), 1);
	last_logged(RANGE, text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "bytes=0-65535");
	CU_ASSERT_EQUAL(pin.size, SERVER_DATA);
	CU_ASSERT_EQUAL(s->size, SERVER_DATA);
	CU_ASSERT_EQUAL(pin.mtime, st.st_mtim.tv_sec);
	CU_ASSERT_EQUAL(pin.etag[0], '"');
	CU_ASSERT_STRING_EQUAL(s->name, server_url("", "data.bin"));
	/* Inside what opening brought nothing is asked, and read_now has it; one byte beyond is asked for. */
	CU_ASSERT_EQUAL(source_read(s, HTTP_WINDOW - sizeof buf, buf, sizeof buf, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + HTTP_WINDOW - sizeof buf, sizeof buf), 0);
	CU_ASSERT_EQUAL(source_read_now(s, 0, buf, sizeof buf), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data, sizeof buf), 0);
	CU_ASSERT_EQUAL(requests(h), 1);
	CU_ASSERT_EQUAL(source_read_now(s, HTTP_WINDOW, buf, 1), -EAGAIN);
	CU_ASSERT_EQUAL(source_read(s, HTTP_WINDOW - 1, buf, 2, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + HTTP_WINDOW - 1, 2), 0);
	CU_ASSERT_EQUAL(requests(h), 2);
	last_logged(RANGE, text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "bytes=65535-65536");
	last_logged(IF_MATCH, text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, pin.etag);
	CU_ASSERT_EQUAL(source_read(s, SERVER_DATA - 1, buf, 1, &err), 0);
	CU_ASSERT_EQUAL(buf[0], server_data[SERVER_DATA - 1]);
	CU_ASSERT_EQUAL(source_read(s, SERVER_DATA - 1, buf, 2, &err), -EBADMSG);
	source_close(s);
	http_free(h);
}

static void opens_at_the_tail(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[1000];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, SERVER_DATA - 1000, buf, 1000, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + SERVER_DATA - 1000, 1000), 0);
	CU_ASSERT_EQUAL(source_read_now(s, SERVER_DATA - HTTP_WINDOW, buf, 1000), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + SERVER_DATA - HTTP_WINDOW, 1000), 0);
	CU_ASSERT_EQUAL(source_read_now(s, SERVER_DATA - HTTP_WINDOW - 1, buf, 1000), -EAGAIN);
	CU_ASSERT_EQUAL(requests(h), 1);
	source_close(s);
	/* A file that is smaller than the window comes whole. */
	pin.size = 0;
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "small.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(pin.size, 100);
	CU_ASSERT_EQUAL(source_read_now(s, 0, buf, 100), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data, 100), 0);
	source_close(s);
	/* An empty one is a file, too. */
	for (int tail = 0; tail < 2; tail++) {
		pin = (struct http_pin){ 0 };
		CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "empty.bin"), tail != 0, &pin, &s, &err),
				      0);
		CU_ASSERT_EQUAL(s->size, 0);
		source_close(s);
	}
	http_free(h);
}

static void pinned_opens_ask_nothing(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 }, other;
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[10];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &pin, &s, &err), 0);
	source_close(s);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(requests(h), 1);
	CU_ASSERT_EQUAL(source_read(s, 7, buf, 10, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 7, 10), 0);
	source_close(s);
	/* Another size and another tag are another file. */
	other = pin;
	other.size--;
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &other, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 7, buf, 10, &err), -ESTALE);
	CU_ASSERT(!err.again);
	source_close(s);
	other = pin;
	strcpy(other.etag, "\"other\"");
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &other, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 7, buf, 10, &err), -ESTALE);
	source_close(s);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~noifmatch", "data.bin"), false, &other, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 7, buf, 10, &err), -ESTALE);
	source_close(s);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~noifmatch+whole", "data.bin"), false, &other, &s,
					&err), 0);
	CU_ASSERT_EQUAL(source_read(s, 7, buf, 10, &err), -ESTALE);
	source_close(s);
	/* A file that lost its end. */
	other = pin;
	other.size = SERVER_DATA + 100;
	other.etag[0] = '\0';
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &other, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, SERVER_DATA, buf, 10, &err), -ESTALE);
	source_close(s);
	http_free(h);
}

/* What each fault is to an open that knows nothing, and to a read that is held against a pin. */
static void classifies_faults(void)
{
	static const struct {
		const char *fault;
		int open, read; /* errno, 0: right bytes */
		bool again;
	} table[] = {
		{ "~ok", 0, 0, false },
		{ "~status;code=400", EIO, EIO, false },
		{ "~status;code=401", EACCES, EACCES, false },
		{ "~status;code=403", EACCES, EACCES, false },
		{ "~status;code=404", ENOENT, ENOENT, false },
		{ "~status;code=408", EIO, EIO, true },
		{ "~status;code=410", ENOENT, ENOENT, false },
		{ "~status;code=412", ESTALE, ESTALE, false },
		{ "~status;code=416", EIO, EIO, true },
		{ "~status;code=429", EIO, EIO, true },
		{ "~status;code=500", EIO, EIO, true },
		{ "~status;code=502", EIO, EIO, true },
		{ "~status;code=503", EIO, EIO, true },
		{ "~status;code=504", EIO, EIO, true },
		{ "~status;code=202", EIO, EIO, false },
		{ "~status;code=304", EIO, EIO, false },
		{ "~reset", EIO, EIO, true },
		{ "~reset;bytes=0", EIO, EIO, true },
		{ "~truncate", EIO, EIO, true },
		{ "~truncate;bytes=0", EIO, EIO, true },
		{ "~truncate+chunked", EIO, EIO, true },
		{ "~truncate+unframed", EIO, EIO, true },
		{ "~more", EIO, EIO, true },
		{ "~length", EIO, EIO, true },
		{ "~range;kind=first", EIO, EIO, true },
		{ "~range;kind=last", EIO, EIO, true },
		{ "~range;kind=missing", EIO, EIO, true },
		{ "~range;kind=garbage", EIO, EIO, true },
		{ "~range;kind=star", ENOTSUP, ENOTSUP, false },
		{ "~range;kind=total", 0, ESTALE, false },
		{ "~gzip", ENOTSUP, ENOTSUP, false },
		{ "~gzip+whole", ENOTSUP, ENOTSUP, false },
		{ "~garbage", EIO, EIO, true },
		{ "~headers", EIO, EIO, true },
		{ "~etag", 0, ESTALE, false },
		{ "~etag+noifmatch", 0, ESTALE, false },
		{ "~noetag", 0, ESTALE, false },
		{ "~noetag+noifmatch", 0, EIO, true },
		{ "~weak+noifmatch", 0, 0, false },
		{ "~whole", 0, 0, false },
		{ "~whole+chunked", 0, 0, false },
		{ "~whole+chunked+truncate", EIO, EIO, true },
		{ "~whole+unframed", ENOTSUP, ENOTSUP, false },
		{ "~chunked", 0, 0, false },
		{ "~unframed", 0, 0, false },
		{ "~redirect", 0, 0, false },
		{ "~redirect;loop=1", EIO, EIO, false },
		{ "~redirect;to=file:%2F%2F%2Fetc%2Fpasswd", EIO, EIO, false },
		{ "~redirect;to=ftp:%2F%2F127.0.0.1%2Fx", EIO, EIO, false },
	};
	struct http *h = client((struct http_options){ 0 });
	struct http_pin good = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[2000];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &good, &s, &err), 0);
	source_close(s);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct http_pin pin = { 0 };
		const char *where = server_url(table[i].fault, "data.bin");
		int r = http_open(h, where, false, &pin, &s, &err);
		bool right = r == -table[i].open && (r == 0 || err.again == table[i].again) &&
			     (r == 0 || strstr(err.text, where) != NULL);
		if (r == 0)
			source_close(s);
		CU_ASSERT(right);
		if (!right)
			printf("# open %s: %d %d %s\n", where, r, err.again, r != 0 ? err.text : "");
		pin = good;
		CU_ASSERT_EQUAL_FATAL(http_open(h, where, false, &pin, &s, &err), 0);
		r = source_read(s, 200000, buf, sizeof buf, &err);
		right = r == -table[i].read && (r == 0 || err.again == table[i].again) &&
			(r != 0 || memcmp(buf, server_data + 200000, sizeof buf) == 0);
		CU_ASSERT(right);
		if (!right)
			printf("# read %s: %d %d %s\n", where, r, err.again, r != 0 ? err.text : "");
		source_close(s);
	}
	http_free(h);
}

static void obeys_waits(void)
{
	static const struct {
		const char *fault;
		unsigned least, most;
	} table[] = {
		{ "~status;code=503", 0, 0 },
		{ "~status;code=503;retry=7", 7000, 7000 },
		{ "~status;code=429;ratelimit=55", 55000, 55000 },
		{ "~status;code=429;retry=60;ratelimit=55", 60000, 60000 },
		{ "~status;code=503;retry=date:30", 29000, 30000 },
		{ "~status;code=404;retry=7", 0, 0 },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct http *h = client((struct http_options){ 0 });
		struct http_pin pin = { 0 };
		struct source *s;
		struct error err = { .wait_ms = 1 };
		CU_ASSERT(http_open(h, server_url(table[i].fault, "data.bin"), false, &pin, &s, &err) < 0);
		CU_ASSERT(err.wait_ms >= table[i].least && err.wait_ms <= table[i].most);
		http_free(h);
	}
}

static void takes_whole_files(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[1000];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~whole", "data.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(pin.size, SERVER_DATA);
	CU_ASSERT_EQUAL(source_read_now(s, 123456, buf, 1000), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 123456, 1000), 0);
	CU_ASSERT_EQUAL(requests(h), 1);
	source_close(s);
	/* The same by a pin: the first read brings it all. */
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~whole", "data.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 1, buf, 1000, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 1, 1000), 0);
	CU_ASSERT_EQUAL(source_read_now(s, 250000, buf, 1000), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 250000, 1000), 0);
	CU_ASSERT_EQUAL(requests(h), 2);
	source_close(s);
	/* Too large to be taken so. */
	pin.size = 0;
	CU_ASSERT_EQUAL(http_open(h, server_url("~whole", "big.bin"), false, &pin, &s, &err), -ENOTSUP);
	CU_ASSERT(strstr(err.text, "no ranges") != NULL);
	CU_ASSERT_EQUAL(http_open(h, server_url("~whole+chunked", "big.bin"), false, &pin, &s, &err),
			-ENOTSUP);
	/* With ranges it is no matter; nor if none are known from the end, when there are others. */
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~nosuffix", "big.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(s->size, HTTP_WHOLE + 1);
	CU_ASSERT_EQUAL(source_read(s, HTTP_WHOLE, buf, 1, &err), 0);
	source_close(s);
	pin.size = 0;
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "big.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(s->size, HTTP_WHOLE + 1);
	source_close(s);
	http_free(h);
}

static void sends_no_weak_tags(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[10];
	char text[300];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~weak", "data.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(strncmp(pin.etag, "W/\"", 3), 0);
	CU_ASSERT_EQUAL(source_read(s, 100000, buf, 10, &err), 0);
	last_logged(IF_MATCH, text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "-");
	source_close(s);
	/* They are compared all the same. */
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~weak+etag", "data.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 100000, buf, 10, &err), -ESTALE);
	source_close(s);
	http_free(h);
}

static void follows_redirects(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[10];
	char path[300], line[1000], asked[20][40], tags[20][40];
	unsigned n = 0;
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("~redirect", "data.bin"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(requests(h), 2);
	snprintf(path, sizeof path, "%s/log", dir);
	CU_ASSERT_EQUAL(truncate(path, 0), 0);
	CU_ASSERT_EQUAL(source_read(s, 100000, buf, 10, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 100000, 10), 0);
	source_close(s);
	/* The tag is of the file where the redirect leads, and is told only there. */
	FILE *f = fopen(path, "r");
	while (f != NULL && n < 20 && fgets(line, sizeof line, f) != NULL)
		n += sscanf(line, "GET %*s %39s %*s %*s %39s", asked[n], tags[n]) == 2;
	if (f != NULL)
		fclose(f);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_STRING_EQUAL(asked[0], "bytes=100000-100009");
	CU_ASSERT_STRING_EQUAL(tags[0], pin.etag);
	http_free(h);
}

static void cuts_what_is_slow(void)
{
	static const char *const faults[] = { "~silent", "~stall", "~stall;bytes=0", "~drip;rate=300" };
	struct http *h = client((struct http_options){ .stall_timeout_ms = 400 });
	for (size_t i = 0; i < 4; i++) {
		struct http_pin pin = { 0 };
		struct source *s;
		struct error err = { 0 };
		int64_t from = server_ms();
		CU_ASSERT_EQUAL(http_open(h, server_url(faults[i], "data.bin"), false, &pin, &s, &err),
				-ETIMEDOUT);
		CU_ASSERT(err.again);
		int64_t took = server_ms() - from;
		CU_ASSERT(took >= 350 && took < 3000);
		if (took < 350 || took >= 3000)
			printf("# %s: %" PRId64 " ms: %s\n", faults[i], took, err.text);
	}
	http_free(h);
	/* Slow is not stalled. */
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	h = client((struct http_options){ .stall_timeout_ms = 1000 });
	CU_ASSERT_EQUAL(http_open(h, server_url("~drip;rate=30000", "data.bin"), false, &pin, &s, NULL), 0);
	source_close(s);
	http_free(h);
}

/* A server whose queue is full answers no SYN: what a black hole looks like from here. */
static void cuts_what_does_not_connect(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof a;
	int queued[8];
	char where[100];
	struct http *h = client((struct http_options){ .connect_timeout_ms = 300, .stall_timeout_ms = 100 });
	struct http_pin pin = { 0 };
	struct source *s;
	struct error err = { 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&a, n), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 0), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	for (int i = 0; i < 8; i++) {
		queued[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		connect(queued[i], (struct sockaddr *)&a, n);
	}
	snprintf(where, sizeof where, "http://127.0.0.1:%u/x", ntohs(a.sin_port));
	int64_t from = server_ms();
	CU_ASSERT_EQUAL(http_open(h, where, false, &pin, &s, &err), -ETIMEDOUT);
	CU_ASSERT(err.again);
	CU_ASSERT(server_ms() - from >= 250 && server_ms() - from < 3000);
	for (int i = 0; i < 8; i++)
		close(queued[i]);
	close(fd);
	http_free(h);
}

struct reader {
	pthread_t thread;
	struct http *h;
	const char *fault;
	const struct http_pin *pin;
	unsigned seed, reads, wrong;
	int r;
	struct error err;
	int64_t ended;
};

static void *one_open(void *arg)
{
	struct reader *x = arg;
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	x->r = http_open(x->h, server_url(x->fault, "data.bin"), false, &pin, &s, &x->err);
	x->ended = server_ms();
	if (x->r == 0)
		source_close(s);
	return NULL;
}

/* How many ms the slowest of four threads takes to end. */
static int64_t stop_four(void)
{
	/* The last waits for a connection that the others have. */
	static const char *const faults[] = { "~silent", "~stall", "~drip;rate=5000", "~ok" };
	atomic_bool stop = false;
	struct reader x[4] = { 0 };
	struct http *h = client((struct http_options){ .connections = 3, .stop = &stop });
	for (int i = 0; i < 4; i++) {
		x[i].h = h;
		x[i].fault = faults[i];
		CU_ASSERT_EQUAL_FATAL(pthread_create(&x[i].thread, NULL, one_open, &x[i]), 0);
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	int64_t from = server_ms(), slowest = 0;
	atomic_store(&stop, true);
	for (int i = 0; i < 4; i++) {
		pthread_join(x[i].thread, NULL);
		CU_ASSERT_EQUAL(x[i].r, -EINTR);
		if (x[i].ended - from > slowest)
			slowest = x[i].ended - from;
	}
	http_free(h);
	return slowest;
}

static void stops_at_once(void)
{
	/* A busy machine may be late once. */
	int64_t took = stop_four();
	for (int i = 0; i < 2 && took > 100; i++)
		took = stop_four();
	CU_ASSERT(took <= 100);
}

static void *many_reads(void *arg)
{
	struct reader *x = arg;
	struct http_pin pin = *x->pin;
	struct source *s;
	uint8_t buf[4000];
	struct error err;
	if (http_open(x->h, server_url(x->fault, "data.bin"), false, &pin, &s, &err) != 0) {
		x->wrong++;
		return NULL;
	}
	for (unsigned i = 0; i < x->reads; i++) {
		uint64_t off = (uint64_t)rand_r(&x->seed) % (SERVER_DATA - sizeof buf);
		int r = source_read(s, off, buf, sizeof buf, &err);
		x->wrong += r != 0 || memcmp(buf, server_data + off, sizeof buf) != 0;
	}
	source_close(s);
	return NULL;
}

static void is_shared_by_threads(void)
{
	struct http *h = client((struct http_options){ .connections = 3 });
	struct reader x[8] = { 0 };
	struct http_pin pin = { 0 };
	struct http_counters c;
	struct source *s = NULL;
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), false, &pin, &s, NULL), 0);
	source_close(s);
	for (unsigned i = 0; i < 8; i++) {
		x[i] = (struct reader){ .h = h, .pin = &pin, .seed = i, .reads = 50,
					.fault = i % 2 == 0 ? "" : "~chunked" };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&x[i].thread, NULL, many_reads, &x[i]), 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		pthread_join(x[i].thread, NULL);
		CU_ASSERT_EQUAL(x[i].wrong, 0);
	}
	http_counters(h, &c);
	CU_ASSERT_EQUAL(c.requests, 401);
	CU_ASSERT_EQUAL(c.bytes, HTTP_WINDOW + 400 * 4000);
	http_free(h);
}

static void bounds_its_connections(void)
{
	struct http *h = client((struct http_options){ .connections = 2 });
	struct reader x[6] = { 0 };
	int64_t from = server_ms();
	for (unsigned i = 0; i < 6; i++) {
		x[i] = (struct reader){ .h = h, .fault = "~late;seconds=0.2" };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&x[i].thread, NULL, one_open, &x[i]), 0);
	}
	for (unsigned i = 0; i < 6; i++) {
		pthread_join(x[i].thread, NULL);
		CU_ASSERT_EQUAL(x[i].r, 0);
		if (x[i].r != 0)
			printf("# %s\n", x[i].err.text);
	}
	CU_ASSERT(server_ms() - from >= 590);
	http_free(h);
}

static void tells_no_secrets(void)
{
	static const char *const faults[] = { "~ok", "~status;code=404", "~truncate", "~redirect;loop=1",
	"~range" };
	struct http *h = client((struct http_options){ 0 });
	char where[300];
	for (size_t i = 0; i < 5; i++) {
		struct http_pin pin = { 0 };
		struct source *s;
		struct error err = { 0 };
		snprintf(where, sizeof where, "http://joe:hush@%s?sig=hush#hush",
			 server_url(faults[i], "data.bin") + strlen("http://"));
		int r = http_open(h, where, false, &pin, &s, &err);
		CU_ASSERT_EQUAL(r == 0, i == 0);
		CU_ASSERT(strstr(r == 0 ? s->name : err.text, "127.0.0.1") != NULL);
		CU_ASSERT(strstr(r == 0 ? s->name : err.text, "hush") == NULL);
		if (r == 0)
			source_close(s);
	}
	struct http_pin pin = { 0 };
	struct source *s;
	struct error err = { 0 };
	CU_ASSERT_EQUAL(http_open(h, "ftp://joe:hush@h/x?hush", false, &pin, &s, &err), -EINVAL);
	CU_ASSERT(strstr(err.text, "hush") == NULL);
	CU_ASSERT_EQUAL(http_open(h, "http://joe:hush@h h/x?hush", false, &pin, &s, &err), -EINVAL);
	CU_ASSERT(strstr(err.text, "hush") == NULL);
	http_free(h);
}

static void tells_dead_servers(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct http_pin pin = { 0 };
	struct source *s;
	struct error err = { 0 };
	/* A port that nobody listens on, and a name that RFC 6761 promises is none. */
	CU_ASSERT_EQUAL(http_open(h, "http://127.0.0.1:1/x", false, &pin, &s, &err), -EIO);
	CU_ASSERT(err.again);
	CU_ASSERT_EQUAL(http_open(h, "http://fineweb.invalid/x", false, &pin, &s, &err), -EIO);
	CU_ASSERT(err.again);
	/* The handle works on. */
	CU_ASSERT_EQUAL(http_open(h, server_url("", "data.bin"), false, &pin, &s, &err), 0);
	source_close(s);
	http_free(h);
}

static void gets_small_things(void)
{
	struct http *h = client((struct http_options){ 0 });
	struct error err = { 0 };
	struct http_page page;
	CU_ASSERT_EQUAL_FATAL(http_page(h, server_url("", "list.txt"), 100, 0, &page, &err), 0);
	CU_ASSERT_EQUAL(page.n, 12);
	CU_ASSERT_STRING_EQUAL(page.body, "data.bin\n# x");
	http_page_free(&page);
	CU_ASSERT_EQUAL_FATAL(http_page(h, server_url("~chunked", "list.txt"), 12, 0, &page, &err), 0);
	CU_ASSERT_STRING_EQUAL(page.body, "data.bin\n# x");
	http_page_free(&page);
	CU_ASSERT_EQUAL_FATAL(http_page(h, server_url("", "empty.bin"), 12, 0, &page, &err), 0);
	CU_ASSERT_EQUAL(page.n, 0);
	CU_ASSERT_STRING_EQUAL(page.body, "");
	http_page_free(&page);
	CU_ASSERT_EQUAL(http_page(h, server_url("", "list.txt"), 11, 0, &page, &err), -ENOTSUP);
	CU_ASSERT_EQUAL(http_page(h, server_url("~chunked", "list.txt"), 11, 0, &page, &err), -ENOTSUP);
	CU_ASSERT_EQUAL(http_page(h, server_url("~gzip", "list.txt"), 100, 0, &page, &err), -ENOTSUP);
	CU_ASSERT_EQUAL(http_page(h, server_url("~unframed", "list.txt"), 100, 0, &page, &err), -ENOTSUP);
	CU_ASSERT_EQUAL(http_page(h, server_url("", "nothing.txt"), 100, 0, &page, &err), -ENOENT);
	CU_ASSERT_EQUAL(http_page(h, server_url("~truncate", "list.txt"), 100, 0, &page, &err), -EIO);
	CU_ASSERT(err.again);
	/* Twice in vain and then not, with patience for it. */
	CU_ASSERT_EQUAL_FATAL(http_page(h, server_url("~status;code=503;first=2", "list.txt"), 100, 5, &page, &err), 0);
	CU_ASSERT_EQUAL(page.n, 12);
	http_page_free(&page);
	http_free(h);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "opens a file and reads ranges of it", opens_and_reads },
		{ "opens a file at its tail", opens_at_the_tail },
		{ "asks nothing to open what is pinned, and holds to the pin", pinned_opens_ask_nothing },
		{ "tells each fault of a server by its errno", classifies_faults },
		{ "says how long a server asks to wait", obeys_waits },
		{ "takes small files whole from servers without ranges", takes_whole_files },
		{ "compares weak tags and never sends them", sends_no_weak_tags },
		{ "follows redirects, and remembers where to", follows_redirects },
		{ "cuts transfers that stall", cuts_what_is_slow },
		{ "cuts connections that nobody answers", cuts_what_does_not_connect },
		{ "stops within 100 ms", stops_at_once },
		{ "is shared by threads", is_shared_by_threads },
		{ "keeps to its number of connections", bounds_its_connections },
		{ "keeps passwords and queries to itself", tells_no_secrets },
		{ "tells servers that are not there", tells_dead_servers },
		{ "gets a small thing whole", gets_small_things },
		CU_TEST_INFO_NULL,
	};
	static const char list[] = "data.bin\n# x";
	int r = 0;
	dir = server_folder();
	server_put("list.txt", list, sizeof list - 1, sizeof list - 1);
	if (server_start_faults())
		r = unit_main("http", tests);
	else
		puts("1..0 # SKIP no python3, which runs the server");
	server_end();
	return r;
}
