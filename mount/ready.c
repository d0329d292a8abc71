#define _GNU_SOURCE
#include "mount/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One write of at most PIPE_BUF bytes is never torn. */
struct word {
	int exit_code;
	int code;
	char text[ERROR_TEXT];
};

static void close_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

int ready_fork(struct ready *r, struct error *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail(err, errno, "pipe: %s", strerror(errno));
	fflush(NULL);
	pid_t child = fork();
	if (child < 0) {
		int code = errno;
		close(ends[0]);
		close(ends[1]);
		return fail(err, code, "fork: %s", strerror(code));
	}
	*r = (struct ready){ .pipe = ends[child == 0], .child = child };
	close(ends[child != 0]);
	if (child == 0)
		close_stdio();
	return 0;
}

bool ready_tell(struct ready *r, int exit_code, const struct error *why)
{
	struct word w = { .exit_code = exit_code };
	if (r->pipe < 0)
		return true;
	if (exit_code != 0) {
		w.code = why->code;
		memcpy(w.text, why->text, sizeof w.text);
	}
	bool told = write(r->pipe, &w, sizeof w) == (ssize_t)sizeof w;
	close(r->pipe);
	r->pipe = -1;
	return told;
}

static pid_t volatile listener_child;

static void pass_on(int signal_number)
{
	(void)signal_number;
	kill(listener_child, SIGTERM);
}

int ready_wait(struct ready *r, int lost, struct error *why)
{
	struct word w;
	struct sigaction pass = { .sa_handler = pass_on };
	ssize_t n;
	int status = 0;
	listener_child = r->child;
	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGINT, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
	do
		n = read(r->pipe, &w, sizeof w);
	while (n < 0 && errno == EINTR);
	close(r->pipe);
	if (n == (ssize_t)sizeof w && w.exit_code == 0)
		return 0;
	/* What failed has unmounted when the child is gone. */
	while (waitpid(r->child, &status, 0) < 0 && errno == EINTR)
		;
	if (n == (ssize_t)sizeof w) {
		fail(why, w.code, "%.*s", ERROR_TEXT - 1, w.text);
		return w.exit_code;
	}
	if (WIFSIGNALED(status))
		fail(why, EIO, "the daemon was killed by signal %d before it was ready", WTERMSIG(status));
	else
		fail(why, EIO, "the daemon ended before it was ready");
	return lost;
}
