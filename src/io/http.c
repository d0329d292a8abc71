#include "io/http.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "io/transfer.h"
#include "io/url.h"

#define DOUBTS 64

struct http {
	struct transfers *transfers;
	pthread_mutex_t lock;
	uint64_t doubts[DOUBTS]; /* hashes of URLs whose next request is to take another way; 0: none */
	size_t doubt;            /* the next place */
};

/* A part of a file in memory. Never changes once others can see it. */
struct window {
	uint64_t first;
	struct buffer bytes;
};

struct http_source {
	struct source source;
	struct http *http;
	struct http_pin pin;
	struct window head;              /* what opening it brought */
	_Atomic(struct window *) whole;  /* what a server without ranges brought later */
	atomic_bool redirects;
	char *url, *name;
};

/* One question about a file, and what came. */
struct ask {
	const char *name;
	char range[48];
	const struct http_pin *pin; /* NULL: the file is not known yet */
	bool tail;
	uint64_t first, n;          /* wanted; without a pin n is a bound */
	uint8_t *to;                /* room for n bytes */
	uint64_t size;              /* of the file, as the answer says */
	struct buffer whole;        /* the whole file, where the server answers so */
	bool is_whole;
};

int http_new(const struct http_options *options, struct http **out, struct error *err)
{
	struct http *h = calloc(1, sizeof *h);
	if (h == NULL)
		return fail(err, ENOMEM, "out of memory for an HTTP client");
	int r = transfers_new(options, &h->transfers, err);
	if (r != 0) {
		free(h);
		return r;
	}
	pthread_mutex_init(&h->lock, NULL);
	*out = h;
	return 0;
}

void http_free(struct http *h)
{
	if (h == NULL)
		return;
	transfers_free(h->transfers);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

int http_access(struct http *h, const struct http_access *a, struct error *err)
{
	return transfers_access(h->transfers, a, err);
}

int http_pause(struct http *h, unsigned ms)
{
	return transfers_pause(h->transfers, ms);
}

/* FNV-1a; never 0. Two URLs with one hash would cost a connection. */
static uint64_t hash_url(const char *url)
{
	uint64_t x = 0xcbf29ce484222325u;
	for (; *url != '\0'; url++)
		x = (x ^ (uint8_t)*url) * 0x100000001b3u;
	return x != 0 ? x : 1;
}

/* Whether a URL was doubted since it was last asked for. */
static bool doubted(struct http *h, const char *url)
{
	uint64_t x = hash_url(url);
	bool found = false;
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < DOUBTS; i++)
		if (h->doubts[i] == x) {
			h->doubts[i] = 0;
			found = true;
		}
	pthread_mutex_unlock(&h->lock);
	return found;
}

void http_counters(struct http *h, struct http_counters *out)
{
	transfers_count(h->transfers, out);
}

/* The name of a URL for messages, once it is known to be one. */
static int named(const char *url, char **name, struct error *err)
{
	if (strlen(url) > URL_MAX)
		return fail(err, EINVAL, "a URL of %zu bytes, at most %d are expected", strlen(url), URL_MAX);
	*name = url_plain(url);
	if (*name == NULL)
		return fail(err, ENOMEM, "out of memory for a URL");
	return url_is_http(url) ? 0 : fail(err, EINVAL, "%s: is not an http or https URL", *name);
}

/* A file of the Hub: the hop that knows what it is says so. */
static int same_linked(const struct ask *ask, const struct answer *a, struct error *err)
{
	const char *etag = a->linked_etag[0] != '\0' ? a->linked_etag :
			   a->commit[0] != '\0' && !a->led ? a->etag : "";
	if (etag[0] == '\0' || ask->pin->etag[0] == '\0' || etag_same(etag, ask->pin->etag))
		return 0;
	return fail(err, ESTALE, "%s: has the ETag %s now, it had %s when it was pinned", ask->name, etag,
		    ask->pin->etag);
}

static int same_file(const struct ask *ask, const struct answer *a, uint64_t size, struct error *err)
{
	const struct http_pin *pin = ask->pin;
	if (pin == NULL)
		return 0;
	if (size != pin->size)
		return fail(err, ESTALE,
			    "%s: has %" PRIu64 " bytes now, it had %" PRIu64 " when it was pinned",
			    ask->name, size, pin->size);
	if (pin->linked)
		return same_linked(ask, a, err);
	if (pin->etag[0] == '\0')
		return 0;
	if (a->etag[0] == '\0')
		return again(err, fail(err, EIO, "%s (bytes %s): the answer has no ETag, %s is expected",
				       ask->name, ask->range, pin->etag));
	if (!etag_same(a->etag, pin->etag))
		return fail(err, ESTALE, "%s: has the ETag %s now, it had %s when it was pinned", ask->name,
			    a->etag, pin->etag);
	return 0;
}

