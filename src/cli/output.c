#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failed(int code, struct error *err)
{
	return code == EPIPE ? -EPIPE : fail(err, code, "stdout: %s", strerror(code));
}

int output_write(const void *bytes, size_t n, struct error *err)
{
	const char *p = bytes;
	while (n > 0) {
		ssize_t written = write(STDOUT_FILENO, p, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return failed(errno, err);
		p += written;
		n -= (size_t)written;
	}
	return 0;
}

int output_buffer(struct buffer *b, struct error *err)
{
	int r = output_write(b->at, b->n, err);
	b->n = 0;
	return r;
}

int output_flush(struct error *err)
{
	int r = fflush(stdout);
	if (r == 0 && !ferror(stdout))
		return 0;
	if (r != 0 && errno == EPIPE)
		return -EPIPE;
	/* stdio forgets why an earlier write failed; a pipe knows that nobody reads it any more. */
	struct pollfd out = { .fd = STDOUT_FILENO };
	if (poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0)
		return -EPIPE;
	return failed(r != 0 ? errno : EIO, err);
}
