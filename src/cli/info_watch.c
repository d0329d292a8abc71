/* info_watch: `fineweb info MOUNT --watch`: what a mount does, live.
 *
 * On a terminal one screen that is drawn anew each second and ends with its last state on the normal screen;
 * else a line a second.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "cli/info.h"
#include "cli/output.h"
#include "cli/terminal.h"

/* Two readings of stats.json, and the seconds between them. */
struct sample {
	json_t *before, *now;
	double seconds, at;
};

static double now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_sample(const char *path, struct sample *s, struct error *err)
{
	double at = now_seconds();
	json_t *j = info_load(path, "stats.json", err);
	if (j == NULL && s->now != NULL && (err->code == ENOENT || err->code == ENOTCONN))
		return fail(err, ENOTCONN, "%s is not mounted any more", path);
	if (j == NULL)
		return -err->code;
	/* The counters of another mount, of which nothing is known. */
	if (s->now != NULL &&
	    info_number(j, NULL, "uptime_seconds") < info_number(s->now, NULL, "uptime_seconds")) {
		json_decref(s->now);
		s->now = NULL;
	}
	json_decref(s->before);
	s->before = s->now != NULL ? s->now : json_incref(j);
	s->now = j;
	s->seconds = at - s->at;
	s->at = at;
	return 0;
}

/* How much a counter grew in a second. */
static double rate(const struct sample *s, const char *kind, const char *key)
{
	double d = (double)info_number(s->now, kind, key) - (double)info_number(s->before, kind, key);
	return d > 0 && s->seconds > 0 ? d / s->seconds : 0;
}

static const char *rate_text(const struct sample *s, const char *kind, const char *key,
                             char buf[SHEET_NUMBER])
{
	return sheet_count_text((uint64_t)(rate(s, kind, key) + 0.5), buf);
}

static const char *bytes_rate_text(const struct sample *s, const char *kind, const char *key,
                                   char buf[SHEET_NUMBER])
{
	return sheet_bytes_text(rate(s, kind, key), buf);
}

static void clock_text(char buf[16])
{
	time_t t = time(NULL);
	struct tm local;
	strftime(buf, 16, "%H:%M:%S", localtime_r(&t, &local));
}

/* ---- a line a second ---- */

static const struct column {
	const char *title, *kind, *key;
	enum { RATE, RATE_BYTES, VALUE, VALUE_BYTES, VALUE_TIME } form;
	bool wide; /* only where a line has 160 columns */
} columns[] = {
	{ "reads/s", NULL, "reads", RATE, false },
	{ "read B/s", NULL, "bytes_read", RATE_BYTES, false },
	{ "p50", NULL, "read_p50_us", VALUE_TIME, false },
	{ "p99", NULL, "read_p99_us", VALUE_TIME, false },
	{ "max", NULL, "read_max_us", VALUE_TIME, false },
	{ "waited/s", "waited", "reads", RATE, true },
	{ "hits/s", NULL, "cache_hits", RATE, true },
	{ "misses/s", NULL, "cache_misses", RATE, true },
	{ "net B/s", NULL, "bytes_fetched", RATE_BYTES, false },
	{ "requests/s", NULL, "requests", RATE, true },
	{ "pieces", NULL, "pieces_tokenized", VALUE, true },
	{ "queue", NULL, "queue_length", VALUE, false },
	{ "memory", NULL, "memory_bytes", VALUE_BYTES, true },
	{ "errors", NULL, "errors", VALUE, false },
};
#define COLUMNS (sizeof columns / sizeof columns[0])

static void column_text(const struct sample *s, const struct column *c, char buf[SHEET_NUMBER])
{
	uint64_t v = info_number(s->now, c->kind, c->key);
	if (c->form == RATE)
		snprintf(buf, SHEET_NUMBER, "%.0f", rate(s, c->kind, c->key));
	else if (c->form == RATE_BYTES)
		bytes_rate_text(s, c->kind, c->key, buf);
	else if (c->form == VALUE_BYTES)
		sheet_bytes_text((double)v, buf);
	else if (c->form == VALUE_TIME)
		sheet_time_text(v, buf);
	else
		snprintf(buf, SHEET_NUMBER, "%" PRIu64, v);
}

