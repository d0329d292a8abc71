#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "unit/scratch.h"
#include "unit/store.h"

#define TOKENS 49968 /* a piece of exactly 100,000 bytes */
#define PIECE ((uint64_t)100000)

static char *dir;

static void setup(void)
{
	dir = scratch_make();
	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
}

static void teardown(void)
{
	scratch_remove(dir);
	dir = NULL;
}

/* Keeps the keys store_key(0) ... store_key(*arg - 1). */
static bool keep_first(void *arg, const struct cache_key *key)
{
	for (unsigned n = 0; n < *(unsigned *)arg; n++) {
		struct cache_key k = store_key(n);
		if (memcmp(k.bytes, key->bytes, sizeof k.bytes) == 0)
			return true;
	}
	return false;
}

static bool is_there(unsigned n)
{
	return access(store_path(dir, "pieces", n, ".tok"), F_OK) == 0;
}

static void age(unsigned n, long seconds)
{
	store_age(store_path(dir, "pieces", n, ".tok"), seconds);
}

static uint64_t bytes_of(struct cache *c)
{
	struct cache_counters k;
	cache_counters(c, &k);
	return k.bytes;
}

static void test_the_oldest_go(void)
{
	struct cache *c = store_open(dir, 10 * PIECE, NULL, NULL);
	struct cache_counters k;
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	for (unsigned n = 0; n < 10; n++) {
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
		age(n, 1000 + (long)(n * 7 % 10)); /* the oldest are 7, 4, 1 */
	}
	CU_ASSERT_EQUAL(bytes_of(c), 10 * PIECE);
	CU_ASSERT_EQUAL(store_put(c, 10, TOKENS), 0);
	/* Room for the new one, and down to 95 %. */
	CU_ASSERT(!is_there(7) && !is_there(4) && is_there(1) && is_there(10));
	CU_ASSERT_EQUAL(store_put(c, 11, TOKENS), 0);
	CU_ASSERT(is_there(1) && is_there(11));
	CU_ASSERT_EQUAL(store_put(c, 12, TOKENS), 0);
	CU_ASSERT(!is_there(1) && !is_there(8) && is_there(5) && is_there(10) && is_there(11) &&
		  is_there(12));
	cache_counters(c, &k);
	CU_ASSERT_EQUAL(k.evicted, 4);
	CU_ASSERT_EQUAL(k.pieces, 9);
	CU_ASSERT_EQUAL(k.bytes, 9 * PIECE);
	CU_ASSERT_EQUAL(k.failed_writes, 0);
	cache_close(c);
}

