#define _GNU_SOURCE
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct file_source {
	struct source source;
	int fd;
	char name[];
};

static int file_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err)
{
	int fd = ((struct file_source *)s)->fd;
	uint8_t *to = buf;
	while (n > 0) {
		ssize_t got = pread(fd, to, n, (off_t)off);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(err, EIO, "%s: cannot read at %" PRIu64 ": %s", s->name, off,
				    strerror(errno));
		if (got == 0)
			return fail(err, ESTALE, "%s: ends at %" PRIu64 ", it had %" PRIu64
				    " bytes when it was opened", s->name, off, s->size);
		to += got;
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static int file_read_now(struct source *s, uint64_t off, void *buf, size_t n)
{
	struct iovec part = { .iov_base = buf, .iov_len = n };
	/* Not through preadv2(), a cancellation point: that costs as much as a tenth of the read. */
	long got = syscall(SYS_preadv2, ((struct file_source *)s)->fd, &part, 1L, (long)off, (long)(off >> 32), (long)RWF_NOWAIT);
	return got == (long)n ? 0 : -EAGAIN;
}

static void file_announce(struct source *s, uint64_t off, uint64_t n)
{
	posix_fadvise(((struct file_source *)s)->fd, (off_t)off, (off_t)n, POSIX_FADV_WILLNEED);
}

static void file_close(struct source *s)
{
	close(((struct file_source *)s)->fd);
	free(s);
}

int file_open(const char *path, struct source **out, struct error *err)
{
	static const struct source_ops ops = {
		.read_at = file_read,
		.read_now = file_read_now,
		.announce = file_announce,
		.close = file_close,
	};
	size_t length = strlen(path) + 1;
	struct stat st;
	int r;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		int code = errno == ENOENT || errno == EACCES ? errno : EIO;
		return fail(err, code, "%s: cannot open: %s", path, strerror(errno));
	}
	if (fstat(fd, &st) != 0) {
		r = fail(err, EIO, "%s: cannot stat: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		r = fail(err, ENOTSUP, "%s: is not a regular file", path);
		goto out;
	}
	struct file_source *f = malloc(sizeof *f + length);
	if (f == NULL) {
		r = fail(err, ENOMEM, "%s: out of memory", path);
		goto out;
	}
	memcpy(f->name, path, length);
	f->source = (struct source){ .ops = &ops, .size = (uint64_t)st.st_size, .name = f->name };
	f->fd = fd;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	*out = &f->source;
	return 0;
out:
	close(fd);
	return r;
}

static void of_stat(const struct stat *st, struct file_stat *out)
{
	*out = (struct file_stat){
		.size = (uint64_t)st->st_size,
		.inode = (uint64_t)st->st_ino,
		.device = (uint64_t)st->st_dev,
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};
}

int file_stat(struct source *s, struct file_stat *out, struct error *err)
{
	struct stat st;
	if (fstat(((struct file_source *)s)->fd, &st) != 0)
		return fail(err, EIO, "%s: cannot stat: %s", s->name, strerror(errno));
	of_stat(&st, out);
	return 0;
}

int file_stat_path(const char *path, struct file_stat *out)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return -errno;
	of_stat(&st, out);
	return 0;
}
