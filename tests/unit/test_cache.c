#define _GNU_SOURCE
#include "unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/span.h"
#include "unit/scratch.h"
#include "unit/store.h"

#define GIB ((uint64_t)1 << 30)

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

static struct cache *open_cache(void)
{
	struct cache *c = store_open(dir, GIB, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	return c;
}

static const char *piece_path(unsigned n)
{
	return store_path(dir, "pieces", n, ".tok");
}

static void test_round_trips(void)
{
	static const size_t sizes[] = { 0, 1, 1024, 524255, 524256, 524257, 1500000 };
	struct cache *c = open_cache();
	struct cache_counters k;
	CU_ASSERT_EQUAL(store_has(c, 0), 0);
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CU_ASSERT_EQUAL(store_put(c, i, sizes[i]), 0);
		CU_ASSERT_EQUAL(store_has(c, i), 1);
	}
	cache_counters(c, &k);
	CU_ASSERT_EQUAL(k.pieces, 7);
	CU_ASSERT_EQUAL(k.bytes, 7 * 64 + 2 * (1 + 1024 + 524255 + 524256 + 524257 + 1500000));
	CU_ASSERT_EQUAL(k.damaged + k.evicted + k.failed_writes, 0);
	cache_close(c);
	c = open_cache();
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		CU_ASSERT_EQUAL(store_has(c, i), 1);
	cache_close(c);
	CU_ASSERT_EQUAL(store_temps(dir), 0);
}

static void test_wide_ids_and_commit_opens(void)
{
	struct cache *c = open_cache();
	struct cache_key key = store_key(1);
	struct cache_writer *w;
	struct cached_piece p;
	struct error err;
	uint8_t ids[4 * 3] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, back[4 * 3];
	CU_ASSERT_EQUAL_FATAL(cache_begin(c, &key, 4, &w, &err), 0);
	CU_ASSERT_EQUAL(cache_write(w, ids, 3, &err), 0);
	CU_ASSERT_EQUAL_FATAL(cache_commit(w, 9, &p, &err), 0);
	CU_ASSERT(p.width == 4 && p.tokens == 3 && p.documents == 9);
	CU_ASSERT_EQUAL(source_read(p.source, CACHE_HEADER, back, sizeof back, &err), 0);
	CU_ASSERT_EQUAL(memcmp(ids, back, sizeof ids), 0);
	source_close(p.source);
	cache_close(c);
}

/* A file as cache.h describes it, made without the code under test. */
static size_t make_file(uint8_t *bytes, const char *magic, unsigned n, uint32_t width, uint32_t tokens)
{
	struct cache_key key = store_key(n);
	uint8_t sum[HASH_SIZE];
	size_t size = (size_t)tokens * width;
	memset(bytes, 0, 64);
	memcpy(bytes, magic, 8);
	bytes[8] = 1;
	store_u32(bytes + 12, width);
	store_u32(bytes + 16, tokens);
	bytes[24] = (uint8_t)n;
	memcpy(bytes + 32, key.bytes, 16);
	for (size_t i = 0; i < size; i++)
		bytes[64 + i] = (uint8_t)(i * 7);
	struct hash *h = hash_new();
	hash_add(h, bytes + 64, size);
	hash_add(h, bytes, 48);
	hash_end(h, sum);
	memcpy(bytes + 48, sum, 16);
	return 64 + size;
}

static bool write_file(const char *path, const void *bytes, size_t n)
{
	char parent[4096];
	snprintf(parent, sizeof parent, "%s", path);
	*strrchr(parent, '/') = 0;
	mkdir(parent, 0755);
	FILE *f = fopen(path, "wb");
	return f != NULL && fwrite(bytes, 1, n, f) == n && fclose(f) == 0;
}

