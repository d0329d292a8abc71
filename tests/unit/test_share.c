#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/share.h"

#define KIB 1024u
#define STEP 1000u

/* A disk of some bytes, in memory. */
struct disk {
	size_t room, used;
	int files, rooms;
};

static int disk_grow(void *arg, int *fd, size_t was, size_t n, struct error *err)
{
	struct disk *d = arg;
	if (d->used + (n - was) > d->room)
		return fail(err, ENOSPC, "the test's disk is full");
	int to = *fd >= 0 ? *fd : memfd_create("share", MFD_CLOEXEC);
	if (to < 0 || ftruncate(to, (off_t)n) != 0)
		return fail(err, EIO, "memfd");
	d->files += *fd < 0;
	d->used += n - was;
	*fd = to;
	return 0;
}

static void disk_drop(void *arg, int fd)
{
	struct disk *d = arg;
	d->used -= (size_t)lseek(fd, 0, SEEK_END);
	d->files--;
	close(fd);
}

static void make_room(void *arg)
{
	((struct disk *)arg)->rooms++;
}

static struct share_pool pool;
static struct disk disk;

static void open_pool(size_t disk_room)
{
	disk = (struct disk){ .room = disk_room };
	pool = (struct share_pool){ .small = 100 * KIB, .large = 300 * KIB, .room = make_room, .arg = &disk };
	if (disk_room > 0) {
		pool.grow = disk_grow;
		pool.drop = disk_drop;
	}
	share_pool_init(&pool);
}

/* Appends steps whose bytes are their number, up to n bytes. */
static int fill(struct buffer *b, size_t n, struct error *err)
{
	uint8_t step[STEP];
	while (b->n < n) {
		memset(step, (int)(b->n / STEP % 251), STEP);
		int r = buffer_add(b, step, STEP, 0, err);
		if (r != 0)
			return r;
	}
	return 0;
}

static bool is_whole(const struct buffer *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->at[i] != i / STEP % 251)
			return false;
	return true;
}

static void a_disk_takes_what_is_too_large(void)
{
	struct share s = { .pool = &pool };
	struct buffer a = { .share = &s }, b = { .share = &s };
	open_pool(10000 * KIB);
	CU_ASSERT_EQUAL(fill(&a, 50 * KIB, NULL), 0);
	CU_ASSERT_EQUAL(disk.files, 0);
	CU_ASSERT_EQUAL(fill(&b, 4000 * KIB, NULL), 0);
	CU_ASSERT_EQUAL(disk.files, 1);
	CU_ASSERT_TRUE(s.held <= pool.small && pool.used == s.held);
	CU_ASSERT_TRUE(b.n >= 4000 * KIB && is_whole(&a) && is_whole(&b));
	buffer_free(&a);
	buffer_free(&b);
	share_end(&s);
	CU_ASSERT_EQUAL(pool.used, 0);
	CU_ASSERT_EQUAL(disk.files, 0);
	CU_ASSERT_EQUAL(disk.used, 0);
	share_pool_free(&pool);
}

/* The disk is full in the middle: memory takes the buffer back, as far as it goes. */
static void a_full_disk_is_none(void)
{
	struct error err = { 0 };
	struct share s = { .pool = &pool };
	struct buffer b = { .share = &s };
	open_pool(200 * KIB);
	CU_ASSERT_EQUAL(fill(&b, 250 * KIB, &err), 0);
	CU_ASSERT_EQUAL(disk.files, 0);
	CU_ASSERT_EQUAL(disk.rooms, 1);
	CU_ASSERT_TRUE(share_crowded(&pool) && is_whole(&b));
	CU_ASSERT_EQUAL(fill(&b, 900 * KIB, &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "memory"));
	CU_ASSERT_TRUE(s.held <= pool.large && is_whole(&b));
	buffer_free(&b);
	share_end(&s);
	CU_ASSERT_FALSE(share_crowded(&pool));
	CU_ASSERT_EQUAL(pool.used, 0);
	share_pool_free(&pool);
}

/* A disk that does not give back what it took: SIGBUS for who has it mapped, and known afterwards. */
static void a_disk_may_fail(void)
{
	struct share s = { .pool = &pool };
	struct buffer b = { .share = &s };
	open_pool(10000 * KIB);
	CU_ASSERT_EQUAL(fill(&b, 500 * KIB, NULL), 0);
	CU_ASSERT_FALSE(share_lost(&s));
	CU_ASSERT_EQUAL(ftruncate(b.fd, 4096), 0);
	CU_ASSERT_FALSE(is_whole(&b));
	CU_ASSERT_TRUE(share_lost(&s));
	CU_ASSERT_FALSE(share_lost(&s));
	buffer_free(&b);
	share_end(&s);
	share_pool_free(&pool);
}

static atomic_int inside, most, done;

static void *take_much(void *arg)
{
	struct share s = { .pool = &pool };
	struct buffer b = { .share = &s };
	(void)arg;
	int r = fill(&b, 200 * KIB, NULL);
	int now = atomic_fetch_add(&inside, 1) + 1;
	if (now > atomic_load(&most))
		atomic_store(&most, now);
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	atomic_fetch_sub(&inside, 1);
	if (r == 0 && is_whole(&b))
		atomic_fetch_add(&done, 1);
	buffer_free(&b);
	share_end(&s);
	return NULL;
}

static void large_ones_go_one_by_one(void)
{
	pthread_t threads[8];
	open_pool(0);
	atomic_store(&most, 0);
	atomic_store(&done, 0);
	for (int i = 0; i < 8; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, take_much, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CU_ASSERT_EQUAL(atomic_load(&done), 8);
	CU_ASSERT_EQUAL(atomic_load(&most), 1);
	CU_ASSERT_EQUAL(pool.used, 0);
	share_pool_free(&pool);
}

static void what_is_no_buffer_counts_too(void)
{
	struct error err = { 0 };
	struct share s = { .pool = &pool }, t = { .pool = &pool };
	open_pool(0);
	CU_ASSERT_EQUAL(share_take(&s, 60 * KIB, NULL), 0);
	CU_ASSERT_EQUAL(share_take(&t, 40 * KIB, NULL), 0);
	share_give(&s, 10 * KIB);
	CU_ASSERT_EQUAL(share_take(&t, 10 * KIB, NULL), 0);
	CU_ASSERT_FALSE(t.large);
	CU_ASSERT_EQUAL(share_take(&t, 251 * KIB, &err), -ENOTSUP);
	CU_ASSERT_EQUAL(share_take(&t, 250 * KIB, &err), 0);
	CU_ASSERT_TRUE(t.large);
	CU_ASSERT_EQUAL(pool.used, 50 * KIB);
	share_end(&s);
	share_end(&t);
	share_end(&t);
	CU_ASSERT_EQUAL(pool.used, 0);
	share_pool_free(&pool);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "a disk takes what is too large for memory", a_disk_takes_what_is_too_large },
		{ "a full disk is as none", a_full_disk_is_none },
		{ "a disk may fail", a_disk_may_fail },
		{ "large ones go one by one", large_ones_go_one_by_one },
		{ "what is no buffer counts too", what_is_no_buffer_counts_too },
		CU_TEST_INFO_NULL,
	};
	return unit_main("share", tests);
}
