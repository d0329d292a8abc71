#define _GNU_SOURCE
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "io/hop.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "io/link.h"
#include "io/url.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

#define HEADER_MAX (64u << 10)  /* all header lines of one hop, interim answers included */
#define DROPPED_MAX (64u << 10) /* of the body of an answer that is not wanted, to keep its connection */
#define SLOW 1024               /* bytes a second, below which an attempt is stalled */
#define SLOWEST 4096            /* bytes a second over all of it, of which the total time-out is made */
#define TOTAL_MAX_MS 600000
/* The streams of one connection share its window and its losses. So a large range takes a connection with
 * few streams, or a new one at once; all else takes any, and waits for the first to be made. */
#define LARGE (256u << 10)
#define LARGE_SHARE 2
#define SMALL_SHARE 32
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* What an earlier hop said of the file. */
static void carry(struct answer *to, const struct answer *from)
{
	if (to->linked_etag[0] == '\0')
		memcpy(to->linked_etag, from->linked_etag, sizeof to->linked_etag);
	if (to->commit[0] == '\0')
		memcpy(to->commit, from->commit, sizeof to->commit);
}

static void next_page(const struct request *q, const char *line, size_t n)
{
	struct span value = span_of(line, n), url;
	if (q->next == NULL || *q->next != NULL || n < 5 || strncasecmp(line, "link:", 5) != 0)
		return;
	span_skip(&value, 5);
	if (link_next(value, &url) && url.n <= URL_MAX)
		*q->next = strndup((const char *)url.at, url.n);
}

static int look_at(struct run *run)
{
	const struct answer *a = &run->answer;
	if (run->before != NULL)
		carry(&run->answer, run->before);
	run->answer.led = run->before != NULL || run->etag != NULL;
	if (a->status >= 300)
		return 0;
	if (run->etag != NULL && run->etag[0] != '\0' && a->etag[0] != '\0' && !etag_same(run->etag, a->etag))
		return fail(run->err, ESTALE, "%s: has the ETag %s now, it had %s", run->q->name, a->etag,
			    run->etag);
	return run->q->accept(run->q->arg, a, &run->sink, run->err);
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
	struct run *run = arg;
	const struct request *q = run->q;
	(void)one;
	/* Trailers may not change what was decided. */
	if (run->decided)
		return n;
	run->header += n;
	if (run->header > HEADER_MAX) {
		run->code = again(run->err, fail(run->err, EIO,
						 "%s (bytes %s): the header has more than %u bytes",
						 q->name, range_of(q), HEADER_MAX));
		return 0;
	}
	next_page(q, line, n);
	if (!answer_line(&run->answer, span_of(line, n)) || run->answer.status < 200)
		return n;
	run->decided = true;
	run->code = look_at(run);
	return run->code == 0 ? n : 0;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *arg)
{
	struct run *run = arg;
	struct sink *sink = &run->sink;
	(void)one;
	atomic_fetch_add(&run->t->bytes, n);
	if (!run->decided || run->answer.status >= 300) {
		run->got += n;
		return run->got > DROPPED_MAX ? 0 : n;
	}
	if (sink->grow != NULL) {
		run->code = buffer_add(sink->grow, bytes, n, sink->limit, run->err);
		if (run->code != 0)
			fail_in(run->err, "%s (bytes %s): the body is too long", run->q->name,
				range_of(run->q));
	} else if (n > sink->n - run->got) {
		run->code = again(run->err, fail(run->err, EIO,
						 "%s (bytes %s): the body has more than the %" PRIu64
						 " bytes that were asked for", run->q->name,
						 range_of(run->q), sink->n));
	} else {
		memcpy(sink->to + run->got, bytes, n);
	}
	run->got += n;
	return run->code == 0 ? n : 0;
}

static long total_ms(const struct run *run)
{
	uint64_t ms = (uint64_t)run->t->connect_ms + run->t->stall_ms;
	if (!add_u64(ms, run->q->expect / SLOWEST * 1000, &ms))
		return TOTAL_MAX_MS;
	return (long)min_u64(ms, TOTAL_MAX_MS);
}