static void test_layout_is_the_documented_one(void)
{
	struct cache *c = open_cache();
	struct cache_key key = store_key(3);
	struct cached_piece p;
	struct error err;
	struct stat st;
	uint8_t bytes[64 + 40], back[64 + 40];
	size_t n = make_file(bytes, "FWPIECE1", 3, 2, 20);
	CU_ASSERT_FATAL(write_file(piece_path(3), bytes, n));
	CU_ASSERT_EQUAL_FATAL(cache_find(c, &key, &p, &err), 0);
	CU_ASSERT(p.tokens == 20 && p.width == 2 && p.documents == 3 && p.source->size == n);
	source_close(p.source);

	unlink(piece_path(3));
	struct cache_writer *w;
	CU_ASSERT_EQUAL_FATAL(cache_begin(c, &key, 2, &w, &err), 0);
	CU_ASSERT_EQUAL(cache_write(w, bytes + 64, 20, &err), 0);
	CU_ASSERT_EQUAL(cache_commit(w, 3, NULL, &err), 0);
	FILE *f = fopen(piece_path(3), "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(fread(back, 1, sizeof back, f), n);
	fclose(f);
	CU_ASSERT_EQUAL(memcmp(bytes, back, n), 0);
	CU_ASSERT(stat(piece_path(3), &st) == 0 && (st.st_mode & 07733) == 0600);
	cache_close(c);
}

static void flip(const char *path, size_t at)
{
	uint8_t byte;
	int fd = open(path, O_RDWR);
	if (fd < 0)
		return;
	if (pread(fd, &byte, 1, (off_t)at) == 1) {
		byte ^= 0x10;
		if (pwrite(fd, &byte, 1, (off_t)at) != 1)
			byte = 0;
	}
	close(fd);
}

/* Finds piece 1 with a cache that has not seen it: damaged, deleted and counted; then it can be made again.
 */
static void expect_damaged(void)
{
	struct cache *c = open_cache();
	struct cache_counters k;
	CU_ASSERT_EQUAL(store_has(c, 1), 0);
	CU_ASSERT(access(piece_path(1), F_OK) != 0);
	cache_counters(c, &k);
	CU_ASSERT_EQUAL(k.damaged, 1);
	CU_ASSERT_EQUAL(store_put(c, 1, 5000), 0);
	CU_ASSERT_EQUAL(store_has(c, 1), 1);
	cache_close(c);
}

static void test_every_flipped_byte_is_found(void)
{
	struct cache *c = open_cache();
	CU_ASSERT_EQUAL(store_put(c, 1, 5000), 0);
	CU_ASSERT_EQUAL(store_put(c, 2, 5000), 0);
	cache_close(c);
	for (size_t at = 0; at < 64 + 10000; at += at < 64 ? 1 : 497) {
		flip(piece_path(1), at);
		expect_damaged();
	}
	flip(piece_path(1), 64 + 9999);
	expect_damaged();
	c = open_cache();
	CU_ASSERT_EQUAL(store_has(c, 2), 1);
	cache_close(c);
}

static void test_wrong_sizes_are_found(void)
{
	static const long sizes[] = { 0, 1, 63, 64, 65, 5000, 10063, 10065, 20000 };
	struct cache *c = open_cache();
	CU_ASSERT_EQUAL(store_put(c, 1, 5000), 0);
	cache_close(c);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CU_ASSERT_EQUAL(truncate(piece_path(1), sizes[i]), 0);
		expect_damaged();
	}
}

static void test_a_file_under_another_name(void)
{
	char from[4096];
	struct cache *c = open_cache();
	CU_ASSERT_EQUAL(store_put(c, 1, 5000), 0);
	CU_ASSERT_EQUAL(store_put(c, 2, 5000), 0);
	cache_close(c);
	snprintf(from, sizeof from, "%s", piece_path(2));
	CU_ASSERT_EQUAL(rename(from, piece_path(1)), 0);
	expect_damaged();
}

