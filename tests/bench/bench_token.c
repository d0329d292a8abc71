/* bench_token: how fast texts become ids, on one thread or more.
 *
 * usage: bench_token [-p PATH] [-r REPEATS] [-t THREADS] [-d BYTES] [-0] TOKENIZER[:PATTERN] FILE...
 *
 * Each FILE is encoded in documents of BYTES (4096; 0: whole) that end at a line's end where there is one.
 * Cold is a tokenizer that was just opened, so that every word is seen for the first time; warm is the best
 * of REPEATS (5) passes after it. Per CPU second of all threads.
 *
 * -0: documents end at a NUL, and the threads divide them: what `prepare` could do if there were nothing but
 * the tokenizer. Per second of the clock.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "token/tokenizer.h"

struct work {
	const struct tokenizer *t;
	const char *path;
	const uint8_t *text;
	size_t n, document;
	void *ids;
	int64_t tokens;
	pthread_t thread;
	struct divided *divided; /* NULL: every thread takes the whole text */
};

/* Documents that threads take one after another. */
struct divided {
	size_t *at, n; /* where each begins; at[n]: behind the last NUL */
	size_t largest;
	atomic_size_t next;
};

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A counter of cycles of this thread and those it starts, or -1 where the machine has none. */
static int open_cycles(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE,
		                     .size = sizeof a,
		                     .config = PERF_COUNT_HW_CPU_CYCLES,
		                     .inherit = 1,
		                     .exclude_kernel = 1 };
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static uint64_t read_cycles(int fd)
{
	uint64_t cycles = 0;
	return fd >= 0 && read(fd, &cycles, sizeof cycles) == sizeof cycles ? cycles : 0;
}

static void work_divided(struct work *w, struct encoder *e)
{
	struct divided *d = w->divided;
	for (size_t i; (i = atomic_fetch_add(&d->next, 64)) < d->n;)
		for (size_t k = i; k < d->n && k < i + 64; k++) {
			int64_t got =
			        encoder_encode(e, w->text + d->at[k], d->at[k + 1] - d->at[k] - 1, w->ids);
			if (got < 0)
				exit(1);
			w->tokens += got;
		}
}

static void *work(void *arg)
{
	struct work *w = arg;
	struct encoder *e = encoder_new(w->t);
	if (e == NULL || (w->path != NULL && encoder_use(e, w->path) < 0)) {
		fprintf(stderr, "no path %s\n", w->path != NULL ? w->path : "");
		exit(2);
	}
	w->tokens = 0;
	if (w->divided != NULL)
		work_divided(w, e);
	for (size_t i = w->divided != NULL ? w->n : 0; i < w->n;) {
		size_t k = w->document == 0 || w->n - i < w->document ? w->n - i : w->document;
		const uint8_t *end = memrchr(w->text + i, '\n', k);
		if (end != NULL)
			k = (size_t)(end - w->text) - i + 1;
		int64_t got = encoder_encode(e, w->text + i, k, w->ids);
		if (got < 0)
			exit(1);
		w->tokens += got;
		i += k;
	}
	encoder_free(e);
	return NULL;
}

/* Seconds of CPU of a pass of all threads, each over the whole text. */
static double pass(struct work *w, size_t threads)
{
	double start = cpu_seconds();
	for (size_t i = 0; i < threads; i++)
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	for (size_t i = 0; i < threads; i++)
		pthread_join(w[i].thread, NULL);
	return cpu_seconds() - start;
}

