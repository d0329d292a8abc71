#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "store/index.h"
#include "store/record.h"
#include "unit/scratch.h"

static char *dir;
static char data[4096]; /* index.0's file */

static void setup(void)
{
	dir = scratch_make();
	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	snprintf(data, sizeof data, "%s/index.0/data.mdb", dir);
}

static void teardown(void)
{
	scratch_remove(dir);
	dir = NULL;
}

/* Stands for the C library's, so that a folder can be said to be on any filesystem. */
static long pretended;

int statfs(const char *path, struct statfs *out)
{
	int r = (int)syscall(SYS_statfs, path, out);
	if (r == 0 && pretended != 0)
		out->f_type = (__typeof__(out->f_type))pretended;
	return r;
}

static struct index *open_index(size_t map_size)
{
	struct index *x = NULL;
	struct error err;
	if (index_open(dir, map_size, &x, &err) != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(x);
	return x;
}

/* Record n has a value that is a function of n, of size_of(n) bytes. */
static size_t size_of(uint32_t n)
{
	return n % 97 == 0 ? 5000 + n % 5000 : n % 200;
}

static void fill(uint32_t n, uint8_t *value)
{
	for (size_t i = 0; i < size_of(n); i++)
		value[i] = (uint8_t)(n * 31 + i * 7);
}

static void put(struct index *x, uint32_t n)
{
	uint8_t value[10000];
	char key[40];
	fill(n, value);
	int length = snprintf(key, sizeof key, "record %u", n);
	index_put(x, key, (size_t)length, value, size_of(n));
}

/* 1: there as put wrote it; 0: not there; -1: other bytes. */
static int has(struct index *x, uint32_t n)
{
	struct buffer b = { 0 };
	uint8_t value[10000];
	char key[40];
	fill(n, value);
	int length = snprintf(key, sizeof key, "record %u", n);
	int r = index_get(x, key, (size_t)length, &b) != 0 ? 0 : 1;
	if (r == 1 && (b.n != size_of(n) || (b.n > 0 && memcmp(b.at, value, b.n) != 0)))
		r = -1;
	buffer_free(&b);
	return r;
}

static unsigned count(struct index *x, uint32_t from, uint32_t to)
{
	unsigned good = 0;
	for (uint32_t n = from; n < to; n++)
		good += has(x, n) == 1;
	return good;
}

static void test_persists(void)
{
	struct index *x = open_index(0);
	CU_ASSERT_EQUAL(has(x, 1), 0);
	for (uint32_t n = 0; n < 5000; n++)
		put(x, n);
	CU_ASSERT_EQUAL(count(x, 0, 5000), 5000);
	index_close(x);
	x = open_index(0);
	CU_ASSERT_EQUAL(count(x, 0, 5000), 5000);
	CU_ASSERT_EQUAL(has(x, 5000), 0);
	index_close(x);
	index_close(NULL);
	struct stat st;
	CU_ASSERT(stat(data, &st) == 0 && (st.st_mode & 07777) == 0600);
}

static void test_the_newest_wins(void)
{
	struct buffer b = { 0 };
	struct index *x = open_index(0);
	index_put(x, "k", 1, "one", 3);
	index_put(x, "k", 1, "two", 3);
	CU_ASSERT(index_get(x, "k", 1, &b) == 0 && b.n == 3 && memcmp(b.at, "two", 3) == 0);
	index_flush(x);
	CU_ASSERT(index_get(x, "k", 1, &b) == 0 && b.n == 3 && memcmp(b.at, "two", 3) == 0);
	index_put(x, "k", 1, "", 0);
	CU_ASSERT(index_get(x, "k", 1, &b) == 0 && b.n == 0);
	index_close(x);
	x = open_index(0);
	CU_ASSERT(index_get(x, "k", 1, &b) == 0 && b.n == 0);
	index_close(x);
	buffer_free(&b);
}

/* A smaller value keeps the pages of the one it replaces, which must not look like damage. */
static void test_large_values_shrink(void)
{
	static uint8_t value[40000];
	struct buffer b = { 0 };
	for (size_t n = sizeof value; n > 7000; n -= 7000) {
		struct index *x = open_index(0);
		put(x, 1);
		index_put(x, "k", 1, value, n);
		index_close(x);
		x = open_index(0);
		CU_ASSERT(index_get(x, "k", 1, &b) == 0 && b.n == n);
		CU_ASSERT_EQUAL(has(x, 1), 1);
		index_close(x);
	}
	buffer_free(&b);
}

static void test_bounds_of_keys_and_values(void)
{
	struct buffer b = { 0 };
	uint8_t key[INDEX_KEY + 1] = { 1 };
	uint8_t *large = calloc(1, RECORD_VALUE + 1);
	struct index *x = open_index(0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(large);
	index_put(x, key, INDEX_KEY + 1, "x", 1);
	index_put(x, key, 0, "x", 1);
	CU_ASSERT_EQUAL(index_get(x, key, INDEX_KEY + 1, &b), -ENOENT);
	CU_ASSERT_EQUAL(index_get(x, key, 0, &b), -ENOENT);
	index_put(x, key, INDEX_KEY, "x", 1);
	CU_ASSERT(index_get(x, key, INDEX_KEY, &b) == 0 && b.n == 1);
	index_put(x, "large", 5, large, RECORD_VALUE + 1);
	CU_ASSERT_EQUAL(index_get(x, "large", 5, &b), -ENOENT);
	index_put(x, "large", 5, large, RECORD_VALUE);
	CU_ASSERT(index_get(x, "large", 5, &b) == 0 && b.n == RECORD_VALUE);
	index_close(x);
	free(large);
	buffer_free(&b);
}

static void test_is_committed_within_a_second(void)
{
	struct buffer b = { 0 };
	pid_t child = fork();
	if (child == 0) {
		struct index *x = open_index(0);
		put(x, 1);
		usleep(1100000);
		index_get(x, "none", 4, &b);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, NULL, 0);
	struct index *x = open_index(0);
	CU_ASSERT_EQUAL(has(x, 1), 1);
	index_close(x);
}

static void test_each_takes_its_slot(void)
{
	char path[4096];
	struct error err;
	struct index *all[64], *one_more;
	for (size_t i = 0; i < 64; i++)
		all[i] = open_index((size_t)1 << 20);
	snprintf(path, sizeof path, "%s/index.63/data.mdb", dir);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	CU_ASSERT_EQUAL(index_open(dir, 0, &one_more, &err), -EBUSY);
	index_close(all[5]);
	all[5] = open_index((size_t)1 << 20);
	for (size_t i = 0; i < 64; i++)
		index_close(all[i]);
}

static void test_two_processes(void)
{
	int ready[2];
	char byte;
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		struct index *x = open_index(0);
		put(x, 1);
		index_flush(x);
		if (write(ready[1], "x", 1) == 1)
			sleep(60);
		_exit(1);
	}
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	struct index *x = open_index(0);
	CU_ASSERT_EQUAL(has(x, 1), 0); /* slot 1 starts empty */
	put(x, 2);
	index_close(x);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	x = open_index(0);
	CU_ASSERT_EQUAL(has(x, 1), 1); /* and slot 0 is free again */
	index_close(x);
	close(ready[0]);
	close(ready[1]);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");
	if (f != NULL && fwrite(bytes, 1, n, f) != n)
		printf("# cannot write %s\n", path);
	if (f != NULL)
		fclose(f);
}

static size_t read_file(const char *path, uint8_t *bytes, size_t room)
{
	FILE *f = fopen(path, "rb");
	size_t n = f == NULL ? 0 : fread(bytes, 1, room, f);
	if (f != NULL)
		fclose(f);
	return n;
}

static void test_a_damaged_environment_is_made_anew(void)
{
	static uint8_t whole[1 << 22], bytes[1 << 22];
	struct index *x = open_index(0);
	for (uint32_t n = 0; n < 3000; n++)
		put(x, n);
	index_close(x);
	size_t size = read_file(data, whole, sizeof whole);
	CU_ASSERT_FATAL(size > 100000 && size < sizeof whole);
	for (int kind = 0; kind < 6; kind++) {
		size_t n = size;
		memcpy(bytes, whole, size);
		if (kind == 0)
			memset(bytes, 0xa5, n);
		else if (kind == 1)
			n = 4096 + 100;
		else if (kind == 2)
			n = size / 2;
		else if (kind == 3)
			memset(bytes + 8192, 0, n - 8192);
		else if (kind == 4)
			memset(bytes + 8192, 0xff, n - 8192);
		else
			n = 1;
		write_file(data, bytes, n);
		x = open_index(0);
		CU_ASSERT_EQUAL(count(x, 0, 3000), 0);
		put(x, 7);
		index_close(x);
		x = open_index(0);
		CU_ASSERT_EQUAL(has(x, 7), 1);
		index_close(x);
	}
	write_file(data, whole, size);
	x = open_index(0);
	CU_ASSERT_EQUAL(count(x, 0, 3000), 3000);
	index_close(x);
}

/* Whatever byte of the file is hit, and it is hit often: no crash, no other value, and it goes on working. */
static void test_random_damage(void)
{
	static uint8_t whole[1 << 22], bytes[1 << 22];
	struct index *x = open_index(0);
	for (uint32_t n = 0; n < 2000; n++)
		put(x, n);
	index_flush(x);
	for (uint32_t n = 0; n < 2000; n += 2)
		put(x, n);
	index_close(x);
	size_t size = read_file(data, whole, sizeof whole);
	CU_ASSERT_FATAL(size > 100000 && size < sizeof whole);
	srand(7);
	for (int round = 0; round < 150; round++) {
		memcpy(bytes, whole, size);
		for (int hits = 1 + round % 4; hits > 0; hits--) {
			/* Heads of pages and offsets of nodes more often than values. */
			size_t page = (size_t)rand() % (size / 4096);
			size_t at = page * 4096 + (size_t)rand() % (hits % 2 ? 64 : 4096);
			bytes[at] ^= (uint8_t)(1u << rand() % 8);
		}
		write_file(data, bytes, size);
		x = open_index(0);
		for (uint32_t n = 0; n < 2000; n += 3) {
			CU_ASSERT_NOT_EQUAL(has(x, n), -1);
			if (n % 2 == 0)
				put(x, n);
		}
		CU_ASSERT_EQUAL(has(x, 1998), 1);
		index_close(x);
		x = open_index(0);
		CU_ASSERT_EQUAL(has(x, 1998), 1);
		index_close(x);
	}
}

static void test_a_damaged_record_is_removed(void)
{
	static uint8_t bytes[1 << 20];
	struct buffer b = { 0 };
	struct index *x = open_index(0);
	index_put(x, "key", 3, "a value that is easily found", 28);
	put(x, 1);
	index_close(x);
	size_t size = read_file(data, bytes, sizeof bytes);
	uint8_t *at = memmem(bytes, size, "easily", 6);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	at[2] ^= 1;
	write_file(data, bytes, size);
	x = open_index(0);
	CU_ASSERT_EQUAL(index_get(x, "key", 3, &b), -ENOENT);
	CU_ASSERT_EQUAL(b.n, 0);
	CU_ASSERT_EQUAL(has(x, 1), 1);
	index_put(x, "key", 3, "new", 3);
	index_close(x);
	x = open_index(0);
	CU_ASSERT_EQUAL(index_get(x, "key", 3, &b), 0);
	CU_ASSERT_EQUAL(b.n, 3);
	index_close(x);
	buffer_free(&b);
}

static void test_a_full_map_is_made_anew(void)
{
	struct index *x = open_index((size_t)256 << 10);
	for (uint32_t n = 0; n < 5000; n++)
		put(x, n);
	index_flush(x);
	put(x, 1);
	index_flush(x);
	CU_ASSERT_EQUAL(has(x, 1), 1);
	for (uint32_t n = 0; n < 5000; n++)
		CU_ASSERT_NOT_EQUAL(has(x, n), -1);
	index_close(x);
}

static void test_network_filesystems(void)
{
	static const struct {
		long magic;
		const char *name;
	} known[] = {
		{ 0x6969, "NFS" }, { 0x0bd00bd0, "Lustre" }, { 0xff534d42, "CIFS" }, { 0x65735546, "FUSE" }
	};
	struct error err;
	struct index *x;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		pretended = known[i].magic;
		CU_ASSERT_EQUAL(index_open(dir, 0, &x, &err), -ENOTSUP);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, known[i].name));
	}
	pretended = 0;
}