static void test_use_saves(void)
{
	struct cache *c = store_open(dir, 10 * PIECE, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	for (unsigned n = 0; n < 10; n++)
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
	cache_close(c);
	c = store_open(dir, 10 * PIECE, NULL, NULL);
	for (unsigned n = 0; n < 10; n++)
		age(n, 5000 - (long)n);
	CU_ASSERT_EQUAL(store_has(c, 0), 1);
	CU_ASSERT_EQUAL(store_put(c, 10, TOKENS), 0);
	CU_ASSERT(is_there(0) && !is_there(1) && !is_there(2) && is_there(3));
	cache_close(c);
}

static void test_what_is_there_counts(void)
{
	struct cache *c = store_open(dir, 0, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	for (unsigned n = 0; n < 20; n++) {
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
		age(n, 5000 - (long)n);
	}
	cache_close(c);
	c = store_open(dir, 10 * PIECE, NULL, NULL);
	CU_ASSERT_EQUAL(store_put(c, 20, TOKENS), 0);
	CU_ASSERT(!is_there(10) && is_there(11) && is_there(20));
	CU_ASSERT_EQUAL(bytes_of(c), 10 * PIECE);
	cache_close(c);
}

static void test_another_process_counts_too(void)
{
	struct cache *c = store_open(dir, 40 * PIECE, NULL, NULL), *d;
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(store_put(c, 0, TOKENS), 0);
	d = store_open(dir, 1000 * PIECE, NULL, NULL);
	for (unsigned n = 1; n < 60; n++)
		CU_ASSERT_EQUAL(store_put(d, n, TOKENS), 0);
	cache_close(d);
	for (unsigned n = 60; n < 64; n++)
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
	CU_ASSERT(bytes_of(c) <= 40 * PIECE);
	cache_close(c);
}

static void test_kept_pieces_stay(void)
{
	unsigned kept = 5;
	struct cache *c = store_open(dir, 10 * PIECE, keep_first, &kept);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	for (unsigned n = 0; n < 30; n++)
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
	for (unsigned n = 0; n < 5; n++)
		CU_ASSERT(is_there(n));
	CU_ASSERT(bytes_of(c) <= 10 * PIECE);
	cache_close(c);
}

static void test_all_kept_is_enospc(void)
{
	unsigned kept = 10;
	struct cache *c = store_open(dir, 10 * PIECE, keep_first, &kept);
	struct cache_counters k;
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	for (unsigned n = 0; n < 10; n++)
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
	CU_ASSERT_EQUAL(store_put(c, 10, TOKENS), -ENOSPC);
	CU_ASSERT_EQUAL(store_put(c, 11, TOKENS), -ENOSPC);
	for (unsigned n = 0; n < 10; n++)
		CU_ASSERT_EQUAL(store_has(c, n), 1);
	cache_counters(c, &k);
	CU_ASSERT(k.failed_writes == 2 && k.evicted == 0 && k.bytes == 10 * PIECE);
	kept = 0;
	sleep(3); /* after a scan that found no room, the next waits a moment */
	CU_ASSERT_EQUAL(store_put(c, 10, TOKENS), 0);
	CU_ASSERT_EQUAL(store_has(c, 10), 1);
	cache_close(c);
}

static void test_one_evictor_at_a_time(void)
{
	char path[4096];
	struct cache *c = store_open(dir, 5 * PIECE, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	snprintf(path, sizeof path, "%s/v1/locks/evict", dir);
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	CU_ASSERT_EQUAL(flock(fd, LOCK_EX), 0);
	for (unsigned n = 0; n < 10; n++)
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
	for (unsigned n = 0; n < 10; n++)
		CU_ASSERT(is_there(n));
	close(fd);
	CU_ASSERT_EQUAL(store_put(c, 10, TOKENS), 0);
	CU_ASSERT(bytes_of(c) <= 5 * PIECE);
	cache_close(c);
}

static void test_eviction_does_not_disturb_an_open_piece(void)
{
	struct cache *c = store_open(dir, 5 * PIECE, NULL, NULL);
	struct cache_key key = store_key(0);
	struct cached_piece p;
	static uint8_t before[2 * TOKENS], after[2 * TOKENS];
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(store_put(c, 0, TOKENS), 0);
	CU_ASSERT_EQUAL_FATAL(cache_find(c, &key, &p, NULL), 0);
	CU_ASSERT_EQUAL(source_read(p.source, CACHE_HEADER, before, sizeof before, NULL), 0);
	age(0, 1000);
	for (unsigned n = 1; n < 7; n++)
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
	CU_ASSERT(!is_there(0));
	CU_ASSERT_EQUAL(source_read(p.source, CACHE_HEADER, after, sizeof after, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(before, after, sizeof after), 0);
	source_close(p.source);
	cache_close(c);
}

static void test_foreign_files_are_left_alone(void)
{
	static const char *const names[] = {
		"README", "ab/README", "ab/xx.tok",
		"ab/ABCDEF00112233445566778899aabbccddeeff00112233445566778899aabb.tok", "zz/x"
	};
	char path[4096];
	struct cache *c = store_open(dir, 2 * PIECE, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path,
			 "mkdir -p %s/v1/pieces/ab %s/v1/pieces/zz && touch -d 2001-01-01 %s/v1/pieces/%s",
			 dir, dir, dir, names[i]);
		CU_ASSERT_EQUAL(system(path), 0);
	}
	for (unsigned n = 0; n < 6; n++)
		CU_ASSERT_EQUAL(store_put(c, n, TOKENS), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/v1/pieces/%s", dir, names[i]);
		CU_ASSERT_EQUAL(access(path, F_OK), 0);
	}
	cache_close(c);
}

static struct cache *shared;
static atomic_int wrong;

static void *use_often(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	for (int i = 0; i < 100; i++) {
		unsigned n = (unsigned)rand_r(&seed) % 40;
		int has = store_has(shared, n);
		if (has < 0 || (has == 0 && store_put(shared, n, TOKENS) != 0))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void test_threads_that_evict_one_another(void)
{
	pthread_t threads[4];
	struct cache_counters k;
	shared = store_open(dir, 20 * PIECE, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
	for (uintptr_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, use_often, (void *)i), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CU_ASSERT_EQUAL(wrong, 0);
	cache_counters(shared, &k);
	CU_ASSERT(k.evicted > 20 && k.damaged == 0 && k.failed_writes == 0);
	/* Threads that write while another evicts go on: a piece each above the bound at most. */
	unsigned there = 0;
	for (unsigned n = 0; n < 40; n++)
		there += is_there(n);
	CU_ASSERT(there > 10 && there <= 24);
	cache_close(shared);
}

#define EXPECT(what)                                                        \
	do {                                                                \
		if (!(what)) {                                              \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #what); \
			fflush(stdout);                                     \
			_exit(1);                                           \
		}                                                           \
	} while (0)

/* Runs `what` in a child with a disk of 8 MiB of its own at dir. */
static void on_a_small_disk(void (*what)(void))
{
	pid_t child = geteuid() == 0 ? fork() : -1;
	if (child == 0) {
		if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("none", dir, "tmpfs", 0, "size=8m,mode=0755") != 0)
			_exit(77);
		what();
		_exit(0);
	}
	int status = 77 << 8;
	if (child > 0)
		waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		unit_skip("needs the right to mount");
	else
		CU_ASSERT_EQUAL(status, 0);
}

static double free_part(void)
{
	struct statvfs v;
	EXPECT(statvfs(dir, &v) == 0);
	return (double)v.f_bavail / (double)v.f_blocks;
}

static void small_disk_keeps_a_part_free(void)
{
	struct error err;
	struct cache *c;
	struct cache_options o = { .dir = dir, .size = (uint64_t)1 << 40 };
	EXPECT(cache_open(&o, &c, &err) == 0);
	for (unsigned n = 0; n < 60; n++) {
		EXPECT(store_put(c, n, 5 * TOKENS) == 0);
		EXPECT(store_has(c, n) == 1);
		EXPECT(free_part() > 0.0999);
	}
	EXPECT(free_part() < 0.25);
	EXPECT(store_has(c, 0) == 0);
	cache_close(c);
}

static void small_disk_that_others_fill(void)
{
	unsigned kept = 3;
	char path[4096];
	static uint8_t zeros[1 << 20];
	struct cache *c = store_open(dir, (uint64_t)1 << 40, keep_first, &kept);
	struct cache_counters k;
	EXPECT(c != NULL);
	for (unsigned n = 0; n < 3; n++)
		EXPECT(store_put(c, n, TOKENS) == 0);
	snprintf(path, sizeof path, "%s/filler", dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0644);
	while (write(fd, zeros, sizeof zeros) > 0)
		;
	close(fd);
	EXPECT(free_part() == 0);
	EXPECT(store_put(c, 3, 10 * TOKENS) == -ENOSPC);
	sleep(3);
	EXPECT(store_put(c, 3, 10 * TOKENS) == -ENOSPC);
	for (unsigned n = 0; n < 3; n++)
		EXPECT(store_has(c, n) == 1);
	snprintf(path, sizeof path, "%s/v1/pieces", dir);
	EXPECT(store_temps(path) == 0);
	cache_counters(c, &k);
	EXPECT(k.failed_writes == 2 && k.evicted == 0 && k.pieces == 3);
	snprintf(path, sizeof path, "%s/filler", dir);
	unlink(path);
	sleep(3);
	EXPECT(store_put(c, 3, 10 * TOKENS) == 0);
	EXPECT(store_has(c, 3) == 1);
	cache_close(c);
}

static void small_disk_made_read_only(void)
{
	struct error err;
	struct cache_key key = store_key(1);
	struct cache_lock *l;
	struct cache *c = store_open(dir, (uint64_t)1 << 40, NULL, NULL);
	struct cache_options o = { .dir = dir };
	EXPECT(c != NULL && store_put(c, 0, TOKENS) == 0);
	cache_close(c);
	EXPECT(mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	c = store_open(dir, (uint64_t)1 << 40, NULL, NULL);
	EXPECT(c != NULL && store_has(c, 0) == 1);
	EXPECT(store_put(c, 1, TOKENS) == -EROFS);
	EXPECT(cache_lock(c, &key, 0, &l) == 0);
	cache_unlock(l);
	cache_close(c);
	EXPECT(mount("none", dir, NULL, MS_REMOUNT, NULL) == 0);
	scratch_remove(strcat(strcpy(malloc(4096), dir), "/v1"));
	EXPECT(mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	EXPECT(cache_open(&o, &c, &err) == -EROFS);
}

static void test_a_part_of_the_disk_stays_free(void)
{
	on_a_small_disk(small_disk_keeps_a_part_free);
}

static void test_a_full_disk(void)
{
	on_a_small_disk(small_disk_that_others_fill);
}

static void test_a_read_only_disk(void)
{
	on_a_small_disk(small_disk_made_read_only);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "the oldest go", test_the_oldest_go },
		{ "use saves", test_use_saves },
		{ "what is there counts", test_what_is_there_counts },
		{ "another process counts too", test_another_process_counts_too },
		{ "kept pieces stay", test_kept_pieces_stay },
		{ "all kept is ENOSPC", test_all_kept_is_enospc },
		{ "one evictor at a time", test_one_evictor_at_a_time },
		{ "eviction does not disturb an open piece", test_eviction_does_not_disturb_an_open_piece },
		{ "foreign files are left alone", test_foreign_files_are_left_alone },
		{ "threads that evict one another", test_threads_that_evict_one_another },
		{ "a part of the disk stays free", test_a_part_of_the_disk_stays_free },
		{ "a full disk", test_a_full_disk },
		{ "a read-only disk", test_a_read_only_disk },
		CU_TEST_INFO_NULL,
	};
	return unit_main_each("eviction", tests, setup, teardown);
}
