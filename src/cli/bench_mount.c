#define _GNU_SOURCE
#include "cli/bench_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID 400 /* bytes of what the program says that are kept */

/* The environment without options of this program but for one more; the strings are its own and more's. */
static char **environment_with(char *more)
{
	size_t n = 0, k = 0;
	while (environ[n] != NULL)
		n++;
	char **out = calloc(n + 2, sizeof *out);
	for (size_t i = 0; out != NULL && i < n; i++)
		if (strncmp(environ[i], "FINEWEB_", 8) != 0)
			out[k++] = environ[i];
	if (out != NULL)
		out[k] = more;
	return out;
}

/* Runs a program to its end: its exit code, or -errno. said gets the first line of stderr. */
static int run(const char *const *words, char *more, char said[SAID])
{
	char **environment = environment_with(more);
	int ends[2] = { -1, -1 }, status = 0;
	posix_spawn_file_actions_t actions;
	pid_t child;
	if (environment == NULL || pipe2(ends, O_CLOEXEC) != 0) {
		free(environment);
		return -ENOMEM;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	int r = -posix_spawnp(&child, words[0], &actions, NULL, (char *const *)words, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	size_t n = 0;
	ssize_t got = 1;
	while (r == 0 && n < SAID - 1 && (got = read(ends[0], said + n, SAID - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = 0;
	said[strcspn(said, "\n")] = 0;
	close(ends[0]);
	free(environment);
	if (r != 0)
		return r;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

int bench_mount(const char *source, const char *at, const char *cache, const char *options, struct error *err)
{
	char self[4096], said[SAID] = "", *more = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0)
		return fail(err, EIO, "/proc/self/exe: %s", strerror(errno));
	self[n] = 0;
	if (access("/dev/fuse", R_OK | W_OK) != 0)
		return fail(err, errno == ENOENT ? ENODEV : errno, "/dev/fuse: %s", strerror(errno));
	if (asprintf(&more, "FINEWEB_CACHE=%s", cache) < 0)
		return fail(err, ENOMEM, "out of memory");
	const char *const words[] = { self, source, at, "-o", options, NULL };
	int r = run(words, more, said);
	free(more);
	if (r == 0)
		return 0;
	return fail(err, r < 0 ? -r : EIO, "%s", said[0] != 0 ? said : "the program cannot be run");
}

void bench_unmount(const char *at)
{
	char said[SAID];
	const char *const words[] = { "fusermount3", "-u", "-z", at, NULL };
	if (umount2(at, 0) != 0 && umount2(at, MNT_DETACH) != 0)
		run(words, NULL, said);
}

int bench_read(const char *at, uint64_t number, void *buf, size_t n, struct error *err)
{
	char path[4096];
	uint8_t *to = buf;
	snprintf(path, sizeof path, "%s/rank_0/batch_%04" PRIu64 ".bin", at, number);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errno, "%s: %s", path, strerror(errno));
	int r = 0;
	while (n > 0) {
		ssize_t k = read(fd, to, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			r = fail(err, k == 0 ? EIO : errno, "%s: %s", path,
			         k == 0 ? "is short" : strerror(errno));
			break;
		}
		to += k;
		n -= (size_t)k;
	}
	close(fd);
	return r;
}