static void test_a_file_made_anew_is_verified_anew(void)
{
	uint8_t bytes[64 + 40];
	struct cache *c = open_cache();
	struct cache_counters k;
	CU_ASSERT_EQUAL(store_put(c, 1, 20), 0);
	CU_ASSERT_EQUAL(store_has(c, 1), 1);
	size_t n = make_file(bytes, "FWPIECE1", 1, 2, 20);
	bytes[70] ^= 1;
	char aside[4096];
	snprintf(aside, sizeof aside, "%s/aside", dir);
	CU_ASSERT(write_file(aside, bytes, n) && rename(aside, piece_path(1)) == 0);
	CU_ASSERT_EQUAL(store_has(c, 1), 0);
	cache_counters(c, &k);
	CU_ASSERT_EQUAL(k.damaged, 1);
	cache_close(c);
}

static time_t mtime_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_mtime : 0;
}

static void test_use_is_marked_once_a_minute(void)
{
	struct cache *c = open_cache();
	CU_ASSERT_EQUAL(store_put(c, 1, 10), 0);
	cache_close(c);
	c = open_cache();
	store_age(piece_path(1), 5000);
	CU_ASSERT_EQUAL(store_has(c, 1), 1);
	CU_ASSERT(time(NULL) - mtime_of(piece_path(1)) < 100);
	store_age(piece_path(1), 5000);
	CU_ASSERT_EQUAL(store_has(c, 1), 1);
	CU_ASSERT(time(NULL) - mtime_of(piece_path(1)) > 4000);
	cache_close(c);
}

