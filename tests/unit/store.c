#define _GNU_SOURCE
#include "unit/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/span.h"

struct cache_key store_key(unsigned n)
{
	struct cache_key key;
	hash_of(&n, sizeof n, key.bytes);
	return key;
}

const char *store_path(const char *dir, const char *kind, unsigned n, const char *ending)
{
	static char path[4096];
	struct cache_key key = store_key(n);
	int at = snprintf(path, sizeof path, "%s/v1/%s/%02x/", dir, kind, key.bytes[0]);
	for (size_t i = 1; i < HASH_SIZE; i++)
		at += snprintf(path + at, sizeof path - (size_t)at, "%02x", key.bytes[i]);
	snprintf(path + at, sizeof path - (size_t)at, "%s", ending);
	return path;
}

struct cache *store_open(const char *dir, uint64_t size, bool (*keep)(void *, const struct cache_key *),
			 void *arg)
{
	struct error err;
	struct cache *c = NULL;
	struct cache_options o = {
		.dir = dir, .size = size, .keep_free_percent = 1, .keep = keep, .keep_arg = arg
	};
	if (cache_open(&o, &c, &err) != 0)
		printf("# %s\n", err.text);
	return c;
}

static uint16_t id_of(unsigned n, size_t i)
{
	return (uint16_t)(n * 40503u + i * 31u + i / 1000u);
}

int store_put(struct cache *c, unsigned n, size_t tokens)
{
	struct cache_key key = store_key(n);
	struct cache_writer *w;
	struct error err;
	int r = cache_begin(c, &key, 2, &w, &err);
	if (r != 0)
		return r;
	for (size_t i = 0; r == 0 && i < tokens;) {
		uint8_t ids[2 * 777];
		size_t part = tokens - i < 777 ? tokens - i : 777;
		for (size_t k = 0; k < part; k++)
			store_u16(ids + 2 * k, id_of(n, i + k));
		r = cache_write(w, ids, part, &err);
		i += part;
	}
	if (r != 0) {
		cache_abort(w);
		return r;
	}
	return cache_commit(w, n, NULL, &err);
}

int store_has(struct cache *c, unsigned n)
{
	struct cache_key key = store_key(n);
	struct cached_piece p;
	struct error err;
	if (cache_find(c, &key, &p, &err) != 0)
		return 0;
	bool good = p.width == 2 && p.documents == n;
	uint8_t *ids = malloc(2 * p.tokens + 1);
	good = good && ids != NULL && source_read(p.source, CACHE_HEADER, ids, 2 * p.tokens, &err) == 0;
	for (size_t i = 0; good && i < p.tokens; i++)
		good = load_u16(ids + 2 * i) == id_of(n, i);
	free(ids);
	source_close(p.source);
	return good ? 1 : -1;
}

unsigned store_temps(const char *dir)
{
	unsigned n = 0;
	DIR *d = opendir(dir);
	for (struct dirent *e = d == NULL ? NULL : readdir(d); e != NULL; e = readdir(d))
		n += strncmp(e->d_name, "tmp.", 4) == 0;
	if (d != NULL)
		closedir(d);
	return n;
}

void store_age(const char *path, long seconds)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec -= seconds;
	struct timespec times[2] = { now, now };
	utimensat(AT_FDCWD, path, times, 0);
}
