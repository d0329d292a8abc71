#define _GNU_SOURCE
#include "unit/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

char *scratch_make(void)
{
	char *dir;
	const char *top = getenv("TMPDIR");
	if (asprintf(&dir, "%s/fineweb-test-XXXXXX", top == NULL ? "/tmp" : top) < 0)
		return NULL;
	if (mkdtemp(dir) == NULL) {
		free(dir);
		return NULL;
	}
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void scratch_remove(char *dir)
{
	if (dir != NULL)
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}
