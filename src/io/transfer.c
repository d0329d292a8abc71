#define _GNU_SOURCE
#include "io/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/log.h"
#include "io/hop.h"
#include "io/redirect.h"
#include "io/url.h"

#define HOPS 5
#define KEEP_MS 300000   /* a redirect that does not say how long it is good */
#define KEEP_MARGIN_S 30 /* a signed URL is not used so shortly before its end */

static void global_init(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool is_stopped(const void *arg)
{
	return stopped(arg);
}

int transfers_new(const struct http_options *options, struct transfers **out, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_condattr_t attributes;
	struct transfers *t = calloc(1, sizeof *t);
	if (t == NULL)
		return fail(err, ENOMEM, "out of memory for an HTTP client");
	pthread_once(&once, global_init);
	t->connect_ms = options->connect_timeout_ms != 0 ? options->connect_timeout_ms : 10000;
	t->stall_ms = options->stall_timeout_ms != 0 ? options->stall_timeout_ms : 15000;
	t->connections = options->connections != 0 ? options->connections : 16;
	t->stop[0] = options->stop;
	t->stop[1] = options->stop_too;
	t->accesses = accesses_new();
	t->redirects = redirects_new();
	pace_init(&t->pace);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&t->freed, &attributes);
	pthread_condattr_destroy(&attributes);
	const char *authorities = getenv("SSL_CERT_FILE");
	bool given = authorities != NULL && authorities[0] != '\0';
	t->authorities = given ? strdup(authorities) : NULL;
	int r = loop_new(t->connections, is_stopped, t, &t->loop, err);
	if (r == 0 && (t->accesses == NULL || t->redirects == NULL || (given && t->authorities == NULL)))
		r = fail(err, ENOMEM, "out of memory for an HTTP client");
	if (r == 0)
		*out = t;
	else
		transfers_free(t);
	return r;
}

int transfers_access(struct transfers *t, const struct http_access *a, struct error *err)
{
	return accesses_add(t->accesses, a, err);
}

int transfers_pause(struct transfers *t, unsigned ms)
{
	int64_t until = loop_now_ms() + ms;
	for (int64_t left = ms; left > 0 && !stopped(t); left = until - loop_now_ms())
		nanosleep(&(struct timespec){ .tv_nsec = (long)(left < POLL_MS ? left : POLL_MS) * 1000000L }, NULL);
	return stopped(t) ? -EINTR : 0;
}

static void slot_free(struct slot *s)
{
	curl_easy_cleanup(s->easy);
	free(s);
}

void transfers_free(struct transfers *t)
{
	if (t == NULL)
		return;
	loop_free(t->loop);
	while (t->idle != NULL) {
		struct slot *s = t->idle;
		t->idle = s->next;
		slot_free(s);
	}
	free(t->authorities);
	accesses_free(t->accesses);
	redirects_free(t->redirects);
	pace_destroy(&t->pace);
	pthread_cond_destroy(&t->freed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void transfers_count(struct transfers *t, struct http_counters *out)
{
	out->requests = atomic_load(&t->requests);
	out->bytes = atomic_load(&t->bytes);
}

static struct slot *slot_make(void)
{
	struct slot *s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	s->easy = curl_easy_init();
	if (s->easy != NULL)
		return s;
	slot_free(s);
	return NULL;
}

/* A slot for this thread alone; waits while all are taken. */
static int slot_take(struct transfers *t, struct slot **out, struct error *err)
{
	struct slot *s = NULL;
	bool make = false;
	pthread_mutex_lock(&t->lock);
	while (!stopped(t) && t->idle == NULL && t->made == t->connections) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += POLL_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&t->freed, &t->lock, &until);
	}
	if (!stopped(t)) {
		s = t->idle;
		make = s == NULL;
		if (make)
			t->made++;
		else
			t->idle = s->next;
	}
	pthread_mutex_unlock(&t->lock);
	if (make) {
		s = slot_make();
		if (s == NULL) {
			pthread_mutex_lock(&t->lock);
			t->made--;
			pthread_cond_signal(&t->freed);
			pthread_mutex_unlock(&t->lock);
			return fail(err, ENOMEM, "out of memory for an HTTP connection");
		}
	}
	*out = s;
	return s != NULL ? 0 : -EINTR;
}

