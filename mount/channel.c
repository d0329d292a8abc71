#include "mount/channel.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* INIT is the first request; the thread that reads it answers it before it reads the next. */
static bool greeted;

static ssize_t read_device(int fd, void *buf, size_t n, void *userdata)
{
	(void)userdata;
	return read(fd, buf, n);
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
	int r = fuse_session_custom_io(session, &io, fuse_session_fd(session));
	return r == 0 ? 0 : fail(err, r < 0 ? -r : r, "libfuse does not take the device: %s", strerror(r < 0 ? -r : r));
}
