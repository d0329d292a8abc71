/* llmc PATTERN: batches of two processes as llm.c's DataLoader (dataloader.h) reads them: header and sizes are checked for every
 * shard first, then each process seeks to its part of each batch. */
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADER = 256, B = 4, T = 256, PROCESSES = 2, STEPS = 60 };

struct loader {
	int rank;
	size_t shard, at, shard_samples;
	glob_t files;
	FILE *f;
	int64_t shard_bytes;
	uint16_t buffer[B * T + 1];
};

static void check(int good, const char *what, const char *path)
{
	if (good)
		return;
	fprintf(stderr, "Error: %s: %s\n", path, what);
	exit(EXIT_FAILURE);
}

static int64_t load_shard(struct loader *l, size_t shard)
{
	const char *path = l->files.gl_pathv[shard];
	int32_t header[HEADER];
	if (l->f != NULL)
		fclose(l->f);
	l->f = fopen(path, "rb");
	check(l->f != NULL, "cannot open", path);
	check(fread(header, sizeof *header, HEADER, l->f) == HEADER, "short header", path);
	check(header[0] == 20240520, "bad magic in the data file", path);
	check(header[1] == 1, "bad version in data file", path);
	int64_t ntok = header[2];
	check(ntok > 0, "no tokens", path);
	fseek(l->f, 0, SEEK_END);
	l->shard_bytes = ftell(l->f);
	check(l->shard_bytes == HEADER * 4 + ntok * 2, "file size is not as expected", path);
	check(ntok >= (int64_t)PROCESSES * B * T + 1, "not enough tokens for a batch", path);
	l->shard_samples = ((size_t)ntok - 1) / (PROCESSES * B * T);
	return ntok;
}

static void next_batch(struct loader *l)
{
	if (l->at >= l->shard_samples) {
		l->shard = (l->shard + 1) % l->files.gl_pathc;
		load_shard(l, l->shard);
		l->at = 0;
	}
	size_t batch_bytes = PROCESSES * B * T * 2, offset = (size_t)l->rank * B * T * 2;
	fseek(l->f, (long)(HEADER * 4 + l->at * batch_bytes + offset), SEEK_SET);
	check(fread(l->buffer, 2, B * T + 1, l->f) == B * T + 1, "short batch", l->files.gl_pathv[l->shard]);
	l->at++;
}

int main(int argc, char **argv)
{
	for (int rank = 0; argc == 2 && rank < PROCESSES; rank++) {
		struct loader l = { .rank = rank };
		int64_t tokens = 0;
		check(glob(argv[1], 0, NULL, &l.files) == 0, "no files match", argv[1]);
		for (size_t k = 0; k < l.files.gl_pathc; k++)
			tokens += load_shard(&l, k);
		printf("rank %d: %zu shards, %lld tokens\n", rank, l.files.gl_pathc, (long long)tokens);
		load_shard(&l, 0);
		for (int step = 0; step < STEPS; step++) {
			unsigned long sum = 0;
			next_batch(&l);
			for (int i = 0; i < B * T; i++)
				sum += l.buffer[i];
			printf("%d %zu %lu %u %u\n", step, l.shard, sum, (unsigned)l.buffer[0], (unsigned)l.buffer[B * T]);
		}
		fclose(l.f);
		globfree(&l.files);
	}
	return argc != 2;
}
