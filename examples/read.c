/* read FOLDER BATCH_SIZE SEQ_LEN: reads every batch file of a rank's folder, as a trainer in C would. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: read FOLDER BATCH_SIZE SEQ_LEN\n");
		return 2;
	}
	size_t rows = strtoul(argv[2], NULL, 10), length = strtoul(argv[3], NULL, 10) + 1;
	unsigned char *bytes = malloc(rows * length * 2);
	unsigned long batches = 0;
	uint64_t sum = 0;
	for (; bytes != NULL; batches++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/batch_%04lu.bin", argv[1], batches);
		FILE *f = fopen(path, "rb");
		if (f == NULL)
			break; /* behind the last batch */
		if (fread(bytes, 2 * length, rows, f) != rows) {
			perror(path);
			return 1;
		}
		fclose(f);
		/* Row r is length tokens: inputs 0 ... length - 2, targets 1 ... length - 1; little-endian uint16. */
		for (size_t i = 0; i < rows * length; i++)
			sum += (uint64_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
	}
	free(bytes);
	printf("%lu batches of %zu rows, sum %llu\n", batches, rows, (unsigned long long)sum);
	return batches == 0;
}
