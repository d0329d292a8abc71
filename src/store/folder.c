#define _GNU_SOURCE
#include "store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/lockfile.h"

#define LEFTOVER_SECONDS (24 * 3600)
#define LONGEST (FOLDER_PATH - FOLDER_NAME - 16)

static const char *const kinds[FOLDER_KINDS] = { "pieces", "counts", "locks" };
static const char *const endings[FOLDER_KINDS] = { ".tok", ".cnt", ".lock" };

int folder_make(const char *path, struct error *err)
{
	char part[FOLDER_PATH];
	size_t n = strlen(path);
	if (n == 0 || n > LONGEST)
		return fail(err, n == 0 ? ENOENT : ENAMETOOLONG, "%.100s: a folder's path has 1 to %d bytes",
			    path, LONGEST);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != 0)
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0777) == 0) {
			/* A daemon of root may have any umask, and others are to read. */
			if (geteuid() == 0)
				(void)!chmod(part, 0755);
			continue;
		}
		int code = errno;
		struct stat st;
		if (stat(part, &st) == 0 && S_ISDIR(st.st_mode))
			continue;
		return fail(err, code == EEXIST ? ENOTDIR : code, "%s: cannot make the folder: %s", part,
			    strerror(code == EEXIST ? ENOTDIR : code));
	}
	return 0;
}

/* Opens parent/name, made with the folder's mode when it is not there. */
static int open_sub(int parent, const char *name, mode_t mode)
{
	bool made = mkdirat(parent, name, mode) == 0;
	if (!made && errno != EEXIST)
		return -errno;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	/* Against the umask; a filesystem without modes refuses, and needs none. */
	if (made)
		(void)!fchmod(fd, mode);
	return fd;
}

static bool is_leftover(int dir, const char *name)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       time(NULL) - st.st_mtime > LEFTOVER_SECONDS;
}

/* A process that dies leaves its file in work, and its lock's file without a lock. */
static void clean(const struct folder *f, enum folder_kind kind)
{
	int fd = openat(f->at[kind], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
		size_t n = strlen(e->d_name);
		if (kind != FOLDER_LOCKS) {
			if (strncmp(e->d_name, "tmp.", 4) == 0 && is_leftover(fd, e->d_name))
				unlinkat(fd, e->d_name, 0);
		} else if (n > 5 && strcmp(e->d_name + n - 5, ".lock") == 0 && is_leftover(fd, e->d_name)) {
			lockfile_drop(fd, e->d_name, lockfile_take(fd, e->d_name, 0));
		}
	}
	closedir(d);
}

int folder_open(const char *dir, struct folder *out, struct error *err)
{
	struct folder f = { .at = { -1, -1, -1 } };
	struct stat st;
	int v1 = -1;
	int r = folder_make(dir, err);
	if (r != 0)
		return r;
	f.path = realpath(dir, NULL);
	if (f.path == NULL || strlen(f.path) > LONGEST || stat(f.path, &st) != 0) {
		r = f.path == NULL || strlen(f.path) <= LONGEST ? -errno : -ENAMETOOLONG;
		goto out;
	}
	f.mode = st.st_mode & 07777;
	int top = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	v1 = top < 0 ? -errno : open_sub(top, "v1", f.mode);
	if (top >= 0)
		close(top);
	r = v1 < 0 ? v1 : 0;
	for (int k = 0; r == 0 && k < FOLDER_KINDS; k++) {
		f.at[k] = open_sub(v1, kinds[k], f.mode);
		if (f.at[k] < 0)
			r = f.at[k];
	}
	if (v1 >= 0)
		close(v1);
out:
	if (r != 0) {
		folder_close(&f);
		return fail(err, -r, "%s: cannot open the cache's folders: %s", dir, strerror(-r));
	}
	for (int k = 0; k < FOLDER_KINDS; k++)
		clean(&f, (enum folder_kind)k);
	*out = f;
	return 0;
}

void folder_close(struct folder *f)
{
	for (int k = 0; k < FOLDER_KINDS; k++)
		if (f->at[k] >= 0)
			close(f->at[k]);
	free(f->path);
}

void folder_name(enum folder_kind kind, const uint8_t key[HASH_SIZE], char out[FOLDER_NAME])
{
	char hex[HASH_HEX];
	hash_hex(key, HASH_SIZE, hex);
	if (kind == FOLDER_LOCKS)
		snprintf(out, FOLDER_NAME, "%s%s", hex, endings[kind]);
	else
		snprintf(out, FOLDER_NAME, "%.2s/%s%s", hex, hex + 2, endings[kind]);
}

void folder_full(const struct folder *f, enum folder_kind kind, const char *name, char out[FOLDER_PATH])
{
	snprintf(out, FOLDER_PATH, "%s/v1/%s/%s", f->path, kinds[kind], name);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool folder_key(const char *ab, const char *name, uint8_t out[HASH_SIZE])
{
	if (strlen(ab) != 2 || strlen(name) != 2 * HASH_SIZE - 2 + 4 ||
	    strcmp(name + 2 * HASH_SIZE - 2, endings[FOLDER_PIECES]) != 0)
		return false;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		const char *at = i == 0 ? ab : name + 2 * i - 2;
		int high = hex_digit(at[0]), low = hex_digit(at[1]);
		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

int folder_temp(const struct folder *f, enum folder_kind kind, char name[FOLDER_NAME], struct error *err)
{
	uint8_t random[8];
	char hex[17];
	int code = EIO;
	for (int i = 0; i < 3; i++) {
		if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
			break;
		hash_hex(random, sizeof random, hex);
		snprintf(name, FOLDER_NAME, "tmp.%s", hex);
		int fd = openat(f->at[kind], name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0) {
			(void)!fchmod(fd, (f->mode & 0444) | 0600);
			return fd;
		}
		code = errno;
		if (code != EEXIST)
			break;
	}
	return fail(err, code, "%s/v1/%s: cannot make a file: %s", f->path, kinds[kind], strerror(code));
}

/* Where the kernel or the filesystem knows no RENAME_NOREPLACE, two that come at once both win: their bytes
 * are the same. */
static int rename_first(int dir, const char *from, const char *to)
{
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
		if (faccessat(dir, to, F_OK, 0) != 0)
			return renameat(dir, from, dir, to);
	} else if (errno != EEXIST) {
		return -1;
	}
	return unlinkat(dir, from, 0);
}

int folder_publish(const struct folder *f, enum folder_kind kind, const char *temp,
		   const uint8_t key[HASH_SIZE], bool first, struct error *err)
{
	char name[FOLDER_NAME], ab[3];
	int dir = f->at[kind];
	folder_name(kind, key, name);
	for (int i = 0; i < 2; i++) {
		if ((first ? rename_first(dir, temp, name) : renameat(dir, temp, dir, name)) == 0)
			return 0;
		if (errno != ENOENT || i > 0)
			break;
		snprintf(ab, sizeof ab, "%.2s", name);
		int sub = open_sub(dir, ab, f->mode);
		if (sub < 0) {
			errno = -sub;
			break;
		}
		close(sub);
	}
	int code = errno;
	return fail(err, code, "%s/v1/%s/%s: cannot rename to it: %s", f->path, kinds[kind], name,
		    strerror(code));
}
