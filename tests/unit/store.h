/* store: what the tests of cache and eviction share. */
#ifndef FW_TESTS_STORE_H
#define FW_TESTS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/cache.h"

/* A key that is different for each n. */
struct cache_key store_key(unsigned n);
/* "<dir>/v1/<kind>/ab/<62 hex><ending>", as the layout in cache.h says; static, overwritten by the next call.
 */
const char *store_path(const char *dir, const char *kind, unsigned n, const char *ending);

/* Opens a cache in dir that keeps no part of the disk free but one percent; NULL when that fails. */
struct cache *store_open(const char *dir, uint64_t size, bool (*keep)(void *, const struct cache_key *),
			 void *arg);

/* Writes a piece of 16-bit ids that are a function of n and place. 0 or -errno. */
int store_put(struct cache *c, unsigned n, size_t tokens);
/* 1 when piece n is there with the ids of store_put, 0 when it is not there, -1 when its bytes are wrong. */
int store_has(struct cache *c, unsigned n);

/* Files in dir whose names begin with "tmp.". */
unsigned store_temps(const char *dir);
/* Sets a file's mtime to `seconds` before now. */
void store_age(const char *path, long seconds);

#endif
