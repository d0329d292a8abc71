/* bench_read: batches through a mount, as ratios to c_rand of the same run.
 *
 * usage: bench_read MOUNT SHARDS [ROUNDS [BATCHES]] [--cold]
 * MOUNT serves the token shards in SHARDS with the seq_len and batch_size of its dataset.json. c_rand is what
 * a C program without a loader does: batch_size preads of a row at random sequences of the same shards.
 * Rounds interleave the rows of the table; each row reads batches that no row before it has read, but for the
 * second read. --cold drops the shards from the page cache before each row and counts what the disk had to
 * read. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MOST = 100, FILES_MOST = 4096 };

static const char *mount_dir;
static unsigned seq_len, batch_size, width;
static int shard[FILES_MOST];
static uint64_t shard_tokens[FILES_MOST];
static unsigned shards;
static dev_t disk;
static uint8_t *buf;
static uint64_t checksum;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_read: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A number of dataset.json; the file is small and ours. */
static unsigned setting(const char *name)
{
	char path[4096], text[65536], key[64];
	snprintf(path, sizeof path, "%s/dataset.json", mount_dir);
	FILE *f = fopen(path, "r");
	if (f == NULL)
		die(path);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	snprintf(key, sizeof key, "\"%s\":", name);
	const char *at = strstr(text, key);
	return at == NULL ? 0 : (unsigned)strtoul(at + strlen(key), NULL, 10);
}

static void open_shards(const char *dir)
{
	char pattern[4096];
	glob_t g;
	snprintf(pattern, sizeof pattern, "%s/*.bin", dir);
	if (glob(pattern, 0, NULL, &g) != 0)
		die(pattern);
	for (size_t i = 0; i < g.gl_pathc && shards < FILES_MOST; i++) {
		struct stat st;
		shard[shards] = open(g.gl_pathv[i], O_RDONLY);
		if (shard[shards] < 0 || fstat(shard[shards], &st) != 0)
			die(g.gl_pathv[i]);
		disk = st.st_dev;
		shard_tokens[shards++] = (uint64_t)st.st_size / width;
	}
	globfree(&g);
}

static void evict(void)
{
	for (unsigned i = 0; i < shards; i++)
		posix_fadvise(shard[i], 0, 0, POSIX_FADV_DONTNEED);
}

/* Bytes that the disk has read so far (sectors of 512 bytes, the third number of its stat file). */
static uint64_t disk_bytes(void)
{
	char path[128];
	unsigned long long ios, merges, sectors;
	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(disk), minor(disk));
	FILE *f = fopen(path, "r");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%llu %llu %llu", &ios, &merges, &sectors) != 3)
		sectors = 0;
	fclose(f);
	return sectors * 512;
}

static uint64_t state = 88172645463325252u;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void c_rand(uint64_t first, unsigned batches)
{
	size_t row = (size_t)(seq_len + 1) * width;
	(void)first;
	for (unsigned b = 0; b < batches; b++) {
		for (unsigned j = 0; j < batch_size; j++) {
			unsigned s = (unsigned)(random64() % shards);
			uint64_t q = random64() % ((shard_tokens[s] - 1) / seq_len);
			if (pread(shard[s], buf + j * row, row, (off_t)(q * seq_len * width)) != (ssize_t)row)
				die("pread of a shard");
		}
		checksum += buf[7];
	}
}

/* The most that a program can do that knows its order: the rows of the batch 8 ahead are announced. */
static void c_announced(uint64_t first, unsigned batches)
{
	enum { AHEAD = 8, ROWS_MOST = 4096 };
	static struct {
		unsigned s;
		uint64_t at;
	} ring[AHEAD][ROWS_MOST];
	size_t row = (size_t)(seq_len + 1) * width;
	unsigned rows = batch_size < ROWS_MOST ? batch_size : ROWS_MOST;
	(void)first;
	for (unsigned b = 0; b < batches + AHEAD; b++)
		for (unsigned j = 0; j < rows; j++) {
			unsigned s = ring[b % AHEAD][j].s;
			if (b >= AHEAD &&
			    pread(shard[s], buf + j * row, row, (off_t)ring[b % AHEAD][j].at) != (ssize_t)row)
				die("pread of a shard");
			s = (unsigned)(random64() % shards);
			uint64_t at = random64() % ((shard_tokens[s] - 1) / seq_len) * seq_len * width;
			ring[b % AHEAD][j].s = s;
			ring[b % AHEAD][j].at = at;
			if (b < batches)
				posix_fadvise(shard[s], (off_t)at, (off_t)row, POSIX_FADV_WILLNEED);
		}
	checksum += buf[7];
}

