#include "tree/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/checked.h"
#include "base/latency.h"
#include "token/utf8.h"

#define LABEL 128 /* bytes of the mountpoint that a label has, at most */

/* The kinds, and then all of them together and those that waited. */
enum { OF_ALL = STATS_KINDS, OF_WAITED, SERIES };

static const char *const series_names[SERIES] = { "batch", "epoch", "shard", "text", "all", "waited" };

struct series {
	struct latency latency;
	atomic_uint_fast64_t bytes;
};

struct stats {
	struct dataset *d;
	struct series series[SERIES];
	atomic_uint_fast64_t errors, ahead_reads, ahead_bytes;
	char label[LABEL];           /* constant */
	size_t json_size, prom_size; /* constant */
	pthread_mutex_t lock;        /* guards what follows */
	struct buffer json, prom;
};

/* A label's value is UTF-8; backslash, quote and line feed are escaped. */
static int set_label(struct stats *s, const char *place)
{
	size_t n = strlen(place), to = 0;
	uint8_t *valid = malloc(3 * n + 1);
	if (valid == NULL)
		return -ENOMEM;
	n = utf8_replace((const uint8_t *)place, n, valid);
	for (size_t i = 0; i < n && to + 3 < LABEL; i++) {
		if (valid[i] == '\\' || valid[i] == '"' || valid[i] == '\n')
			s->label[to++] = '\\';
		s->label[to++] = valid[i] == '\n' ? 'n' : (char)valid[i];
	}
	/* No half of a character at its end. */
	s->label[utf8_valid((const uint8_t *)s->label, to)] = 0;
	free(valid);
	return 0;
}

static int make_json(struct stats *s);
static int make_prom(struct stats *s);

int stats_new(struct dataset *d, const char *place, struct stats **out, struct error *err)
{
	struct stats *s = calloc(1, sizeof *s);
	if (s == NULL || set_label(s, place) != 0) {
		free(s);
		return fail(err, ENOMEM, "no memory for the counters of the mount");
	}
	s->d = d;
	pthread_mutex_init(&s->lock, NULL);
	if (make_json(s) != 0 || make_prom(s) != 0) {
		stats_free(s);
		return fail(err, ENOMEM, "no memory for the counters of the mount");
	}
	s->json_size = s->json.n;
	s->prom_size = s->prom.n;
	*out = s;
	return 0;
}

void stats_free(struct stats *s)
{
	if (s == NULL)
		return;
	pthread_mutex_destroy(&s->lock);
	buffer_free(&s->json);
	buffer_free(&s->prom);
	free(s);
}