static void slot_give(struct transfers *t, struct slot *s)
{
	pthread_mutex_lock(&t->lock);
	s->next = t->idle;
	t->idle = s;
	pthread_cond_signal(&t->freed);
	pthread_mutex_unlock(&t->lock);
}

static int follow(const struct request *q, const char *from, const char *to, struct error *err)
{
	if (!url_is_http(to))
		return fail(err, EIO, "%s: redirects to something that is neither http nor https", q->name);
	if (url_is_https(from) && !url_is_https(to))
		return fail(err, EIO, "%s: redirects from https to http, which protects nothing", q->name);
	return 0;
}

/* Keeps where a request was led to, if the file is there. */
static void keep(struct transfers *t, const struct request *q, const char *to, const struct answer *answer)
{
	int64_t now = answer->date != 0 ? answer->date : (int64_t)time(NULL);
	int64_t seconds = redirect_lifetime(to, now), ms = KEEP_MS;
	if (seconds >= 0)
		ms = (seconds - KEEP_MARGIN_S) * 1000;
	if (answer->status < 300 && ms > 0)
		redirects_keep(t->redirects, q->url, to, answer->etag, loop_now_ms() + ms);
}

static int run_hops(struct slot *s, struct transfers *t, const struct request *q, struct answer *answer,
		    unsigned *hops, struct error *err)
{
	char *url = NULL;
	int r = 0;
	for (unsigned n = 0; r == 0; n++) {
		struct answer before = *answer;
		struct run run = { .t = t, .q = q, .err = err, .before = n > 0 ? &before : NULL };
		const char *from = url != NULL ? url : q->url;
		char *to = NULL;
		r = hop(s, &run, from, n > 0 || !q->redirects ? q->if_match : NULL, &to);
		*answer = run.answer;
		*hops = n;
		if (r == 0 && to == NULL)
			break;
		if (r == 0)
			r = n == HOPS ? fail(err, EIO, "%s: more than %d redirects", q->name, HOPS) :
					follow(q, from, to, err);
		free(url);
		url = to;
	}
	if (r == 0 && q->keep && url != NULL)
		keep(t, q, url, answer);
	free(url);
	return r;
}

/* Whether an answer from behind a kept redirect says that one should ask anew where it leads to. */
static bool is_over(int r, const struct answer *a, const char *further)
{
	unsigned status = a->status;
	return r == -ESTALE || (r == 0 && (further != NULL || status == 400 || status == 401 || status == 403 ||
					   status == 404 || status == 410 || status == 412));
}

static int run_request(struct slot *s, struct transfers *t, const struct request *q, struct answer *answer,
		       unsigned *hops, struct error *err)
{
	char etag[ANSWER_ETAG] = "", *further = NULL;
	char *to = q->keep && !q->fresh ? redirects_find(t->redirects, q->url, loop_now_ms(), etag) : NULL;
	if (to == NULL)
		return run_hops(s, t, q, answer, hops, err);
	struct run run = { .t = t, .q = q, .err = err, .etag = etag };
	int r = hop(s, &run, to, q->if_match, &further);
	bool over = is_over(r, &run.answer, further);
	*answer = run.answer;
	*hops = 1;
	free(further);
	free(to);
	if (over || (r != 0 && r != -EINTR))
		redirects_drop(t->redirects, q->url);
	return over ? run_hops(s, t, q, answer, hops, err) : r;
}

int transfer_run(struct transfers *t, const struct request *q, struct answer *answer, unsigned *hops,
		 struct error *err)
{
	struct slot *s = NULL;
	unsigned unused;
	int r = slot_take(t, &s, err);
	if (r == -EINTR)
		return fail(err, EINTR, "%s (bytes %s): stopped", q->name, range_of(q));
	if (r != 0)
		return r;
	*answer = (struct answer){ 0 };
	int64_t from = loop_now_ms();
	r = run_request(s, t, q, answer, hops != NULL ? hops : &unused, err);
	log_debug("GET %s (bytes %s): status %u, %s, %" PRId64 " ms", q->name, range_of(q), answer->status,
		  r == 0 ? "whole" : errno_name(-r), loop_now_ms() - from);
	slot_give(t, s);
	return r;
}
