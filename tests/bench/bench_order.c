/* Prints what the order costs: a look-up, the first batch, the far end of an epoch, memory. Files are
 * made up. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "order/epoch.h"

#define SEQ_LEN 1024
#define PIECE_SEQUENCES 1024
#define BATCHES 50000
#define FAR_BATCHES 2000 /* each of which may have to lay out a block */

struct scale {
	const char *name;
	uint32_t files;
	uint64_t tokens; /* of a file */
	bool uneven;     /* pieces differ, as row groups do */
};

/* Time of this thread on a processor: what others do beside it is not ours to measure. */
static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double since(uint64_t start)
{
	return (double)(nanoseconds() - start) / 1e6;
}

/* Anonymous resident memory, KiB; 0 where the system does not say. */
static long rss_anon(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtol(line + 8, NULL, 10);
	if (f != NULL)
		fclose(f);
	return kib;
}

static uint64_t sequences_of_file(const struct scale *s)
{
	return (s->tokens - 1) / SEQ_LEN;
}

static int64_t pieces(void *arg, uint32_t file)
{
	(void)file;
	return (int64_t)((sequences_of_file(arg) + PIECE_SEQUENCES - 1) / PIECE_SEQUENCES);
}

static int64_t sequences(void *arg, uint32_t file, uint32_t piece)
{
	const struct scale *s = arg;
	uint64_t left = sequences_of_file(s) - (uint64_t)piece * PIECE_SEQUENCES;

	if (s->uneven)
		return PIECE_SEQUENCES - (file + piece * 7) % 64;
	return left < PIECE_SEQUENCES ? (int64_t)left : PIECE_SEQUENCES;
}

static bool uniform(void *arg, uint32_t file, uint64_t *full)
{
	const struct scale *s = arg;

	(void)file;
	*full = PIECE_SEQUENCES;
	return !s->uneven;
}

static struct epoch *make(const struct scale *s, const struct order_params *p)
{
	const struct order_files files = {
	    .arg = (void *)(uintptr_t)s,
	    .files = s->files,
	    .pieces = pieces,
	    .sequences = sequences,
	    .uniform = uniform,
	};
	struct error err;
	struct epoch *e;

	if (epoch_new(p, &files, &e, &err) < 0) {
		fprintf(stderr, "bench_order: %s\n", err.text);
		exit(1);
	}
	return e;
}

/* ns a row over `count` batches of all ranks, one after another from the middle of the epoch on, or
 * anywhere. */
static double look_up(struct epoch *e, const struct order_params *p, uint64_t batches, bool anywhere,
                      unsigned count)
{
	struct order_place *rows = calloc(p->batch_size, sizeof *rows);
	uint64_t x = 88172645463325252u, start;
	double ns;

	if (rows == NULL)
		exit(1);
	start = nanoseconds();
	for (unsigned i = 0; i < count; i++) {
		uint64_t k = (batches / 2 + i / p->world_size) % batches;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (anywhere)
			k = x % batches;
		if (epoch_batch(e, i % p->world_size, k, rows) != 0) {
			fprintf(stderr, "bench_order: no batch %" PRIu64 "\n", k);
			exit(1);
		}
	}
	ns = (double)(nanoseconds() - start) / count / p->batch_size;
	free(rows);
	return ns;
}

static void measure(const struct scale *s, const char *name, const struct order_params *p)
{
	long before = rss_anon(), after;
	struct order_place *rows = calloc(p->batch_size, sizeof *rows);
	uint64_t start = nanoseconds(), batches;
	struct order_need need;
	struct epoch *e = make(s, p);
	double first, end, near, far;
	bool final;

	if (rows == NULL || epoch_cover(e, 1, &need) < 0)
		exit(1);
	if (epoch_batches(e, &final) > 0 && epoch_batch(e, 0, 0, rows) != 0)
		exit(1);
	first = since(start);
	start = nanoseconds();
	if (epoch_cover(e, UINT64_MAX, &need) < 0)
		exit(1);
	end = since(start);
	batches = epoch_batches(e, &final);
	near = look_up(e, p, batches, false, p->world_size > FAR_BATCHES ? FAR_BATCHES : BATCHES);
	far = look_up(e, p, batches, true, FAR_BATCHES);
	after = rss_anon();
	printf("%-22s %-24s %9.3f %9.2f %9.1f %11.2f %9ld\n", s->name, name, first, end, near,
	       far * p->batch_size / 1e3, after - before);
	free(rows);
	epoch_free(e);
}

/* In a process of its own, so that memory is that of one epoch. */
static void measure_alone(const struct scale *s, const char *name, const struct order_params *p)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		measure(s, name, p);
		fflush(stdout);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

int main(void)
{
	static const struct scale scales[] = {
	    {"100 files of 1e8", 100, 100000000, false},
	    {"150 files of 1e11", 150, 100000000000, false},
	    {"150,000 files of 1e8", 150000, 100000000, false},
	    {"500 files, row groups", 500, 735000000, true},
	};
	const struct order_params plain = {.seq_len = SEQ_LEN,
	                                   .world_size = 8,
	                                   .batch_size = 32,
	                                   .block = UINT64_C(1) << 28,
	                                   .mix_files = 32};

	printf("%-22s %-24s %9s %9s %9s %11s %9s\n", "source", "order", "first ms", "end ms", "ns a row",
	       "us a far one", "KiB");
	for (unsigned i = 0; i < sizeof scales / sizeof *scales; i++) {
		struct order_params p = plain;

		measure_alone(&scales[i], "block", &p);
		p.stride = STRIDE_PIECE;
		measure_alone(&scales[i], "block, stride=piece", &p);
		p = plain;
		p.shuffle = SHUFFLE_NONE;
		measure_alone(&scales[i], "none", &p);
		p.shuffle = SHUFFLE_FULL;
		measure_alone(&scales[i], "full", &p);
		p = plain;
		p.block = 1;
		measure_alone(&scales[i], "block=1", &p);
		p = plain;
		p.mix_files = 1 << 20;
		measure_alone(&scales[i], "block, mix_files=2^20", &p);
		if (scales[i].files < 150)
			continue;
		p = plain;
		p.stride = STRIDE_PIECE;
		p.world_size = 65536;
		measure_alone(&scales[i], "stride=piece, 65536 ranks", &p);
	}
	return 0;
}