static int write_line(const struct sample *s, bool title, struct error *err)
{
	struct buffer line = { 0 };
	char text[SHEET_NUMBER], clock[16];
	unsigned width, rows;
	int r = 0;
	terminal_size(STDOUT_FILENO, &width, &rows);
	clock_text(clock);
	for (int row = title ? 0 : 1; row < 2 && r == 0; row++) {
		r = buffer_printf(&line, "%s", row == 0 ? "time    " : clock);
		for (size_t i = 0; i < COLUMNS && r == 0; i++) {
			const struct column *c = &columns[i];
			column_text(s, c, text);
			if (width >= 160 || !c->wide)
				r = buffer_printf(&line, width >= 160 ? "%11s" : "%9s",
				                  row == 0 ? c->title : text);
		}
		if (r == 0)
			r = buffer_printf(&line, "\n");
	}
	if (r == 0)
		r = output_buffer(&line, err);
	buffer_free(&line);
	return r;
}

static int watch_lines(const char *path, struct sample *s, struct error *err)
{
	int r = 0;
	for (unsigned lines = 0; r == 0; lines++) {
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
		r = read_sample(path, s, err);
		if (r == 0)
			r = write_line(s, lines % 20 == 0, err);
	}
	return r;
}

/* ---- a screen ---- */

static volatile sig_atomic_t resized, ended;

static void on_signal(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else
		ended = number;
}

static int add_kind(struct buffer *b, const struct sample *s, const char *kind, const char *label)
{
	static const char *const keys[] = { "p50_us", "p90_us", "p99_us", "max_us" };
	char n[SHEET_NUMBER];
	uint64_t reads = info_number(s->now, kind, "reads");
	int r = buffer_printf(b, "%-9s%10s", label, rate_text(s, kind, "reads", n));
	r |= buffer_printf(b, "%10s", bytes_rate_text(s, kind, "bytes", n));
	progress_number((double)reads, n);
	r |= buffer_printf(b, "%10s", n);
	for (size_t k = 0; k < 4; k++)
		r |= buffer_printf(b, "%10s",
		                   reads == 0 ? "-" : sheet_time_text(info_number(s->now, kind, keys[k]), n));
	return r | buffer_printf(b, "\n");
}

static int add_counters(struct buffer *b, const struct sample *s)
{
	char x[SHEET_NUMBER], y[SHEET_NUMBER], z[SHEET_NUMBER];
	uint64_t blocks = info_number(s->now, NULL, "blocks_counted");
	uint64_t hits = info_number(s->now, NULL, "cache_hits"),
	         all = hits + info_number(s->now, NULL, "cache_misses");
	int r = buffer_printf(b, "ahead    %s/s gathered, %s reads/s answered from it\n",
	                      bytes_rate_text(s, NULL, "ahead_bytes", x),
	                      rate_text(s, NULL, "ahead_reads", y));
	r |= buffer_printf(b, "cache    %s hits/s, %s misses/s; of %s pieces ",
	                   rate_text(s, NULL, "cache_hits", x), rate_text(s, NULL, "cache_misses", y),
	                   sheet_count_text(all, z));
	r |= buffer_printf(b, "%.1f %% were there\n", all == 0 ? 0 : 100 * (double)hits / (double)all);
	r |= buffer_printf(b, "network  %s/s, %s requests/s; ", bytes_rate_text(s, NULL, "bytes_fetched", x),
	                   rate_text(s, NULL, "requests", y));
	r |= buffer_printf(b, "%s in all, %" PRIu64 " requests tried again\n",
	                   sheet_bytes_text((double)info_number(s->now, NULL, "bytes_fetched"), x),
	                   info_number(s->now, NULL, "retries"));
	r |= buffer_printf(
	        b, "pieces   %s tokenized, %" PRIu64 " cut, %" PRIu64 " filled, %" PRIu64 " queued; ",
	        sheet_count_text(info_number(s->now, NULL, "pieces_tokenized"), x),
	        info_number(s->now, NULL, "pieces_cut"), info_number(s->now, NULL, "pieces_filled"),
	        info_number(s->now, NULL, "queue_length"));
	r |= buffer_printf(b, "%" PRIu64 " block%s counted\n", blocks, blocks == 1 ? "" : "s");
	r |= buffer_printf(b, "memory   %s of buffers\n",
	                   sheet_bytes_text((double)info_number(s->now, NULL, "memory_bytes"), x));
	return r | buffer_printf(b, "errors   %" PRIu64 ", %s/s\n", info_number(s->now, NULL, "errors"),
	                         rate_text(s, NULL, "errors", x));
}

