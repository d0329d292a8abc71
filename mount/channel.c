#include "mount/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* INIT is the first request; the thread that reads it answers it before it reads the next. */
static bool greeted;

static int (*idle_work)(void *arg);
static void *idle_arg;

static int64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The device does not block: in the loop thread nothing waits but poll. */
static ssize_t read_device(int fd, void *buf, size_t n, void *userdata)
{
	int64_t since = 0;
	(void)userdata;
	for (;;) {
		ssize_t got = read(fd, buf, n);
		if (got >= 0 || errno != EAGAIN)
			return got;
		int worked = idle_work == NULL ? -1 : idle_work(idle_arg);
		if (worked > 0) {
			since = 0;
			continue;
		}
		int64_t now = clock_ns();
		if (since == 0)
			since = now;
		if (worked == 0 && now - since < CHANNEL_SPIN_NS) {
			/* A reader on the same core goes first. */
			sched_yield();
			continue;
		}
		struct pollfd p = { .fd = fd, .events = POLLIN };
		if (poll(&p, 1, -1) < 0)
			return -1;
		since = 0;
	}
}

void channel_idle(int (*work)(void *arg), void *arg)
{
	idle_work = work;
	idle_arg = arg;
}

/* The kernel ignores a flag that it did not offer. */
static ssize_t greet(int fd, struct iovec *iov, int count)
{
	struct fuse_out_header header;
	struct fuse_init_out init = { 0 };
	if (count != 2 || iov[0].iov_len != sizeof header || iov[1].iov_len > sizeof init)
		return writev(fd, iov, count);
	memcpy(&header, iov[0].iov_base, sizeof header);
	memcpy(&init, iov[1].iov_base, iov[1].iov_len);
	if (header.error == 0)
		init.flags |= FUSE_PARALLEL_DIROPS;
	struct iovec own[2] = { iov[0], { .iov_base = &init, .iov_len = iov[1].iov_len } };
	return writev(fd, own, 2);
}

static ssize_t write_device(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	if (greeted)
		return writev(fd, iov, count);
	greeted = true;
	return greet(fd, iov, count);
}

int channel_open(struct fuse_session *session, struct error *err)
{
	static const struct fuse_custom_io io = { .writev = write_device, .read = read_device };
	int fd = fuse_session_fd(session), flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return fail(err, errno, "the device does not take O_NONBLOCK: %s", strerror(errno));
	int r = fuse_session_custom_io(session, &io, fd);
	return r == 0 ? 0
	              : fail(err, r < 0 ? -r : r, "libfuse does not take the device: %s",
	                     strerror(r < 0 ? -r : r));
}