static void test_folders_that_cannot_be(void)
{
	struct error err;
	struct index *x;
	char path[5000];
	snprintf(path, sizeof path, "%s/file", dir);
	write_file(path, "x", 1);
	CU_ASSERT_EQUAL(index_open(path, 0, &x, &err), -ENOTDIR);
	snprintf(path, sizeof path, "%s/a/b", dir);
	CU_ASSERT_EQUAL_FATAL(index_open(path, 0, &x, &err), 0);
	index_close(x);
}

/* Puts and commits records one after another until it is killed, and says each number once it is committed.
 */
static void commit_until_killed(int said, uint32_t from)
{
	struct index *x = NULL;
	if (index_open(dir, 0, &x, NULL) != 0)
		_exit(1);
	for (uint32_t n = from;; n++) {
		put(x, n);
		put(x, n / 2);
		if (n % 7 != 0)
			continue;
		index_flush(x);
		if (write(said, &n, sizeof n) != sizeof n)
			_exit(1);
	}
}

static void test_kill_loses_nothing_that_was_committed(void)
{
	uint32_t done = 0, n;
	srand(3);
	for (int round = 0; round < 50; round++) {
		int said[2];
		CU_ASSERT_EQUAL_FATAL(pipe(said), 0);
		pid_t child = fork();
		if (child == 0)
			commit_until_killed(said[1], done + 1);
		close(said[1]);
		CU_ASSERT_EQUAL(read(said[0], &n, sizeof n), sizeof n);
		usleep((useconds_t)rand() % 20000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		do
			done = n;
		while (read(said[0], &n, sizeof n) == sizeof n);
		close(said[0]);
		struct index *x = open_index(0);
		uint32_t from = round % 10 == 9 || done < 500 ? 1 : done - 500;
		CU_ASSERT_EQUAL(count(x, from, done + 1), done + 1 - from);
		index_close(x);
	}
	printf("# %u records committed\n", done);
}

static struct index *shared;
static atomic_int wrong;

static void *use_often(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	for (int i = 0; i < 3000; i++) {
		uint32_t n = (uint32_t)rand_r(&seed) % 500;
		if (i % 3 == 0)
			put(shared, n);
		else if (has(shared, n) < 0)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void test_many_threads_at_once(void)
{
	pthread_t threads[4];
	shared = open_index(0);
	for (uintptr_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, use_often, (void *)i), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(count(shared, 0, 500) > 490);
	index_close(shared);
}

int main(void)
{
	log_open(false, LOG_LEVEL_ERROR);
	CU_TestInfo tests[] = {
		{ "persists", test_persists },
		{ "the newest wins", test_the_newest_wins },
		{ "large values shrink", test_large_values_shrink },
		{ "bounds of keys and values", test_bounds_of_keys_and_values },
		{ "is committed within a second", test_is_committed_within_a_second },
		{ "each takes its slot", test_each_takes_its_slot },
		{ "two processes", test_two_processes },
		{ "a damaged environment is made anew", test_a_damaged_environment_is_made_anew },
		{ "random damage", test_random_damage },
		{ "a damaged record is removed", test_a_damaged_record_is_removed },
		{ "a full map is made anew", test_a_full_map_is_made_anew },
		{ "network filesystems", test_network_filesystems },
		{ "folders that cannot be", test_folders_that_cannot_be },
		{ "kill loses nothing that was committed", test_kill_loses_nothing_that_was_committed },
		{ "many threads at once", test_many_threads_at_once },
		CU_TEST_INFO_NULL,
	};
	return unit_main_each("index", tests, setup, teardown);
}
