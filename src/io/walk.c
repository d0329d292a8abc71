#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/draft.h"

/* The folders that one is in. */
struct level {
	const struct level *up;
	dev_t device;
	ino_t inode;
	unsigned depth;
};

int path_error(const char *path, int code, struct error *err)
{
	int to = code == ENOENT || code == ENOTDIR || code == ELOOP ? ENOENT : code == EACCES ? EACCES : EIO;
	return fail(err, to, "%s: %s", path, strerror(code));
}

static bool inside(const struct level *level, const struct stat *st)
{
	for (; level != NULL; level = level->up)
		if (level->device == st->st_dev && level->inode == st->st_ino)
			return true;
	return false;
}

static int walk_in(struct draft *d, int fd, const char *dir, const struct level *level, struct error *err);

static int enter(struct draft *d, int at, const char *dir, const char *name, const struct level *up,
		 struct error *err)
{
	struct buffer path = { 0 };
	struct stat st;
	int r = buffer_printf(&path, "%s%s%s", dir, draft_slash(dir), name);
	if (r != 0)
		return fail(err, ENOMEM, "%s: out of memory", dir);
	const char *text = (const char *)path.at;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		r = path_error(text, errno, err);
	} else if (inside(up, &st)) {
		r = 0;
	} else if (up->depth == WALK_DEPTH) {
		r = fail(err, ENOTSUP, "%s: lies more than %d folders deep", text, WALK_DEPTH);
	} else if (++d->folders > WALK_FOLDERS) {
		r = fail(err, ENOTSUP, "%s: more than %d folders", text, WALK_FOLDERS);
	} else {
		struct level level = { up, st.st_dev, st.st_ino, up->depth + 1 };
		r = walk_in(d, fd, text, &level, err);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	buffer_free(&path);
	return r;
}

static int take(struct draft *d, int fd, const char *dir, const struct dirent *e, const struct level *level,
		struct error *err)
{
	struct kind kind;
	struct stat st;
	bool data = kind_of_name(span_text(e->d_name), &kind);
	if (kind_ignored(e->d_name) || (e->d_type == DT_REG && !data))
		return 0;
	if (e->d_type == DT_DIR)
		return enter(d, fd, dir, e->d_name, level, err);
	if (fstatat(fd, e->d_name, &st, 0) != 0) {
		int code = errno;
		if (!data)
			return 0;
		int r = path_error(e->d_name, code, err);
		fail_in(err, "%s", dir);
		return r;
	}
	if (S_ISDIR(st.st_mode))
		return enter(d, fd, dir, e->d_name, level, err);
	if (!data)
		return 0;
	if (!S_ISREG(st.st_mode))
		return fail(err, ENOTSUP, "%s/%s: is not a regular file", dir, e->d_name);
	return draft_add(d, dir, e->d_name, kind, &st, err);
}

/* Closes fd. */
static int walk_in(struct draft *d, int fd, const char *dir, const struct level *level, struct error *err)
{
	const struct dirent *e;
	int r = 0;
	DIR *stream = fdopendir(fd);
	if (stream == NULL) {
		r = fail(err, ENOMEM, "%s: out of memory", dir);
		close(fd);
		return r;
	}
	errno = 0;
	while (r == 0 && (e = readdir(stream)) != NULL) {
		r = take(d, fd, dir, e, level, err);
		errno = 0;
	}
	if (r == 0 && errno != 0)
		r = path_error(dir, errno, err);
	closedir(stream);
	return r;
}

int walk(struct draft *d, const char *dir, struct error *err)
{
	struct stat st;
	int fd = open(dir[0] == '\0' ? "." : dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return path_error(dir, errno, err);
	if (fstat(fd, &st) != 0) {
		int r = path_error(dir, errno, err);
		close(fd);
		return r;
	}
	struct level level = { NULL, st.st_dev, st.st_ino, 0 };
	return walk_in(d, fd, dir, &level, err);
}