/* 206: the answer must be exactly what was asked for. */
static int accept_part(struct ask *ask, const struct answer *a, struct sink *sink, struct error *err)
{
	if (a->malformed || !a->has_range)
		return again(err, fail(err, EIO,
				       "%s (bytes %s): status 206 without a Content-Range that can be read",
				       ask->name, ask->range));
	if (!a->has_total)
		return fail(err, ENOTSUP, "%s (bytes %s): the server does not say how long the file is",
			    ask->name, ask->range);
	int r = same_file(ask, a, a->total, err);
	if (r != 0)
		return r;
	uint64_t n = min_u64(ask->n, a->total);
	uint64_t first = ask->tail ? a->total - n : ask->first;
	if (a->first != first || a->last != first + n - 1 || (a->has_length && a->length != n))
		return again(err, fail(err, EIO,
				       "%s (bytes %s): the answer has bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64
				       " in a body of %" PRIu64, ask->name, ask->range, a->first, a->last,
				       a->total, a->has_length ? a->length : n));
	ask->first = first;
	ask->n = n;
	ask->size = a->total;
	*sink = (struct sink){ .to = ask->to, .n = n };
	return 0;
}

/* 200: the whole file, which is as good when it is small. */
static int accept_whole(struct ask *ask, const struct answer *a, struct sink *sink, struct error *err)
{
	if (!a->framed)
		return fail(err, ENOTSUP,
			    "%s: the server answers with the whole file and does not say how long it is",
			    ask->name);
	int r = same_file(ask, a, a->has_length || ask->pin == NULL ? a->length : ask->pin->size, err);
	if (r != 0)
		return r;
	if (a->has_length && a->length > HTTP_WHOLE)
		return fail(err, ENOTSUP, "%s: the server has no ranges, and the file of %" PRIu64
			    " bytes is larger than the %u that are read whole", ask->name, a->length,
			    HTTP_WHOLE);
	ask->is_whole = true;
	*sink = (struct sink){ .grow = &ask->whole, .limit = HTTP_WHOLE };
	return 0;
}

static int accept_file(void *arg, const struct answer *a, struct sink *sink, struct error *err)
{
	struct ask *ask = arg;
	if (a->encoded)
		return fail(err, ENOTSUP,
			    "%s (bytes %s): the answer has a Content-Encoding, identity is expected",
			    ask->name, ask->range);
	if (a->status == 206)
		return accept_part(ask, a, sink, err);
	if (a->status == 200)
		return accept_whole(ask, a, sink, err);
	return fail(err, EIO, "%s (bytes %s): status %u, 206 is expected", ask->name, ask->range, a->status);
}

/* An answer of 300 and more, as an error. */
static int refused(const char *name, const char *range, const struct answer *a, struct error *err)
{
	unsigned status = a->status;
	bool wait = status == 408 || status == 425 || status == 429 || status >= 500;
	int code = EIO;
	if (status == 404 || status == 410)
		code = ENOENT;
	else if (status == 401 || status == 403 || status == 407)
		code = EACCES;
	else if (status == 412)
		code = ESTALE;
	int r = fail(err, code, "%s (bytes %s): status %u%s%s", name, range, status,
		     a->message[0] != '\0' ? ", " : "", a->message);
	if (wait && err != NULL) {
		err->again = true;
		err->wait_ms = answer_wait_ms(a, (int64_t)time(NULL));
	}
	return r;
}

/* 416: past the end of the file that is there now. */
static int past_end(struct ask *ask, const struct answer *a, struct error *err)
{
	bool known = a->has_total && !a->has_range && !a->malformed;
	if (known && a->total == 0 && ask->pin == NULL) {
		ask->is_whole = true;
		return 0;
	}
	if (known && ask->pin != NULL && a->total != ask->pin->size)
		return same_file(ask, a, a->total, err);
	return again(err, fail(err, EIO, "%s (bytes %s): status 416 to a range that the file should have",
			       ask->name, ask->range));
}

