#define _GNU_SOURCE
#include "store/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_NAP_MS 50

/* Another user's file can be locked by who may read it; protected_regular refuses O_CREAT on it in a sticky
 * folder. */
static int open_lock(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0 && errno == EACCES)
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* A holder removes the file before it lets go: what was locked must still be what the name says. */
static bool still_named(int dir, const char *name, int fd)
{
	struct stat own, named;
	return fstat(fd, &own) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

/* The descriptor, -EAGAIN (held), -ESTALE (try again at once) or another -errno. */
static int try_lock(int dir, const char *name)
{
	int r;
	int fd = open_lock(dir, name);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (still_named(dir, name, fd))
			return fd;
		r = -ESTALE;
	} else if (errno == EWOULDBLOCK || errno == EINTR) {
		r = -EAGAIN;
	} else {
		r = -EOPNOTSUPP;
	}
	close(fd);
	return r;
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int lockfile_take(int dir, const char *name, unsigned wait_ms)
{
	int64_t end = now_ms() + wait_ms;
	unsigned stale = 0;
	long nap = 1;
	for (;;) {
		int r = try_lock(dir, name);
		if (r == -ESTALE && ++stale < 100)
			continue;
		if (r == -ESTALE)
			r = -EAGAIN;
		int64_t left = end - now_ms();
		if (r != -EAGAIN || left <= 0)
			return r;
		if (nap > left)
			nap = (long)left;
		nanosleep(&(struct timespec){ .tv_nsec = nap * 1000000 }, NULL);
		nap = nap * 2 > LONGEST_NAP_MS ? LONGEST_NAP_MS : nap * 2;
	}
}

void lockfile_drop(int dir, const char *name, int fd)
{
	if (fd < 0)
		return;
	unlinkat(dir, name, 0);
	close(fd);
}
