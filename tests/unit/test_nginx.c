/* The http room against nginx, the server that is most likely on the other end. */
#define _GNU_SOURCE
#include "unit/server.h"
#include "unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/http.h"

static const char *dir;
static bool tls;

static struct http *client(void)
{
	struct http_options options = { 0 };
	struct http *h = NULL;
	CU_ASSERT_EQUAL_FATAL(http_new(&options, &h, NULL), 0);
	return h;
}

static void reads_ranges(void)
{
	struct http *h = client();
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	struct http_counters c;
	uint8_t buf[4000];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "data.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(pin.size, SERVER_DATA);
	CU_ASSERT_EQUAL(pin.etag[0], '"');
	CU_ASSERT(pin.mtime > 0);
	CU_ASSERT_EQUAL(source_read_now(s, SERVER_DATA - 4000, buf, 4000), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + SERVER_DATA - 4000, 4000), 0);
	for (uint64_t off = 1; off < 200000; off += 50000) {
		CU_ASSERT_EQUAL(source_read(s, off, buf, 4000, &err), 0);
		CU_ASSERT_EQUAL(memcmp(buf, server_data + off, 4000), 0);
	}
	http_counters(h, &c);
	CU_ASSERT_EQUAL(c.requests, 5);
	CU_ASSERT_EQUAL(c.bytes, HTTP_WINDOW + 4 * 4000);
	source_close(s);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "nothing"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 10, buf, 10, &err), -ENOENT);
	source_close(s);
	http_free(h);
}

static void reads_empty_files(void)
{
	struct http *h = client();
	for (int tail = 0; tail < 2; tail++) {
		struct http_pin pin = { 0 };
		struct source *s = NULL;
		int r = http_open(h, server_url("", "empty.bin"), tail != 0, &pin, &s, NULL);
		CU_ASSERT_EQUAL_FATAL(r, 0);
		CU_ASSERT_EQUAL(s->size, 0);
		source_close(s);
	}
	http_free(h);
}

static void sees_a_change(void)
{
	struct http *h = client();
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[10];
	server_put("change.bin", server_data, SERVER_DATA, SERVER_DATA);
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("", "change.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 10, buf, 10, &err), 0);
	server_put("change.bin", server_data, SERVER_DATA, SERVER_DATA + 1);
	CU_ASSERT_EQUAL(source_read(s, 10, buf, 10, &err), -ESTALE);
	CU_ASSERT(!err.again);
	source_close(s);
	http_free(h);
}

static void works_without_ranges(void)
{
	struct http *h = client();
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[4000];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("norange", "data.bin"), true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read_now(s, 10, buf, 4000), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 10, 4000), 0);
	source_close(s);
	pin.size = 0;
	CU_ASSERT_EQUAL(http_open(h, server_url("norange", "big.bin"), true, &pin, &s, &err), -ENOTSUP);
	http_free(h);
}

static void follows_a_redirect(void)
{
	struct http *h = client();
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[4000];
	CU_ASSERT_EQUAL_FATAL(http_open(h, server_url("away", "x"), false, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 100000, buf, 4000, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 100000, 4000), 0);
	source_close(s);
	http_free(h);
}

static void trusts_no_stranger(void)
{
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	char text[100];
	if (!tls) {
		unit_skip("openssl cannot make a certificate");
		return;
	}
	struct http *h = client();
	snprintf(text, sizeof text, "https://127.0.0.1:%u/data.bin", server_second_port());
	CU_ASSERT_EQUAL(http_open(h, text, false, &pin, &s, &err), -EIO);
	CU_ASSERT(!err.again);
	CU_ASSERT(strstr(err.text, "certificate") != NULL);
	http_free(h);
}

static void trusts_whom_it_is_told(void)
{
	struct http_pin pin = { 0 };
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[4000];
	char text[300];
	if (!tls) {
		unit_skip("openssl cannot make a certificate");
		return;
	}
	snprintf(text, sizeof text, "%s/cert", dir);
	setenv("SSL_CERT_FILE", text, 1);
	struct http *h = client();
	unsetenv("SSL_CERT_FILE");
	snprintf(text, sizeof text, "https://127.0.0.1:%u/data.bin", server_second_port());
	CU_ASSERT_EQUAL_FATAL(http_open(h, text, true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 100000, buf, sizeof buf, &err), 0);
	CU_ASSERT_EQUAL(memcmp(buf, server_data + 100000, sizeof buf), 0);
	source_close(s);
	/* The name counts, too. */
	snprintf(text, sizeof text, "https://localhost:%u/data.bin", server_second_port());
	pin.size = 0;
	CU_ASSERT_EQUAL(http_open(h, text, true, &pin, &s, &err), -EIO);
	CU_ASSERT(!err.again);
	http_free(h);
}

