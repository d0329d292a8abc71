/* replay: runs a libFuzzer target over every file of its corpus, without libFuzzer.
 *
 * usage: PROGRAM DIR... ; one TAP line a folder. Without arguments: $srcdir/tests/fuzz/corpus/<program's name less "fuzz_">. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		return -1;
	size_t n = 0, room = 1 << 16;
	uint8_t *bytes = malloc(room);
	while (bytes != NULL) {
		n += fread(bytes + n, 1, room - n, f);
		if (n < room)
			break;
		uint8_t *more = realloc(bytes, room *= 2);
		if (more == NULL)
			free(bytes);
		bytes = more;
	}
	fclose(f);
	if (bytes == NULL)
		return -1;
	/* An exact copy, so that a sanitizer sees a read past the end. */
	uint8_t *exact = malloc(n > 0 ? n : 1);
	if (exact != NULL) {
		memcpy(exact, bytes, n);
		LLVMFuzzerTestOneInput(exact, n);
	}
	free(exact);
	free(bytes);
	return exact == NULL ? -1 : 0;
}

static int replay_dir(const char *dir, unsigned number)
{
	DIR *d = opendir(dir);
	unsigned files = 0, failed = 0;
	struct dirent *e;
	while (d != NULL && (e = readdir(d)) != NULL) {
		char path[4096];
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		files++;
		failed += replay_file(path) != 0;
	}
	if (d != NULL)
		closedir(d);
	printf("%s %u - %u files of %s\n", files > 0 && failed == 0 ? "ok" : "not ok", number, files, dir);
	return files == 0 || failed > 0;
}

int main(int argc, char **argv)
{
	char own[4096];
	const char *base = strrchr(argv[0], '/');
	const char *top = getenv("srcdir");
	base = base == NULL ? argv[0] : base + 1;
	if (strncmp(base, "fuzz_", 5) == 0)
		base += 5;
	snprintf(own, sizeof own, "%s/tests/fuzz/corpus/%s", top == NULL ? "." : top, base);
	char *one[] = { argv[0], own };
	if (argc < 2) {
		argc = 2;
		argv = one;
	}
	int bad = 0;
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++)
		bad |= replay_dir(argv[i], (unsigned)i);
	return bad;
}