static int ask_server(struct http_source *s, struct ask *ask, struct answer *a, struct error *err)
{
	const struct http_pin *pin = ask->pin;
	const char *etag = pin != NULL && !pin->linked && etag_strong(pin->etag) ? pin->etag : NULL;
	unsigned hops = 0;
	struct request q = {
		.url = s->url,
		.name = s->name,
		.range = ask->range,
		.if_match = etag,
		.redirects = atomic_load(&s->redirects),
		.keep = true,
		.fresh = doubted(s->http, s->url),
		.expect = ask->n,
		.accept = accept_file,
		.arg = ask,
	};
	ask->name = s->name;
	int r = transfer_run(s->http->transfers, &q, a, &hops, err);
	if (hops > 0)
		atomic_store(&s->redirects, true);
	if (r == 0 && a->status == 416)
		r = past_end(ask, a, err);
	else if (r == 0 && a->status >= 300)
		r = refused(s->name, ask->range, a, err);
	if (r == 0 && ask->is_whole) {
		ask->size = ask->whole.n;
		r = same_file(ask, a, ask->size, err);
	}
	return r;
}

static bool window_read(const struct window *w, uint64_t off, void *buf, size_t n)
{
	if (off < w->first || off - w->first > w->bytes.n || n > w->bytes.n - (off - w->first))
		return false;
	memcpy(buf, w->bytes.at + (off - w->first), n);
	return true;
}

static bool kept_read(struct http_source *s, uint64_t off, void *buf, size_t n)
{
	const struct window *whole = atomic_load(&s->whole);
	return window_read(&s->head, off, buf, n) || (whole != NULL && window_read(whole, off, buf, n));
}

/* Keeps a whole file that came instead of a range; the bytes are the source's from here on. */
static void keep_whole(struct http_source *s, struct buffer *bytes)
{
	struct window *w = malloc(sizeof *w), *none = NULL;
	if (w != NULL) {
		*w = (struct window){ .bytes = *bytes };
		if (atomic_compare_exchange_strong(&s->whole, &none, w))
			return;
	}
	buffer_free(bytes);
	free(w);
}

static int http_read(struct source *source, uint64_t off, void *buf, size_t n, struct error *err)
{
	struct http_source *s = (struct http_source *)source;
	struct ask ask = { .pin = &s->pin, .first = off, .n = n, .to = buf };
	struct answer answer;
	if (kept_read(s, off, buf, n))
		return 0;
	snprintf(ask.range, sizeof ask.range, "%" PRIu64 "-%" PRIu64, off, off + n - 1);
	int r = ask_server(s, &ask, &answer, err);
	if (r == 0 && ask.is_whole) {
		memcpy(buf, ask.whole.at + off, n);
		keep_whole(s, &ask.whole);
	} else {
		buffer_free(&ask.whole);
	}
	return r;
}

static int http_read_now(struct source *source, uint64_t off, void *buf, size_t n)
{
	return kept_read((struct http_source *)source, off, buf, n) ? 0 : -EAGAIN;
}

static void http_doubt(struct source *source)
{
	struct http_source *s = (struct http_source *)source;
	struct http *h = s->http;
	pthread_mutex_lock(&h->lock);
	h->doubts[h->doubt++ % DOUBTS] = hash_url(s->url);
	pthread_mutex_unlock(&h->lock);
}

static void http_close(struct source *source)
{
	struct http_source *s = (struct http_source *)source;
	struct window *whole = atomic_load(&s->whole);
	if (whole != NULL)
		buffer_free(&whole->bytes);
	free(whole);
	buffer_free(&s->head.bytes);
	free(s->url);
	free(s->name);
	free(s);
}

/* Asks for the first or the last bytes of a file that nothing is known of. */
static int look(struct http_source *s, bool tail, struct error *err)
{
	struct ask ask = { .tail = tail, .n = HTTP_WINDOW };
	struct answer answer;
	int r = buffer_reserve(&s->head.bytes, HTTP_WINDOW, 0, err);
	if (r != 0)
		return r;
	ask.to = s->head.bytes.at;
	if (tail)
		snprintf(ask.range, sizeof ask.range, "-%u", HTTP_WINDOW);
	else
		snprintf(ask.range, sizeof ask.range, "0-%u", HTTP_WINDOW - 1);
	r = ask_server(s, &ask, &answer, err);
	if (r != 0) {
		buffer_free(&ask.whole);
		return r;
	}
	if (ask.is_whole) {
		buffer_free(&s->head.bytes);
		s->head.bytes = ask.whole;
	} else {
		s->head.bytes.n = (size_t)ask.n;
		s->head.first = ask.first;
	}
	s->pin = (struct http_pin){ .size = ask.size, .mtime = answer.mtime };
	_Static_assert(sizeof s->pin.etag == sizeof answer.etag, "a pin holds any ETag that is taken");
	memcpy(s->pin.etag, answer.etag, sizeof answer.etag);
	return 0;
}