static void add(atomic_uint_fast64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static void note(struct series *s, size_t n, int64_t ns)
{
	latency_note(&s->latency, ns);
	add(&s->bytes, n);
}

void stats_note_read(struct stats *s, enum stats_kind kind, size_t n, int64_t ns, bool waited)
{
	note(&s->series[kind], n, ns);
	note(&s->series[OF_ALL], n, ns);
	if (waited)
		note(&s->series[OF_WAITED], n, ns);
}

void stats_note_error(struct stats *s)
{
	add(&s->errors, 1);
}

void stats_note_ahead(struct stats *s, size_t n)
{
	add(&s->ahead_bytes, n);
}

void stats_note_ahead_read(struct stats *s)
{
	add(&s->ahead_reads, 1);
}

/* ---- the numbers, in the order in which they are written ---- */

static const struct {
	const char *name;
	bool gauge;
	const char *help;
} numbers[] = {
	{ "reads", false, "Reads of batches, shards and texts that were answered" },
	{ "bytes_read", false, "Bytes that they were answered with" },
	{ "ahead_reads", false, "Reads that were answered from what was gathered ahead" },
	{ "ahead_bytes", false, "Bytes gathered before anybody asked for them" },
	{ "cache_hits", false, "Pieces that were in the cache" },
	{ "cache_misses", false, "Pieces that were not" },
	{ "pieces_fetched", false, "Pieces fetched" },
	{ "pieces_tokenized", false, "Pieces tokenised" },
	{ "pieces_cut", false, "Pieces with more tokens than token_count said" },
	{ "pieces_filled", false, "Pieces with fewer tokens than token_count said" },
	{ "bytes_fetched", false, "Bytes fetched from servers" },
	{ "requests", false, "Requests to servers" },
	{ "retries", false, "Requests that were tried again" },
	{ "errors", false, "Reads, look-ups and pieces that failed" },
	{ "cache_errors", false, "Failures of the cache's disk, or of a full one: served from memory" },
	{ "blocks_counted", true, "Blocks whose tokens are counted" },
	{ "memory_bytes", true, "Bytes of buffers" },
	{ "queue_length", true, "Pieces that wait to be made" },
	{ "flight_bytes", true, "Bytes of pieces that servers were asked for and that have not come yet" },
	{ "window_bytes", true, "How many such bytes are worth having under way at once" },
	{ "uptime_seconds", true, "Seconds since the mount was made" },
};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

static void get_numbers(struct stats *s, uint64_t out[NUMBERS])
{
	struct dataset_stats d;
	uint64_t us;
	dataset_stats(s->d, &d);
	const uint64_t all[NUMBERS] = {
		latency_count(&s->series[OF_ALL].latency, &us),
		atomic_load(&s->series[OF_ALL].bytes),
		atomic_load(&s->ahead_reads),
		atomic_load(&s->ahead_bytes),
		d.cache_hits,
		d.cache_misses,
		d.pieces_fetched,
		d.pieces_tokenized,
		d.pieces_cut,
		d.pieces_filled,
		d.bytes_fetched,
		d.requests,
		d.retries,
		atomic_load(&s->errors) + d.errors,
		d.cache_errors,
		d.blocks_counted,
		d.memory_bytes,
		d.queue_length,
		d.flight_bytes,
		d.window_bytes,
		d.uptime_seconds,
	};
	memcpy(out, all, sizeof all);
}

static const unsigned percentiles[] = { 50, 90, 99 };

/* Digits of any number: what has the same room in every text of a file, so that its size never changes. */
#define DIGITS "20"

static int add_number(struct buffer *b, const char *indent, const char *name, const char *end, uint64_t v,
                      bool last)
{
	char key[40];
	snprintf(key, sizeof key, "\"%s%s\":", name, end);
	return buffer_printf(b, "%s%-20s%" DIGITS PRIu64 "%s\n", indent, key, v, last ? "" : ",");
}

/* indent, prefix: of the names. */
static int add_percentiles(struct buffer *b, struct latency *l, const char *indent, const char *prefix,
                           bool last)
{
	char name[32];
	int r = 0;
	for (size_t k = 0; k < 3; k++) {
		snprintf(name, sizeof name, "%sp%u", prefix, percentiles[k]);
		r |= add_number(b, indent, name, "_us", latency_percentile(l, percentiles[k]), false);
	}
	snprintf(name, sizeof name, "%smax", prefix);
	return r | add_number(b, indent, name, "_us", latency_max(l), last);
}

static int add_series(struct buffer *b, struct series *s, const char *name, bool last)
{
	static const char indent[] = "      ";
	uint64_t us;
	int r = buffer_printf(b, "    \"%s\": {\n", name);
	r |= add_number(b, indent, "reads", "", latency_count(&s->latency, &us), false);
	r |= add_number(b, indent, "bytes", "", atomic_load(&s->bytes), false);
	r |= add_percentiles(b, &s->latency, indent, "", true);
	return r | buffer_printf(b, "    }%s\n", last ? "" : ",");
}

/* With the lock held. */
static int make_json(struct stats *s)
{
	uint64_t n[NUMBERS];
	int r;
	get_numbers(s, n);
	s->json.n = 0;
	r = buffer_printf(&s->json, "{\n");
	for (size_t k = 0; k < NUMBERS; k++)
		r |= add_number(&s->json, "  ", numbers[k].name, "", n[k], false);
	r |= add_percentiles(&s->json, &s->series[OF_ALL].latency, "  ", "read_", false);
	r |= buffer_printf(&s->json, "  \"kinds\": {\n");
	for (size_t k = 0; k < SERIES; k++)
		if (k != OF_ALL)
			r |= add_series(&s->json, &s->series[k], series_names[k], k == SERIES - 1);
	r |= buffer_printf(&s->json, "  }\n}\n");
	return r == 0 ? 0 : -ENOMEM;
}

/* ---- Prometheus ---- */

/* name: of the metric; kind: another label, or "". The quantile 1 is the longest. */
static int prom_summary(struct buffer *text, const char *name, const char *mount, const char *kind,
                        struct series *s)
{
	uint64_t us, count = latency_count(&s->latency, &us);
	char labels[LABEL + 48];
	int r = 0;
	snprintf(labels, sizeof labels, "mount=\"%s\"%s%s%s", mount, kind[0] == 0 ? "" : ",kind=\"", kind,
	         kind[0] == 0 ? "" : "\"");
	for (size_t k = 0; k < 4; k++) {
		uint64_t v =
		        k < 3 ? latency_percentile(&s->latency, percentiles[k]) : latency_max(&s->latency);
		r |= buffer_printf(text, "%s{%s,quantile=\"%g\"} %" DIGITS ".6f\n", name, labels,
		                   k < 3 ? percentiles[k] / 100.0 : 1.0, (double)v / 1e6);
	}
	return r | buffer_printf(text, "%s_sum{%s} %" DIGITS ".6f\n%s_count{%s} %" DIGITS PRIu64 "\n", name,
	                         labels, (double)us / 1e6, name, labels, count);
}

/* https://prometheus.io/docs/instrumenting/exposition_formats/: tokens are separated by any number of blanks.
 * With the lock held. */
static int make_prom(struct stats *s)
{
	uint64_t n[NUMBERS];
	struct buffer *text = &s->prom;
	int r = 0;
	get_numbers(s, n);
	text->n = 0;
	for (size_t k = 0; k < NUMBERS; k++) {
		const char *name = numbers[k].name, *end = numbers[k].gauge ? "" : "_total";
		r |= buffer_printf(text, "# HELP fineweb_%s%s %s.\n# TYPE fineweb_%s%s %s\n", name, end,
		                   numbers[k].help, name, end, numbers[k].gauge ? "gauge" : "counter");
		r |= buffer_printf(text, "fineweb_%s%s{mount=\"%s\"} %" DIGITS PRIu64 "\n", name, end,
		                   s->label, n[k]);
	}
	r |= buffer_printf(text, "# HELP fineweb_read_seconds How long reads took.\n"
	                         "# TYPE fineweb_read_seconds summary\n");
	for (size_t k = 0; k < STATS_KINDS; k++)
		r |= prom_summary(text, "fineweb_read_seconds", s->label, series_names[k], &s->series[k]);
	r |= buffer_printf(text,
	                   "# HELP fineweb_waited_read_seconds How long those took that were not at hand.\n"
	                   "# TYPE fineweb_waited_read_seconds summary\n");
	r |= prom_summary(text, "fineweb_waited_read_seconds", s->label, "", &s->series[OF_WAITED]);
	return r == 0 ? 0 : -ENOMEM;
}

/* ---- reading ---- */

size_t stats_json_size(const struct stats *s)
{
	return s->json_size;
}

size_t stats_prom_size(const struct stats *s)
{
	return s->prom_size;
}

static int64_t read_text(struct stats *s, int (*make)(struct stats *s), struct buffer *text, uint64_t off,
                         void *buf, size_t n)
{
	pthread_mutex_lock(&s->lock);
	int64_t r = off == 0 ? make(s) : 0;
	if (r == 0 && off < text->n) {
		r = (int64_t)min_u64(n, text->n - off);
		memcpy(buf, (const char *)text->at + off, (size_t)r);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int64_t stats_read_json(struct stats *s, uint64_t off, void *buf, size_t n)
{
	return read_text(s, make_json, &s->json, off, buf, n);
}

int64_t stats_read_prom(struct stats *s, uint64_t off, void *buf, size_t n)
{
	return read_text(s, make_prom, &s->prom, off, buf, n);
}