static void files(uint64_t first, unsigned batches)
{
	size_t size = (size_t)(seq_len + 1) * width * batch_size;
	char path[4096];
	for (uint64_t b = first; b < first + batches; b++) {
		snprintf(path, sizeof path, "%s/rank_0/batch_%04" PRIu64 ".bin", mount_dir, b);
		int fd = open(path, O_RDONLY);
		if (fd < 0)
			die(path);
		if (read(fd, buf, size) != (ssize_t)size)
			die(path);
		close(fd);
		checksum += buf[7];
	}
}

static void whole(uint64_t first, unsigned batches)
{
	static int fd = -1;
	size_t size = (size_t)(seq_len + 1) * width * batch_size;
	char path[4096];
	snprintf(path, sizeof path, "%s/rank_0/epoch.bin", mount_dir);
	if (fd < 0 && (fd = open(path, O_RDONLY)) < 0)
		die(path);
	for (uint64_t b = first; b < first + batches; b++) {
		if (pread(fd, buf, size, (off_t)(b * size)) != (ssize_t)size)
			die(path);
		checksum += buf[7];
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof *v, by_value);
	return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(uint64_t first, unsigned batches);
		int warm, cold; /* row of that table */
	} rows[] = {
		{ "c_rand", c_rand, 1, 1 },
		{ "c_rand, announced ahead", c_announced, 0, 1 },
		{ "batch files, first read", files, 1, 1 },
		{ "batch files, second read", files, 1, 0 },
		{ "epoch.bin, first read", whole, 1, 1 },
	};
	enum { ROWS = sizeof rows / sizeof *rows };
	static double us[ROWS][ROUNDS_MOST], ratio[ROWS][ROUNDS_MOST], amplified[ROWS][ROUNDS_MOST];
	int cold = argc > 1 && strcmp(argv[argc - 1], "--cold") == 0;
	argc -= cold;
	if (argc < 3) {
		fprintf(stderr, "usage: bench_read MOUNT SHARDS [ROUNDS [BATCHES]] [--cold]\n");
		return 2;
	}
	mount_dir = argv[1];
	unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 9;
	unsigned batches = argc > 4 ? (unsigned)atoi(argv[4]) : cold ? 200 : 1000;
	if (rounds < 1 || rounds > ROUNDS_MOST)
		rounds = ROUNDS_MOST;
	seq_len = setting("seq_len");
	batch_size = setting("batch_size");
	width = 2;
	open_shards(argv[2]);
	size_t size = (size_t)(seq_len + 1) * width * batch_size;
	buf = malloc(size);
	if (buf == NULL)
		die("memory");
	whole(0, 1); /* its look-up counts to the end, once */
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < ROWS; i++) {
			/* The first batches of the epoch stay out: a block that is small is not what is
			 * measured. */
			uint64_t first = 1000 + (uint64_t)r * batches;
			if (cold ? !rows[i].cold : !rows[i].warm)
				continue;
			if (cold)
				evict();
			uint64_t before = disk_bytes();
			double t = now();
			rows[i].run(first, batches);
			t = now() - t;
			us[i][r] = t / batches * 1e6;
			ratio[i][r] = us[0][r] / us[i][r];
			amplified[i][r] = (double)(disk_bytes() - before) / ((double)size * batches);
		}
	printf("%s, %u x %u x %u bytes a batch, %u rounds of %u batches\n", cold ? "cold disk" : "page cache",
	       batch_size, seq_len + 1, width, rounds, batches);
	printf("%-26s %10s %10s%s\n", "row", "us/batch", "of c_rand", cold ? "   disk/served" : "");
	for (unsigned i = 0; i < ROWS; i++)
		if (cold ? rows[i].cold : rows[i].warm) {
			printf("%-26s %10.1f %10.2f", rows[i].name, median(us[i], rounds),
			       median(ratio[i], rounds));
			if (cold)
				printf(" %13.2f", median(amplified[i], rounds));
			printf("\n");
		}
	return checksum == 1; /* keeps the reads */
}