static int write_text(const char *path, const struct sample *s, struct buffer *b)
{
	static const struct {
		const char *kind, *label;
	} kinds[] = { { "batch", "batches" },
		      { "epoch", "epoch.bin" },
		      { "shard", "shards" },
		      { "text", "texts" },
		      { "waited", "waited" } };
	uint64_t up = info_number(s->now, NULL, "uptime_seconds");
	char clock[16];
	int r = 0;
	clock_text(clock);
	b->n = 0;
	r |= buffer_printf(b, "%s  %s, up %" PRIu64 ":%02u:%02u\n\n", clock, path, up / 3600,
	                   (unsigned)(up / 60 % 60), (unsigned)(up % 60));
	r |= buffer_printf(b, "%-9s%10s%10s%10s%10s%10s%10s%10s\n", "", "reads/s", "B/s", "reads", "p50",
	                   "p90", "p99", "max");
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		r |= add_kind(b, s, kinds[i].kind, kinds[i].label);
	r |= buffer_printf(b, "\n");
	return r | add_counters(b, s);
}

/* Each line cut to the width, what is left of the one before erased. */
static int draw(const struct buffer *text, struct error *err)
{
	struct buffer b = { 0 };
	unsigned width, rows, row = 0;
	const char *at = (const char *)text->at, *end = at + text->n;
	terminal_size(STDOUT_FILENO, &width, &rows);
	int r = buffer_printf(&b, "\033[H");
	for (; at < end && row < rows && r == 0; row++) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		int n = (int)(line_end - at);
		/* In the last column a terminal waits to wrap: erasing there would take the character. */
		r = buffer_printf(&b, "%s\033[K%.*s", row == 0 ? "" : "\r\n", n < (int)width ? n : (int)width,
		                  at);
		at = line_end + 1;
	}
	if (r == 0)
		r = buffer_printf(&b, row < rows ? "\r\n\033[J" : "");
	if (r == 0)
		r = output_buffer(&b, err);
	buffer_free(&b);
	return r;
}

/* Until a second has passed, or a signal came. */
static void wait_second(const struct sample *s)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	double left = s->at + 1 - now_seconds();
	if (left > 0 && !resized && !ended) {
		struct timespec t = { .tv_sec = (time_t)left,
			              .tv_nsec = (long)((left - (double)(time_t)left) * 1e9) };
		ppoll(NULL, 0, &t, &before);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int watch_screen(const char *path, struct sample *s, struct error *err)
{
	static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";
	struct buffer text = { 0 };
	struct error ignored;
	struct sigaction a = { .sa_handler = on_signal },
	                 again = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	sigaction(SIGWINCH, &again, NULL);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
	int r = write_text(path, s, &text);
	if (r == 0)
		r = output_write(enter, sizeof enter - 1, err);
	while (r == 0 && !ended) {
		resized = 0;
		r = draw(&text, err);
		if (r == 0)
			wait_second(s);
		if (r != 0 || ended || now_seconds() < s->at + 1)
			continue;
		r = read_sample(path, s, err);
		if (r == 0)
			r = write_text(path, s, &text);
		if (ended)
			r = 0;
	}
	output_write(leave, sizeof leave - 1, &ignored);
	output_buffer(&text, &ignored);
	buffer_free(&text);
	if (ended) {
		signal(ended, SIG_DFL);
		raise(ended);
	}
	return r;
}

int info_watch(const char *path, struct error *err)
{
	struct sample s = { 0 };
	int r = read_sample(path, &s, err);
	if (r == 0)
		r = terminal_is(STDOUT_FILENO) ? watch_screen(path, &s, err) : watch_lines(path, &s, err);
	json_decref(s.before);
	json_decref(s.now);
	return r;
}
