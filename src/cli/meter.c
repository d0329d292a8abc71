#include "cli/meter.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/terminal.h"

#define TERMINAL_NS 200000000
#define LINE_NS 30000000000

static int64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void meter_read(struct meter *m, struct progress *out)
{
	*out = (struct progress){
		.tokens = atomic_load(&m->tokens),
		.documents = atomic_load(&m->documents),
		.shards = atomic_load(&m->shards),
		.errors = atomic_load(&m->errors),
		.new_tokens = atomic_load(&m->new_tokens),
		.text_bytes = atomic_load(&m->text_bytes),
		.seconds = (double)(clock_ns() - m->began_ns) / 1e9,
		.share = atomic_load(&m->share),
		.tokenizer_share = atomic_load(&m->tokenizer_share),
		.first_share = atomic_load(&m->first_share),
	};
}

static void show(struct meter *m, bool done)
{
	char line[PROGRESS_TEXT];
	struct progress p;
	meter_read(m, &p);
	if (m->json) {
		progress_json(&p, done, line);
		printf("%s\n", line);
		fflush(stdout);
		return;
	}
	unsigned columns = 0, rows;
	if (m->terminal)
		terminal_size(STDERR_FILENO, &columns, &rows);
	/* The last column stays free: what is erased there would be the next line's. */
	progress_line(&p, columns > 1 ? columns - 1 : columns, line);
	log_over_line(m->terminal);
	fprintf(stderr, m->terminal ? "\r\033[K%s" : "%s\n", line);
	fflush(stderr);
	m->drawn = m->terminal;
}

static void *run(void *arg)
{
	struct meter *m = arg;
	pthread_mutex_lock(&m->lock);
	while (!m->ending) {
		int64_t at = clock_ns() + (m->terminal && !m->json ? TERMINAL_NS : LINE_NS);
		struct timespec until = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
		while (!m->ending && clock_ns() < at)
			pthread_cond_timedwait(&m->end, &m->lock, &until);
		if (!m->ending)
			show(m, false);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

void meter_start(struct meter *m, bool quiet, bool json)
{
	pthread_condattr_t monotonic;
	m->quiet = quiet;
	m->json = json;
	m->terminal = terminal_is(STDERR_FILENO);
	m->began_ns = clock_ns();
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m->end, &monotonic);
	pthread_condattr_destroy(&monotonic);
	m->running = (!quiet || json) && pthread_create(&m->thread, NULL, run, m) == 0;
}

void meter_end(struct meter *m, bool done)
{
	if (m->began_ns == 0)
		return;
	pthread_mutex_lock(&m->lock);
	m->ending = true;
	pthread_cond_signal(&m->end);
	pthread_mutex_unlock(&m->lock);
	if (m->running)
		pthread_join(m->thread, NULL);
	if (m->json && done)
		show(m, true);
	else if (m->drawn)
		fprintf(stderr, "\r\033[K");
	log_over_line(false);
	pthread_cond_destroy(&m->end);
	pthread_mutex_destroy(&m->lock);
	m->began_ns = 0;
	m->running = m->drawn = false;
}