int http_open(struct http *h, const char *url, bool tail, struct http_pin *pin, struct source **out,
	      struct error *err)
{
	static const struct source_ops ops = {
		.read_at = http_read,
		.read_now = http_read_now,
		.doubt = http_doubt,
		.close = http_close,
	};
	struct http_source *s = calloc(1, sizeof *s);
	if (s == NULL)
		return fail(err, ENOMEM, "out of memory for a URL");
	s->http = h;
	int r = named(url, &s->name, err);
	if (r == 0 && (s->url = strdup(url)) == NULL)
		r = fail(err, ENOMEM, "out of memory for a URL");
	if (r == 0 && pin->size != 0)
		s->pin = *pin;
	else if (r == 0)
		r = look(s, tail, err);
	/* Not every server with ranges knows those from the end. */
	if (r == -ENOTSUP && tail && pin->size == 0)
		r = look(s, false, err);
	if (r != 0) {
		http_close(&s->source);
		return r;
	}
	*pin = s->pin;
	s->source = (struct source){ .ops = &ops, .size = s->pin.size, .name = s->name };
	*out = &s->source;
	return 0;
}

/* A small resource. */
struct get {
	const char *name;
	struct buffer body;
	size_t limit;
};

static int accept_small(void *arg, const struct answer *a, struct sink *sink, struct error *err)
{
	struct get *get = arg;
	if (a->encoded)
		return fail(err, ENOTSUP, "%s: the answer has a Content-Encoding, identity is expected",
			    get->name);
	if (a->status != 200)
		return fail(err, EIO, "%s: status %u, 200 is expected", get->name, a->status);
	if (!a->framed)
		return fail(err, ENOTSUP, "%s: the server does not say how long the answer is", get->name);
	if (a->has_length && a->length > get->limit)
		return fail(err, ENOTSUP, "%s: has %" PRIu64 " bytes, at most %zu are expected", get->name,
			    a->length, get->limit);
	*sink = (struct sink){ .grow = &get->body, .limit = get->limit };
	return 0;
}

static int get(struct http *h, const char *url, size_t limit, struct http_page *out, struct error *err)
{
	struct get get = { .limit = limit };
	struct answer answer = { 0 };
	char *name = NULL;
	int r = named(url, &name, err);
	if (r != 0) {
		free(name);
		return r;
	}
	struct request q = {
		.url = url, .name = name, .next = &out->next, .expect = limit, .accept = accept_small, .arg = &get
	};
	get.name = name;
	r = transfer_run(h->transfers, &q, &answer, NULL, err);
	memcpy(out->region, answer.region, sizeof out->region);
	if (r == 0 && answer.status >= 300)
		r = refused(name, "all", &answer, err);
	if (r == 0)
		r = buffer_reserve(&get.body, 1, 0, err);
	if (r == 0) {
		get.body.at[get.body.n] = '\0';
		out->body = (char *)get.body.at;
		out->n = get.body.n;
	} else {
		buffer_free(&get.body);
	}
	free(name);
	return r;
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int http_page(struct http *h, const char *url, size_t limit, unsigned patience_s, struct http_page *out,
	      struct error *err)
{
	int64_t until = now_ms() + (int64_t)patience_s * 1000;
	struct error local;
	if (err == NULL)
		err = &local;
	for (unsigned wait = 200;; wait = (unsigned)min_u64(2 * wait, 5000)) {
		*out = (struct http_page){ 0 };
		int r = get(h, url, limit, out, err);
		if (r == 0 || !err->again)
			return r;
		int64_t left = until - now_ms();
		if (left <= 0 || err->wait_ms > left)
			return r;
		unsigned pause = (unsigned)min_u64((uint64_t)left, err->wait_ms > wait ? err->wait_ms : wait);
		http_page_free(out);
		if (http_pause(h, pause) != 0)
			return fail(err, EINTR, "%s", "stopped while a list of files was fetched");
	}
}

void http_page_free(struct http_page *p)
{
	free(p->body);
	free(p->next);
	*p = (struct http_page){ 0 };
}