/* The handle is made anew for each hop, so that nothing of one request can be in another. */
static int prepare(struct slot *s, struct run *run, const char *url, const struct http_access *access,
		   struct curl_slist *header, char *text)
{
	CURL *e = s->easy;
	long bad = 0;
	char sign[ANSWER_REGION + 16];
	curl_easy_reset(e);
	if (access != NULL && access->key != NULL) {
		snprintf(sign, sizeof sign, "aws:amz:%.*s:s3", ANSWER_REGION, access->region);
		bad |= (long)curl_easy_setopt(e, CURLOPT_AWS_SIGV4, sign);
		bad |= (long)curl_easy_setopt(e, CURLOPT_USERNAME, access->key);
		bad |= (long)curl_easy_setopt(e, CURLOPT_PASSWORD, access->secret);
	}
	bad |= (long)curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, run->q->fresh ? 1L : 0L);
	if (!run->large && url_is_https(url))
		bad |= (long)curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
	bad |= (long)curl_easy_setopt(e, CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
	bad |= (long)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	bad |= (long)curl_easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Else a stop would wait for the resolver. */
	bad |= (long)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
	bad |= (long)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	bad |= (long)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	bad |= (long)curl_easy_setopt(e, CURLOPT_USERAGENT, "finewebfs/" PACKAGE_VERSION);
	bad |= (long)curl_easy_setopt(e, CURLOPT_HTTPHEADER, header);
	bad |= (long)curl_easy_setopt(e, CURLOPT_RANGE, run->q->range);
	/* The bytes of the file are wanted as they are, whatever the server calls them. */
	bad |= (long)curl_easy_setopt(e, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	bad |= (long)curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	bad |= (long)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)run->t->connect_ms);
	bad |= (long)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, total_ms(run));
	if (run->t->authorities != NULL)
		bad |= (long)curl_easy_setopt(e, CURLOPT_CAINFO, run->t->authorities);
	bad |= (long)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, text);
	bad |= (long)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	bad |= (long)curl_easy_setopt(e, CURLOPT_HEADERDATA, run);
	bad |= (long)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	bad |= (long)curl_easy_setopt(e, CURLOPT_WRITEDATA, run);
	/* Only a hint: a handle whose last transfer failed may refuse to change it. */
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 256L << 10);
	if (bad == 0)
		return 0;
	return fail(run->err, ENOMEM, "%s: libcurl cannot be set up", run->q->name);
}

/* Less than SLOW bytes a second over the stall time-out. Connecting has its own limit. */
static bool stalled(void *arg)
{
	struct run *run = arg;
	int64_t now = loop_now_ms(), past = now - run->mark_ms;
	uint64_t seen = run->got + run->header - run->seen_at_mark;
	curl_off_t sent_us = 0;
	if (past < run->t->stall_ms)
		return false;
	curl_easy_getinfo(run->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
	if (sent_us > 0 && seen < (uint64_t)past * SLOW / 1000)
		return true;
	run->mark_ms = now;
	run->seen_at_mark += seen;
	return false;
}

/* Has one hop driven to its end. *result is libcurl's word on it when 0 is returned. */
static int drive(struct slot *s, struct run *run, CURLcode *result)
{
	const struct request *q = run->q;
	struct loop_job job = {
		.easy = s->easy, .share = run->large ? LARGE_SHARE : SMALL_SHARE, .cut = stalled, .arg = run
	};
	run->easy = s->easy;
	run->mark_ms = loop_now_ms();
	int r = loop_run(run->t->loop, &job, run->err);
	if (r != 0)
		return r;
	*result = job.code;
	switch (job.end) {
	case LOOP_DONE:
		return 0;
	case LOOP_CUT:
		return again(run->err, fail(run->err, ETIMEDOUT,
					    "%s (bytes %s): less than %d bytes a second for"
					    " %u ms, after %" PRIu64 " bytes", q->name, range_of(q), SLOW,
					    run->t->stall_ms, run->got));
	case LOOP_STOPPED:
		return fail(run->err, EINTR, "%s (bytes %s): stopped", q->name, range_of(q));
	default:
		return fail(run->err, ENOMEM, "%s (bytes %s): %s", q->name, range_of(q),
			    curl_easy_strerror(job.code));
	}
}

/* libcurl's error as ours. */
static int refused(struct run *run, CURLcode code, const char *text)
{
	const struct request *q = run->q;
	int to = EIO;
	bool may_help = true;
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		to = ETIMEDOUT;
		break;
	case CURLE_OUT_OF_MEMORY:
		to = ENOMEM;
		may_help = false;
		break;
	case CURLE_URL_MALFORMAT:
		to = EINVAL;
		may_help = false;
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ISSUER_ERROR:
		may_help = false;
		break;
	default:
		break;
	}
	int r = fail(run->err, to, "%s (bytes %s): %s, after %" PRIu64 " bytes", q->name, range_of(q),
		     text[0] != '\0' ? text : curl_easy_strerror(code), run->got);
	return may_help ? again(run->err, r) : r;
}

static int conclude(struct run *run, CURLcode code, const char *text)
{
	const struct request *q = run->q;
	if (run->code != 0)
		return run->code;
	/* A refusal counts even when its page does not arrive. */
	if (run->answer.status >= 300 && run->decided)
		return 0;
	if (code != CURLE_OK)
		return refused(run, code, text);
	if (!run->decided)
		return again(run->err, fail(run->err, EIO, "%s (bytes %s): the answer has no status", q->name,
					    range_of(q)));
	if (run->sink.grow == NULL && run->got != run->sink.n)
		return again(run->err, fail(run->err, EIO,
					    "%s (bytes %s): the body ends after %" PRIu64 " of %" PRIu64
					    " bytes", q->name, range_of(q), run->got, run->sink.n));
	return 0;
}