/* A client that trusts the server, and its connection to it. */
static struct http *tls_client(struct http_pin *pin, const char *name)
{
	struct source *s = NULL;
	struct error err = { 0 };
	char text[300];
	snprintf(text, sizeof text, "%s/cert", dir);
	setenv("SSL_CERT_FILE", text, 1);
	struct http *h = client();
	unsetenv("SSL_CERT_FILE");
	snprintf(text, sizeof text, "https://127.0.0.1:%u/%s", server_second_port(), name);
	*pin = (struct http_pin){ 0 };
	CU_ASSERT_EQUAL_FATAL(http_open(h, text, true, pin, &s, &err), 0);
	source_close(s);
	return h;
}

struct reader {
	pthread_t thread;
	struct http *h;
	const struct http_pin *pin;
	const char *name;
	unsigned reads, wrong;
	size_t n;
};

/* The file has server_data and then zeros. */
static bool right(const uint8_t *buf, uint64_t off, size_t n)
{
	bool same = true;
	for (size_t i = 0; i < n; i++)
		same &= buf[i] == (off + i < SERVER_DATA ? server_data[off + i] : 0);
	return same;
}

static void *read_some(void *arg)
{
	struct reader *x = arg;
	struct http_pin pin = *x->pin;
	struct source *s = NULL;
	struct error err = { 0 };
	char text[300];
	snprintf(text, sizeof text, "https://127.0.0.1:%u/%s", server_second_port(), x->name);
	if (http_open(x->h, text, false, &pin, &s, &err) != 0) {
		x->wrong++;
		return NULL;
	}
	for (unsigned i = 0; i < x->reads; i++) {
		uint64_t off = 1000 * (i + 1);
		uint8_t *buf = malloc(x->n);
		x->wrong += source_read(s, off, buf, x->n, &err) != 0 || !right(buf, off, x->n);
		free(buf);
	}
	source_close(s);
	return NULL;
}

/* Reads ranges of n bytes with so many threads at once. Returns the connections that the server saw, 0 when
 * one of the requests was not HTTP/2. */
static unsigned connections(const char *name, unsigned threads, unsigned reads, size_t n)
{
	struct reader x[16] = { 0 };
	struct http_pin pin;
	char path[300], version[20];
	unsigned seen[100], many = 0, id, lines = 0;
	bool other = false;
	snprintf(path, sizeof path, "%s/tls.log", dir);
	FILE *f = fopen(path, "w");
	if (f != NULL)
		fclose(f);
	struct http *h = tls_client(&pin, name);
	for (unsigned i = 0; i < threads; i++) {
		x[i] = (struct reader){ .h = h, .pin = &pin, .name = name, .reads = reads, .n = n };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&x[i].thread, NULL, read_some, &x[i]), 0);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(x[i].thread, NULL);
		CU_ASSERT_EQUAL(x[i].wrong, 0);
	}
	http_free(h);
	f = fopen(path, "r");
	while (f != NULL && fscanf(f, "%19s %u", version, &id) == 2) {
		unsigned i = 0;
		while (i < many && seen[i] != id)
			i++;
		if (i == many && many < 100)
			seen[many++] = id;
		other |= strcmp(version, "HTTP/2.0") != 0;
		lines++;
	}
	if (f != NULL)
		fclose(f);
	/* The server writes a line when it has sent the last byte, perhaps a little later. */
	CU_ASSERT(lines + threads > threads * reads);
	return other ? 0 : many;
}

/* Stands between a client and the server: passes on bytes, but none any more of the connections that were there when
 * it was told to hold them, which stay open. */
struct relay {
	pthread_t thread;
	int listener, from[8], to[8];
	unsigned port;
	atomic_uint n, held; /* connections; so many of the first are held */
	atomic_bool end;
};

static bool pass(int from, int to)
{
	char bytes[16384];
	ssize_t n = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
	return n < 0 || (n > 0 && send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n);
}

static void *relay_thread(void *arg)
{
	struct relay *x = arg;
	while (!atomic_load(&x->end)) {
		struct pollfd p = { .fd = x->listener, .events = POLLIN };
		struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)server_second_port()) };
		a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		for (unsigned i = atomic_load(&x->held); i < x->n; i++)
			if (!pass(x->from[i], x->to[i]) || !pass(x->to[i], x->from[i]))
				shutdown(x->from[i], SHUT_RDWR);
		if (poll(&p, 1, 1) != 1 || x->n == 8)
			continue;
		x->from[x->n] = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);
		x->to[x->n] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(x->to[x->n], (struct sockaddr *)&a, sizeof a) == 0)
			x->n++;
	}
	return NULL;
}