/* Many ids at once take another way than few. */
static void test_many_ids_at_once(void)
{
	enum { FEW = 5, MANY = 400001, ALL = 2 * FEW + MANY };
	struct cache *c = open_cache();
	struct cache_key key = store_key(1);
	struct cache_writer *w;
	struct cached_piece p;
	uint8_t *ids = malloc(2 * ALL), *back = malloc(2 * ALL);
	CU_ASSERT_FATAL(ids != NULL && back != NULL);
	for (size_t i = 0; i < 2 * ALL; i++)
		ids[i] = (uint8_t)(i * 31 + i / 256);
	CU_ASSERT_EQUAL_FATAL(cache_begin(c, &key, 2, &w, NULL), 0);
	CU_ASSERT_EQUAL(cache_write(w, ids, FEW, NULL), 0);
	CU_ASSERT_EQUAL(cache_write(w, ids + 2 * FEW, MANY, NULL), 0);
	CU_ASSERT_EQUAL(cache_write(w, ids + 2 * (FEW + MANY), FEW, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(cache_commit(w, 1, NULL, NULL), 0);
	cache_close(c);
	c = open_cache(); /* which looks at the checksum */
	CU_ASSERT_EQUAL_FATAL(cache_find(c, &key, &p, NULL), 0);
	CU_ASSERT(p.tokens == ALL && p.source->size == CACHE_HEADER + 2 * ALL);
	CU_ASSERT_EQUAL(source_read(p.source, CACHE_HEADER, back, 2 * ALL, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(ids, back, 2 * ALL), 0);
	source_close(p.source);
	cache_close(c);
	free(ids);
	free(back);
}

static void test_an_aborted_piece_leaves_nothing(void)
{
	struct cache *c = open_cache();
	struct cache_key key = store_key(1);
	struct cache_writer *w;
	struct cache_counters k;
	static uint8_t ids[3 << 20];
	char pieces[4096];
	snprintf(pieces, sizeof pieces, "%s/v1/pieces", dir);
	CU_ASSERT_EQUAL_FATAL(cache_begin(c, &key, 2, &w, NULL), 0);
	CU_ASSERT_EQUAL(cache_write(w, ids, sizeof ids / 2, NULL), 0);
	CU_ASSERT_EQUAL(store_temps(pieces), 1);
	cache_abort(w);
	cache_abort(NULL);
	CU_ASSERT_EQUAL(store_temps(pieces), 0);
	CU_ASSERT_EQUAL(store_has(c, 1), 0);
	cache_counters(c, &k);
	CU_ASSERT_EQUAL(k.bytes + k.pieces + k.failed_writes, 0);
	cache_close(c);
}

static void test_a_dead_writer_leaves_only_a_temporary(void)
{
	char pieces[4096], leftover[4096 + 300] = "";
	struct cache *c = open_cache();
	pid_t child = fork();
	if (child == 0) {
		struct cache_key key = store_key(1);
		struct cache_writer *w;
		static uint8_t ids[3 << 20];
		if (cache_begin(c, &key, 2, &w, NULL) == 0 && cache_write(w, ids, sizeof ids / 2, NULL) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	cache_close(c);
	snprintf(pieces, sizeof pieces, "%s/v1/pieces", dir);
	CU_ASSERT_EQUAL(store_temps(pieces), 1);
	c = open_cache();
	CU_ASSERT_EQUAL(store_has(c, 1), 0);
	CU_ASSERT_EQUAL(store_temps(pieces), 1);
	cache_close(c);
	DIR *d = opendir(pieces);
	for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
		if (strncmp(e->d_name, "tmp.", 4) == 0)
			snprintf(leftover, sizeof leftover, "%s/%s", pieces, e->d_name);
	closedir(d);
	store_age(leftover, 25 * 3600);
	cache_close(open_cache());
	CU_ASSERT_EQUAL(store_temps(pieces), 0);
}

static unsigned lock_files(void)
{
	char path[4096];
	unsigned n = 0;
	snprintf(path, sizeof path, "%s/v1/locks", dir);
	DIR *d = opendir(path);
	for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
		n += strstr(e->d_name, ".lock") != NULL;
	closedir(d);
	return n;
}

/* A child that holds the lock of key 1 for so long; returns when it does. */
static pid_t hold_lock(struct cache *c, useconds_t how_long)
{
	int ready[2];
	char byte;
	struct cache_key key = store_key(1);
	if (pipe(ready) != 0)
		return -1;
	pid_t child = fork();
	if (child == 0) {
		struct cache_lock *l;
		if (cache_lock(c, &key, 0, &l) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		usleep(how_long);
		cache_unlock(l);
		_exit(0);
	}
	close(ready[1]);
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void test_a_lock_excludes_other_processes(void)
{
	struct cache *c = open_cache();
	struct cache_key key = store_key(1), other = store_key(2);
	struct cache_lock *l, *m;
	pid_t child = hold_lock(c, 200000);
	CU_ASSERT_EQUAL(cache_lock(c, &key, 0, &l), -EAGAIN);
	CU_ASSERT_EQUAL(cache_lock(c, &key, 20, &l), -EAGAIN);
	CU_ASSERT_EQUAL_FATAL(cache_lock(c, &other, 0, &m), 0);
	CU_ASSERT_EQUAL_FATAL(cache_lock(c, &key, 20000, &l), 0);
	CU_ASSERT_EQUAL(cache_lock(c, &key, 0, &(struct cache_lock *){ NULL }), -EAGAIN);
	cache_unlock(l);
	cache_unlock(m);
	cache_unlock(NULL);
	waitpid(child, NULL, 0);
	CU_ASSERT_EQUAL(lock_files(), 0);
	cache_close(c);
}

static void test_a_killed_holder_lets_go(void)
{
	struct cache *c = open_cache();
	struct cache_key key = store_key(1);
	struct cache_lock *l;
	pid_t child = hold_lock(c, 60000000);
	CU_ASSERT_EQUAL(cache_lock(c, &key, 0, &l), -EAGAIN);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CU_ASSERT_EQUAL(lock_files(), 1);
	CU_ASSERT_EQUAL_FATAL(cache_lock(c, &key, 0, &l), 0);
	cache_unlock(l);
	CU_ASSERT_EQUAL(lock_files(), 0);
	cache_close(c);
}

static struct cache *shared;
static atomic_int inside, overlaps, taken;

static void *lock_often(void *arg)
{
	struct cache_key key = store_key(1);
	(void)arg;
	for (int i = 0; i < 100; i++) {
		struct cache_lock *l;
		if (cache_lock(shared, &key, 10000, &l) != 0)
			continue;
		if (atomic_fetch_add(&inside, 1) != 0)
			atomic_fetch_add(&overlaps, 1);
		atomic_fetch_add(&taken, 1);
		atomic_fetch_sub(&inside, 1);
		cache_unlock(l);
	}
	return NULL;
}

static void run_threads(void *(*what)(void *), int n)
{
	pthread_t threads[8];
	shared = open_cache();
	for (int i = 0; i < n; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, what, (void *)(intptr_t)i), 0);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void test_a_lock_excludes_other_threads(void)
{
	run_threads(lock_often, 4);
	CU_ASSERT_EQUAL(overlaps, 0);
	CU_ASSERT_EQUAL(taken, 400);
	CU_ASSERT_EQUAL(lock_files(), 0);
	cache_close(shared);
}

static atomic_int wrong;

static void *use_often(void *arg)
{
	unsigned seed = (unsigned)(intptr_t)arg;
	for (int i = 0; i < 150; i++) {
		unsigned n = (unsigned)rand_r(&seed) % 20;
		int has = store_has(shared, n);
		if (has < 0 || (has == 0 && store_put(shared, n, 1000 + n * 700) != 0))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void test_many_threads_at_once(void)
{
	run_threads(use_often, 4);
	CU_ASSERT_EQUAL(wrong, 0);
	for (unsigned n = 0; n < 20; n++)
		CU_ASSERT_EQUAL(store_has(shared, n), 1);
	cache_close(shared);
}

static void test_counts_are_published_once(void)
{
	struct cache *c = open_cache();
	struct cache_key key = store_key(1);
	struct buffer b = { 0 };
	struct error err;
	uint8_t bytes[64 + 200];
	char counts[4096];
	CU_ASSERT_EQUAL(cache_get_counts(c, &key, &b, &err), -ENOENT);
	CU_ASSERT_EQUAL(cache_put_counts(c, &key, "first", 5, &err), 0);
	CU_ASSERT_EQUAL(cache_put_counts(c, &key, "second", 6, &err), 0);
	CU_ASSERT_EQUAL(cache_get_counts(c, &key, &b, &err), 0);
	CU_ASSERT(b.n == 5 && memcmp(b.at, "first", 5) == 0);
	snprintf(counts, sizeof counts, "%s/v1/counts", dir);
	CU_ASSERT_EQUAL(store_temps(counts), 0);
	flip(store_path(dir, "counts", 1, ".cnt"), 66);
	CU_ASSERT_EQUAL(cache_get_counts(c, &key, &b, &err), -ENOENT);
	CU_ASSERT_EQUAL(b.n, 0);
	CU_ASSERT(access(store_path(dir, "counts", 1, ".cnt"), F_OK) != 0);
	CU_ASSERT_EQUAL(cache_put_counts(c, &key, "", 0, &err), 0);
	CU_ASSERT_EQUAL(cache_get_counts(c, &key, &b, &err), 0);
	CU_ASSERT_EQUAL(b.n, 0);
	size_t n = make_file(bytes, "FWCOUNT1", 2, 1, 200);
	CU_ASSERT(write_file(store_path(dir, "counts", 2, ".cnt"), bytes, n));
	key = store_key(2);
	CU_ASSERT_EQUAL(cache_get_counts(c, &key, &b, &err), 0);
	CU_ASSERT(b.n == 200 && memcmp(b.at, bytes + 64, 200) == 0);
	buffer_free(&b);
	cache_close(c);
}

static void test_folders_are_made(void)
{
	char deep[4096];
	struct error err;
	struct cache *c;
	struct cache_options o = { .dir = deep };
	snprintf(deep, sizeof deep, "%s/a//b/c/", dir);
	CU_ASSERT_EQUAL_FATAL(cache_open(&o, &c, &err), 0);
	snprintf(deep, sizeof deep, "%s/a/b/c", dir);
	CU_ASSERT_STRING_EQUAL(cache_dir(c), deep);
	CU_ASSERT(cache_bound(c) > 0 && cache_bound(c) <= 50 * GIB);
	cache_close(c);
	snprintf(deep, sizeof deep, "%s/file", dir);
	CU_ASSERT(write_file(deep, "x", 1));
	CU_ASSERT_EQUAL(cache_open(&o, &c, &err), -ENOTDIR);
	snprintf(deep, sizeof deep, "%s/file/below", dir);
	CU_ASSERT_EQUAL(cache_open(&o, &c, &err), -ENOTDIR);
}

static void test_a_group_folder_stays_the_groups(void)
{
	struct stat st;
	char path[4096];
	CU_ASSERT_EQUAL(chmod(dir, 02770), 0);
	struct cache *c = open_cache();
	CU_ASSERT_EQUAL(store_put(c, 1, 10), 0);
	snprintf(path, sizeof path, "%s", piece_path(1));
	CU_ASSERT(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640);
	*strrchr(path, '/') = 0;
	CU_ASSERT(stat(path, &st) == 0 && (st.st_mode & 07777) == 02770);
	cache_close(c);
}

#define EXPECT(what)                                                        \
	do {                                                                \
		if (!(what)) {                                              \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #what); \
			fflush(stdout);                                     \
			_exit(1);                                           \
		}                                                           \
	} while (0)

static void test_another_users_cache_can_be_read(void)
{
	if (geteuid() != 0) {
		unit_skip("needs root");
		return;
	}
	CU_ASSERT_EQUAL(chmod(dir, 0755), 0);
	struct cache *c = open_cache();
	CU_ASSERT_EQUAL(store_put(c, 1, 10), 0);
	cache_close(c);
	pid_t child = fork();
	if (child == 0) {
		struct cache_key key = store_key(2);
		struct cache_lock *l;
		struct error err;
		EXPECT(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
		c = store_open(dir, GIB, NULL, NULL);
		EXPECT(c != NULL);
		EXPECT(store_has(c, 1) == 1);
		EXPECT(store_put(c, 2, 10) == -EACCES);
		EXPECT(cache_put_counts(c, &key, "x", 1, &err) == -EACCES);
		EXPECT(cache_lock(c, &key, 0, &l) == 0);
		cache_unlock(l);
		cache_close(c);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "round trips", test_round_trips },
		{ "wide ids, commit opens", test_wide_ids_and_commit_opens },
		{ "layout is the documented one", test_layout_is_the_documented_one },
		{ "every flipped byte is found", test_every_flipped_byte_is_found },
		{ "wrong sizes are found", test_wrong_sizes_are_found },
		{ "a file under another name", test_a_file_under_another_name },
		{ "a file made anew is verified anew", test_a_file_made_anew_is_verified_anew },
		{ "use is marked once a minute", test_use_is_marked_once_a_minute },
		{ "many ids at once are the same", test_many_ids_at_once },
		{ "an aborted piece leaves nothing", test_an_aborted_piece_leaves_nothing },
		{ "a dead writer leaves only a temporary", test_a_dead_writer_leaves_only_a_temporary },
		{ "a lock excludes other processes", test_a_lock_excludes_other_processes },
		{ "a killed holder lets go", test_a_killed_holder_lets_go },
		{ "a lock excludes other threads", test_a_lock_excludes_other_threads },
		{ "many threads at once", test_many_threads_at_once },
		{ "counts are published once", test_counts_are_published_once },
		{ "folders are made", test_folders_are_made },
		{ "a group's folder stays the group's", test_a_group_folder_stays_the_groups },
		{ "another user's cache can be read", test_another_users_cache_can_be_read },
		CU_TEST_INFO_NULL,
	};
	return unit_main_each("cache", tests, setup, teardown);
}
