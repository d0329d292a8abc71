/* Prints what the order costs: a look-up, the first batch, the far end of an epoch, memory. Files are made up. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "order/epoch.h"

#define SEQ_LEN 1024
#define PIECE_SEQUENCES 1024
#define BATCHES 200000

struct scale {
	const char *name;
	uint32_t files;
	uint64_t tokens; /* of a file */
};

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
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
	uint64_t left = sequences_of_file(arg) - (uint64_t)piece * PIECE_SEQUENCES;

	(void)file;
	return left < PIECE_SEQUENCES ? (int64_t)left : PIECE_SEQUENCES;
}

static bool uniform(void *arg, uint32_t file, uint64_t *full)
{
	(void)arg;
	(void)file;
	*full = PIECE_SEQUENCES;
	return true;
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

/* ns a row over `count` batches of all ranks, one after another from the middle of the epoch on, or anywhere. */
static double look_up(struct epoch *e, const struct order_params *p, uint64_t batches, bool anywhere, unsigned count)
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

static void measure(const struct scale *s, const char *name, const struct order_params *p, unsigned far_look_ups)
{
	long before = rss_anon();
	struct order_place *rows = calloc(p->batch_size, sizeof *rows);
	uint64_t start = nanoseconds(), batches;
	struct order_need need;
	struct epoch *e = make(s, p);
	double first, end, far, near = 0;
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
	near = look_up(e, p, batches, false, BATCHES);
	far = look_up(e, p, batches, true, far_look_ups);
	printf("%-22s %-24s %9.3f %9.2f %9.1f %11.2f %9ld\n", s->name, name, first, end, near,
	       far * p->batch_size / 1e3, rss_anon() - before);
	free(rows);
	epoch_free(e);
}

int main(void)
{
	static const struct scale scales[] = {
		{ "100 files of 1e8", 100, 100000000 },
		{ "150 files of 1e11", 150, 100000000000 },
		{ "150,000 files of 1e8", 150000, 100000000 },
	};
	struct order_params p = { .seq_len = SEQ_LEN, .world_size = 8, .batch_size = 32, .block = UINT64_C(1) << 28,
				  .mix_files = 32 };

	printf("%-22s %-24s %9s %9s %9s %11s %9s\n", "source", "order", "first ms", "end ms", "ns a row", "random us",
	       "KiB");
	for (unsigned i = 0; i < sizeof scales / sizeof *scales; i++) {
		struct order_params q = p;

		measure(&scales[i], "block", &q, 2000);
		q.stride = STRIDE_PIECE;
		measure(&scales[i], "block, stride=piece", &q, 2000);
		q.stride = STRIDE_SEQUENCE;
		q.shuffle = SHUFFLE_NONE;
		measure(&scales[i], "none", &q, 2000);
		q.shuffle = SHUFFLE_FULL;
		measure(&scales[i], "full", &q, 2000);
		q.shuffle = SHUFFLE_BLOCK;
		q.block = 1;
		measure(&scales[i], "block=1", &q, 2000);
		q = p;
		q.mix_files = 1 << 20;
		measure(&scales[i], "block, mix_files=2^20", &q, 2000);
	}
	return 0;
}
