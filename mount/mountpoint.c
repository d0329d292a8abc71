#define _GNU_SOURCE
#include "mount/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

/* mountinfo writes blank, tab, newline and backslash as \ooo. In place. */
static void unescape(char *s)
{
	char *to = s;
	while (*s != 0) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

/* Whether the uppermost file system at a path is ours; proc(5), mountinfo: the fifth field is the path, the
 * first after " - " the type. */
static bool is_ours(const char *absolute)
{
	bool ours = false;
	char *line = NULL;
	size_t room = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	while (f != NULL && getline(&line, &room, f) > 0) {
		char *path = line, *dash = strstr(line, " - ");
		for (int field = 1; field < 5 && path != NULL; field++) {
			path = strchr(path, ' ');
			path = path == NULL ? NULL : path + 1;
		}
		if (path == NULL || dash == NULL || dash < path)
			continue;
		path[strcspn(path, " ")] = 0;
		unescape(path);
		if (strcmp(path, absolute) == 0)
			ours = strncmp(dash + 3, MOUNT_TYPE " ", sizeof MOUNT_TYPE) == 0;
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return ours;
}

static void detach(const char *absolute)
{
	if (umount2(absolute, MNT_DETACH) == 0)
		return;
	pid_t child = fork();
	if (child == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-q", "-z", "--", absolute, (char *)NULL);
		_exit(127);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* An absolute path without touching the last component, which may be dead. */
static char *make_absolute(const char *path)
{
	char parent[PATH_MAX], *out = NULL, *real = realpath(path, NULL);
	if (real != NULL || errno != ENOTCONN)
		return real;
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	size_t cut = n;
	while (cut > 0 && path[cut - 1] != '/')
		cut--;
	snprintf(parent, sizeof parent, "%.*s", cut > 0 ? (int)cut : 1, cut > 0 ? path : ".");
	real = realpath(parent, NULL);
	if (real == NULL ||
	    asprintf(&out, "%s/%.*s", strcmp(real, "/") == 0 ? "" : real, (int)(n - cut), path + cut) < 0)
		out = NULL;
	free(real);
	return out;
}

/* Whether nobody answers for what is mounted there. The kernel answers stat(2) itself, from what it has kept
 * of the one that was killed; statfs(2) it always asks. */
static bool is_dead(const char *absolute)
{
	struct statvfs v;
	return statvfs(absolute, &v) != 0 && errno == ENOTCONN;
}

int mountpoint_prepare(const char *path, char **absolute, struct error *err)
{
	struct stat st;
	char *at = make_absolute(path);
	if (at == NULL)
		return fail(err, errno, "mountpoint %s: %s", path, strerror(errno));
	int r = stat(at, &st) == 0 ? 0 : errno;
	bool ours = is_ours(at);
	if (ours && (r == ENOTCONN || is_dead(at))) {
		log_warning("%s: detaching the dead mount of a fineweb that was killed", at);
		detach(at);
		r = stat(at, &st) == 0 ? 0 : errno;
		ours = is_ours(at);
	}
	if (r != 0)
		r = fail(err, r, "mountpoint %s: %s", path, strerror(r));
	else if (!S_ISDIR(st.st_mode))
		r = fail(err, ENOTDIR, "mountpoint %s: %s", path, strerror(ENOTDIR));
	else if (ours)
		r = fail(err, EBUSY, "mountpoint %s: a fineweb is mounted there already, unmount it first",
		         path);
	if (r != 0)
		free(at);
	else
		*absolute = at;
	return r;
}

bool mountpoint_read_ahead(const char *absolute, unsigned kib)
{
	struct statx st;
	char path[64], text[16];
	/* DONT_SYNC answers from what the kernel has: nobody serves requests yet. */
	if (statx(AT_FDCWD, absolute, AT_STATX_DONT_SYNC, STATX_TYPE, &st) != 0)
		return false;
	snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", st.stx_dev_major, st.stx_dev_minor);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	int n = snprintf(text, sizeof text, "%u", kib);
	bool written = write(fd, text, (size_t)n) == n;
	close(fd);
	return written;
}
