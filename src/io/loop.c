#define _GNU_SOURCE
#include "io/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "io/spare.h"

#define IDLE_MS 60000

struct loop {
	CURLM *multi;
	bool (*stop)(const void *arg);
	const void *arg;
	pthread_mutex_t lock;
	struct loop_job *first, *last; /* submitted and not seen by the thread yet */
	pthread_t thread;
	bool started, ending;
	/* of the thread alone */
	struct loop_job *running;
	int64_t looked_ms;
	struct spares spares;
	curl_socket_t taken; /* of the spares, and libcurl does not know yet that it is connected */
};

int64_t loop_now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int loop_new(unsigned idle, bool (*stop)(const void *arg), const void *arg, struct loop **out,
             struct error *err)
{
	struct loop *l = calloc(1, sizeof *l);
	if (l == NULL)
		return fail(err, ENOMEM, "out of memory for an HTTP client");
	l->stop = stop;
	l->arg = arg;
	l->multi = curl_multi_init();
	if (l->multi == NULL) {
		free(l);
		return fail(err, ENOMEM, "out of memory for an HTTP client");
	}
	curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, (long)idle);
	pthread_mutex_init(&l->lock, NULL);
	*out = l;
	return 0;
}

static void finish(struct loop *l, struct loop_job *job, enum loop_end end, CURLcode code)
{
	for (struct loop_job **at = &l->running; *at != NULL; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			break;
		}
	pthread_mutex_lock(&l->lock);
	job->end = end;
	job->code = code;
	job->is_over = true;
	/* Under the lock: the waiter's condition is gone as soon as it has seen is_over. */
	pthread_cond_signal(&job->ended);
	pthread_mutex_unlock(&l->lock);
}

static void cut(struct loop *l, struct loop_job *job, enum loop_end end)
{
	/* A stream of HTTP/2 ends alone: its connection, which may be dead, would be given to the next. So
	 * may be what was connected then and was not used. */
	curl_easy_setopt(job->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_multi_remove_handle(l->multi, job->easy);
	spares_age(&l->spares, INT64_MAX);
	finish(l, job, end, CURLE_OK);
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct loop *l = arg;
	struct spare_address to = { .n = a->addrlen, .type = a->socktype, .protocol = a->protocol };
	(void)purpose;
	memcpy(&to.at, &a->addr, min_u64(a->addrlen, sizeof to.at));
	l->taken = spares_take(&l->spares, &to, loop_now_ms());
	if (l->taken >= 0)
		return l->taken;
	spares_begin(&l->spares, &to, loop_now_ms());
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static int is_connected(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	struct loop *l = arg;
	(void)purpose;
	bool is = l->taken >= 0 && fd == l->taken;
	l->taken = -1;
	return is ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK;
}

static void use_spares(struct loop *l, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, l);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, is_connected);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, l);
}

static CURLMcode take_submitted(struct loop *l)
{
	CURLMcode m = CURLM_OK;
	int unused;
	pthread_mutex_lock(&l->lock);
	struct loop_job *job = l->first;
	l->first = l->last = NULL;
	pthread_mutex_unlock(&l->lock);
	while (job != NULL) {
		struct loop_job *next = job->next;
		job->next = l->running;
		l->running = job;
		curl_easy_setopt(job->easy, CURLOPT_PRIVATE, job);
		use_spares(l, job->easy);
		/* libcurl looks for a connection at the first step, and then for no other. */
		curl_multi_setopt(l->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)job->share);
		if (curl_multi_add_handle(l->multi, job->easy) != CURLM_OK)
			finish(l, job, LOOP_FAILED, CURLE_OUT_OF_MEMORY);
		else if (m == CURLM_OK)
			m = curl_multi_perform(l->multi, &unused);
		job = next;
	}
	return m;
}

static void take_ended(struct loop *l)
{
	CURLMsg *message;
	int left;
	while ((message = curl_multi_info_read(l->multi, &left)) != NULL) {
		CURL *easy = message->easy_handle;
		CURLcode code = message->data.result;
		char *job = NULL;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &job);
		curl_multi_remove_handle(l->multi, easy);
		finish(l, (struct loop_job *)(void *)job, LOOP_DONE, code);
	}
}

static void look_after(struct loop *l)
{
	bool stopped = l->stop(l->arg);
	int64_t now = loop_now_ms();
	struct loop_job *next;
	if (!stopped && now - l->looked_ms < POLL_MS / 2)
		return;
	l->looked_ms = now;
	for (struct loop_job *job = l->running; job != NULL; job = next) {
		next = job->next;
		if (stopped)
			cut(l, job, LOOP_STOPPED);
		else if (job->cut(job->arg))
			cut(l, job, LOOP_CUT);
	}
}

static void fail_all(struct loop *l)
{
	while (l->running != NULL) {
		struct loop_job *job = l->running;
		curl_multi_remove_handle(l->multi, job->easy);
		finish(l, job, LOOP_FAILED, CURLE_OUT_OF_MEMORY);
	}
}

static void *loop_thread(void *arg)
{
	struct loop *l = arg;
	bool ending = false;
	while (!ending) {
		int unused;
		CURLMcode m = take_submitted(l);
		if (m == CURLM_OK)
			m = curl_multi_perform(l->multi, &unused);
		take_ended(l);
		look_after(l);
		int spare_ms = spares_age(&l->spares, loop_now_ms());
		int idle_ms = spare_ms >= 0 ? spare_ms : IDLE_MS;
		if (m == CURLM_OK)
			m = curl_multi_poll(l->multi, NULL, 0, l->running != NULL ? POLL_MS : idle_ms, NULL);
		if (m != CURLM_OK) {
			fail_all(l);
			nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
		}
		pthread_mutex_lock(&l->lock);
		ending = l->ending;
		pthread_mutex_unlock(&l->lock);
	}
	spares_age(&l->spares, INT64_MAX);
	/* Here, where SIGPIPE is blocked: closing TLS writes. */
	curl_multi_cleanup(l->multi);
	l->multi = NULL;
	return NULL;
}

/* Under the lock. libcurl leaves SIGPIPE to its user when signals are off; the thread takes no signals at
 * all. */
static int start(struct loop *l, struct error *err)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&l->thread, NULL, loop_thread, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	l->started = r == 0;
	return r == 0 ? 0 : fail(err, ENOMEM, "cannot start a thread for HTTP: %s", strerror(r));
}

int loop_run(struct loop *l, struct loop_job *job, struct error *err)
{
	int r = 0;
	job->next = NULL;
	job->is_over = false;
	pthread_mutex_lock(&l->lock);
	if (!l->started)
		r = start(l, err);
	if (r != 0) {
		pthread_mutex_unlock(&l->lock);
		return r;
	}
	pthread_cond_init(&job->ended, NULL);
	*(l->last == NULL ? &l->first : &l->last->next) = job;
	l->last = job;
	curl_multi_wakeup(l->multi);
	while (!job->is_over)
		pthread_cond_wait(&job->ended, &l->lock);
	pthread_mutex_unlock(&l->lock);
	pthread_cond_destroy(&job->ended);
	return 0;
}

void loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	if (l->started) {
		pthread_mutex_lock(&l->lock);
		l->ending = true;
		curl_multi_wakeup(l->multi);
		pthread_mutex_unlock(&l->lock);
		pthread_join(l->thread, NULL);
	}
	if (l->multi != NULL)
		curl_multi_cleanup(l->multi);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