/* Adds "name: value" to a list; frees it when there is no memory. */
static struct curl_slist *add_field(struct curl_slist *list, const char *name, const char *value)
{
	struct buffer line = { 0 };
	struct curl_slist *more = NULL;
	if (list == NULL || value == NULL)
		return list;
	if (buffer_printf(&line, "%s: %s", name, value) == 0) {
		more = curl_slist_append(list, (const char *)line.at);
		explicit_bzero(line.at, line.n);
	}
	buffer_free(&line);
	if (more == NULL)
		curl_slist_free_all(list);
	return more;
}

static struct curl_slist *fields_of(const char *if_match, const struct http_access *access)
{
	struct curl_slist *list = curl_slist_append(NULL, "Accept-Encoding: identity");
	list = add_field(list, "If-Match", if_match);
	if (access != NULL && access->bearer != NULL && list != NULL) {
		struct buffer value = { 0 };
		if (buffer_printf(&value, "Bearer %s", access->bearer) == 0) {
			list = add_field(list, "Authorization", (const char *)value.at);
			explicit_bzero(value.at, value.n);
		} else {
			curl_slist_free_all(list);
			list = NULL;
		}
		buffer_free(&value);
	}
	/* libcurl takes the hash of the body (there is none) from here; only newer ones would make it. */
	if (access != NULL && access->key != NULL)
		list = add_field(list, "X-Amz-Content-Sha256", EMPTY_SHA256);
	return add_field(list, "X-Amz-Security-Token", access != NULL ? access->session : NULL);
}

static void fields_free(struct curl_slist *list)
{
	for (struct curl_slist *at = list; at != NULL; at = at->next)
		explicit_bzero(at->data, strlen(at->data));
	curl_slist_free_all(list);
}

/* Whether the server of a URL may be asked now; waits a little where it asked for that. */
static int wait_turn(struct run *run, const char *url)
{
	unsigned left = pace_left(&run->t->pace, url, loop_now_ms());
	const char *name = run->q->name;
	if (left > PACE_WAIT_MS) {
		int r = again(run->err, fail(run->err, EIO, "%s: the server asked for a pause (status 429), of"
					     " which %u ms are left", name, left));
		if (run->err != NULL)
			run->err->wait_ms = left;
		return r;
	}
	if (left > 0 && transfers_pause(run->t, left) != 0)
		return fail(run->err, EINTR, "%s: stopped", name);
	return 0;
}

static void obey(struct run *run, const char *url)
{
	const struct answer *a = &run->answer;
	unsigned wait = a->status == 429 ? answer_wait_ms(a, (int64_t)time(NULL)) :
					   (unsigned)min_u64(a->limit_s, 3600) * 1000;
	if (wait > 0)
		pace_hold(&run->t->pace, url, loop_now_ms(), wait);
}

/* One hop. *to is where it redirects to, malloc'ed by this, or NULL. */
int hop(struct slot *s, struct run *run, const char *url, const char *if_match, char **to)
{
	char text[CURL_ERROR_SIZE] = "";
	CURLcode code = CURLE_OK;
	char *location = NULL;
	const struct http_access *access = accesses_find(run->t->accesses, url);
	struct curl_slist *fields = NULL;
	if (access != NULL && access->refused != NULL)
		return fail(run->err, EIO, "%s: nothing is asked there: %s", run->q->name, access->refused);
	int r = wait_turn(run, url);
	if (r != 0)
		return r;
	run->large = run->q->range != NULL && run->q->expect >= LARGE;
	fields = fields_of(if_match, access);
	r = fields == NULL ? fail(run->err, ENOMEM, "%s: out of memory", run->q->name) :
			     prepare(s, run, url, access, fields, text);
	if (r != 0)
		goto out;
	atomic_fetch_add(&run->t->requests, 1);
	r = drive(s, run, &code);
	if (r == 0)
		r = conclude(run, code, text);
	obey(run, url);
	if (r != 0 || run->answer.status < 300 || run->answer.status >= 400)
		goto out;
	curl_easy_getinfo(s->easy, CURLINFO_REDIRECT_URL, &location);
	if (location != NULL && (*to = strdup(location)) == NULL)
		r = fail(run->err, ENOMEM, "%s: out of memory", run->q->name);
out:
	/* The handle must not keep pointers into what ends here. */
	curl_easy_reset(s->easy);
	fields_free(fields);
	return r;
}