static uint8_t *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	long size = -1;
	if (f != NULL && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;
	if (bytes == NULL || fseek(f, 0, SEEK_SET) != 0 || fread(bytes, 1, (size_t)size, f) != (size_t)size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	*n = (size_t)size;
	return bytes;
}

/* The documents of a text that ends with a NUL. */
static void divide(struct divided *d, const uint8_t *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		d->n += text[i] == 0;
	d->at = calloc(d->n + 1, sizeof *d->at);
	if (d->at == NULL)
		exit(1);
	for (size_t i = 0, k = 0; i < n; i++)
		if (text[i] == 0) {
			d->at[++k] = i + 1;
			if (d->at[k] - d->at[k - 1] > d->largest)
				d->largest = d->at[k] - d->at[k - 1];
		}
}

static double clock_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bench_divided(const char *name, const char *pattern, const char *path, const char *file,
                          size_t threads, unsigned repeats)
{
	struct work w[64];
	struct divided d = { 0 };
	struct tokenizer *t;
	struct error err;
	size_t n;
	uint8_t *text = read_file(file, &n);
	double best = 0, cold = 0;
	int64_t tokens = 0;
	divide(&d, text, n);
	for (size_t i = 0; i < threads; i++) {
		w[i] = (struct work){ .path = path, .text = text, .n = n, .divided = &d };
		w[i].ids = malloc(encoder_bound(d.largest) * 4);
		if (w[i].ids == NULL)
			exit(1);
	}
	/* The vocabulary is opened within, as a run of `prepare` opens it. */
	double begun = clock_seconds();
	if (tokenizer_open(name, pattern, &t, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	for (size_t i = 0; i < threads; i++)
		w[i].t = t;
	for (unsigned r = 0; r <= repeats; r++) {
		atomic_store(&d.next, 0);
		pass(w, threads);
		double s = clock_seconds() - begun;
		if (r == 0)
			cold = s;
		else if (best == 0 || s < best)
			best = s;
		begun = clock_seconds();
	}
	for (size_t i = 0; i < threads; i++) {
		tokens += w[i].tokens;
		free(w[i].ids);
	}
	printf("%s %s: %zu documents, %.1f MB, %zu thread%s: %" PRId64 " tokens, cold %.4f s", name, file,
	       d.n, 1e-6 * (double)(n - d.n), threads, threads > 1 ? "s" : "", tokens, cold);
	if (best > 0)
		printf(", warm %.4f s", best);
	printf("\n");
	tokenizer_close(t);
	free(d.at);
	free(text);
}

static void bench(const char *name, const char *pattern, const char *path, const char *file, size_t threads,
                  size_t document, unsigned repeats)
{
	struct work w[64];
	struct tokenizer *t;
	struct error err;
	size_t n;
	uint8_t *text = read_file(file, &n);
	double start = cpu_seconds();
	if (tokenizer_open(name, pattern, &t, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	double open = cpu_seconds() - start, best = 0;
	size_t room = encoder_bound(document == 0 || document > n ? n : document) * 4;
	for (size_t i = 0; i < threads; i++) {
		w[i] = (struct work){ .t = t, .path = path, .text = text, .n = n, .document = document };
		w[i].ids = malloc(room);
		if (w[i].ids == NULL)
			exit(1);
		memset(w[i].ids, 0, room);
	}
	double cold = pass(w, threads), megabytes = 1e-6 * (double)n * (double)threads;
	int fd = open_cycles();
	uint64_t cycles = 0;
	for (unsigned r = 0; r < repeats; r++) {
		uint64_t before = read_cycles(fd);
		double s = pass(w, threads);
		uint64_t taken = read_cycles(fd) - before;
		if (best == 0 || s < best) {
			best = s;
			cycles = taken;
		}
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%s %s: %.1f MB, %zu thread%s: open %.1f ms, cold %.0f MB/s, warm %.0f MB/s, %.1f Mtokens/s, "
	       "%.4f tokens/byte",
	       name, file, 1e-6 * (double)n, threads, threads > 1 ? "s" : "", 1e3 * open, megabytes / cold,
	       megabytes / best, 1e-6 * (double)w[0].tokens * (double)threads / best,
	       (double)w[0].tokens / (double)n);
	if (cycles > 0)
		printf(", %.2f cycles/byte", (double)cycles / (1e6 * megabytes));
	printf(", peak %ld MB\n", usage.ru_maxrss / 1024);
	fflush(stdout);
	for (size_t i = 0; i < threads; i++)
		free(w[i].ids);
	if (fd >= 0)
		close(fd);
	tokenizer_close(t);
	free(text);
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	size_t threads = 1, document = 4096;
	unsigned repeats = 5;
	bool divided = false;
	int o;
	while ((o = getopt(argc, argv, "+p:r:t:d:0")) != -1) {
		if (o == 'p')
			path = optarg;
		else if (o == 'r')
			repeats = (unsigned)strtoul(optarg, NULL, 10);
		else if (o == 't')
			threads = strtoul(optarg, NULL, 10);
		else if (o == '0')
			divided = true;
		else if (o == 'd')
			document = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind + 1 >= argc || threads < 1 || threads > 64) {
		fprintf(stderr, "usage: bench_token [-p PATH] [-r REPEATS] [-t THREADS] [-d BYTES] [-0] "
		                "TOKENIZER[:PATTERN] FILE...\n");
		return 2;
	}
	char *pattern = strchr(argv[optind], ':');
	if (pattern != NULL)
		*pattern++ = '\0';
	for (int i = optind + 1; i < argc; i++)
		if (divided)
			bench_divided(argv[optind], pattern, path, argv[i], threads, repeats);
		else
			bench(argv[optind], pattern, path, argv[i], threads, document, repeats);
	return 0;
}