static void relay_start(struct relay *x)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof a;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	x->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(x->listener, (struct sockaddr *)&a, n), 0);
	CU_ASSERT_EQUAL_FATAL(listen(x->listener, 8), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(x->listener, (struct sockaddr *)&a, &n), 0);
	x->port = ntohs(a.sin_port);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&x->thread, NULL, relay_thread, x), 0);
}

static void relay_end(struct relay *x)
{
	atomic_store(&x->end, true);
	pthread_join(x->thread, NULL);
	close(x->listener);
	for (unsigned i = 0; i < x->n; i++) {
		close(x->from[i]);
		close(x->to[i]);
	}
}

/* A stream that is cut ends alone; the next one must not be given its dead connection. */
static void leaves_dead_connections(void)
{
	static struct relay x;
	struct http_options options = { .stall_timeout_ms = 400 };
	struct http_pin pin = { 0 };
	struct http *h = NULL;
	struct source *s = NULL;
	struct error err = { 0 };
	uint8_t buf[4000];
	char text[300];
	if (!tls) {
		unit_skip("openssl cannot make a certificate");
		return;
	}
	relay_start(&x);
	snprintf(text, sizeof text, "%s/cert", dir);
	setenv("SSL_CERT_FILE", text, 1);
	CU_ASSERT_EQUAL_FATAL(http_new(&options, &h, NULL), 0);
	unsetenv("SSL_CERT_FILE");
	snprintf(text, sizeof text, "https://127.0.0.1:%u/large.bin", x.port);
	CU_ASSERT_EQUAL_FATAL(http_open(h, text, true, &pin, &s, &err), 0);
	CU_ASSERT_EQUAL(source_read(s, 10, buf, sizeof buf, &err), 0);
	atomic_store(&x.held, 8);
	CU_ASSERT_EQUAL(source_read(s, 5000, buf, sizeof buf, &err), -ETIMEDOUT);
	CU_ASSERT(err.again);
	atomic_store(&x.held, x.n);
	CU_ASSERT_EQUAL(source_read(s, 5000, buf, sizeof buf, &err), 0);
	CU_ASSERT(right(buf, 5000, sizeof buf));
	source_close(s);
	http_free(h);
	relay_end(&x);
}

static void shares_a_connection(void)
{
	if (!tls) {
		unit_skip("openssl cannot make a certificate");
		return;
	}
	CU_ASSERT_EQUAL(connections("large.bin", 8, 20, 4000), 1);
	CU_ASSERT_EQUAL(connections("large.bin", 2, 1, 1 << 20), 1);
}

static void spreads_large_ranges(void)
{
	if (!tls) {
		unit_skip("openssl cannot make a certificate");
		return;
	}
	/* Two on a connection at most, of those that are under way at once: 3 to 6. */
	CU_ASSERT(connections("slow/large.bin", 6, 1, 1 << 20) >= 3);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "reads ranges", reads_ranges },
		{ "reads empty files", reads_empty_files },
		{ "sees a file change", sees_a_change },
		{ "works without ranges", works_without_ranges },
		{ "follows a redirect", follows_a_redirect },
		{ "trusts no certificate that nobody vouches for", trusts_no_stranger },
		{ "reads over TLS and HTTP/2 from whom it is told to trust", trusts_whom_it_is_told },
		{ "leaves a dead HTTP/2 connection", leaves_dead_connections },
		{ "shares an HTTP/2 connection", shares_a_connection },
		{ "spreads large ranges over connections", spreads_large_ranges },
		CU_TEST_INFO_NULL,
	};
	char command[1000], more[1000] = "";
	int r = 0;
	dir = server_folder();
	server_put("large.bin", server_data, SERVER_DATA, 4 << 20);
	snprintf(command, sizeof command,
		 "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
		 "-addext subjectAltName=IP:127.0.0.1 -keyout %s/key -out %s/cert >%s/openssl 2>&1",
		 dir, dir, dir);
	tls = system(command) == 0;
	if (tls)
		snprintf(more, sizeof more,
			 "log_format tls '$server_protocol $connection';\n"
			 "server { listen 127.0.0.1:%%u ssl http2; ssl_certificate %s/cert;\n"
			 "ssl_certificate_key %s/key; root %s; access_log %s/tls.log tls;\n"
			 "location /slow/ { alias %s/; limit_rate 2m; } }\n", dir, dir, dir, dir, dir);
	if (server_start_nginx(more))
		r = unit_main("nginx", tests);
	else
		puts("1..0 # SKIP nginx cannot be started");
	server_end();
	return r;
}
