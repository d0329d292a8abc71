/* faultfs: a folder seen through a filesystem that fails on command, for the tests of the cache.
 *
 * faultfs FOLDER CONTROL MOUNTPOINT [nolock]: shows FOLDER. While the file CONTROL has the word "write" ("read",
 * "sync", "all"), that fails with EIO. nolock: flock fails with ENOLCK and files cannot be mapped shared, as on
 * some network filesystems. */
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *control;
static int top;
static int nolock;

static int fails(const char *word)
{
	char text[64] = "";
	int fd = open(control, O_RDONLY);
	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof text - 1);
		text[n > 0 ? n : 0] = 0;
		close(fd);
	}
	return strstr(text, word) != NULL || strstr(text, "all") != NULL;
}

static const char *below(const char *path)
{
	return path[1] == 0 ? "." : path + 1;
}

#define DONE(call) return (call) < 0 ? -errno : 0

static int do_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	if (fi != NULL)
		DONE(fstat((int)fi->fh, st));
	DONE(fstatat(top, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int do_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off, struct fuse_file_info *fi,
		      enum fuse_readdir_flags flags)
{
	int fd = openat(top, below(path), O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	(void)off, (void)fi, (void)flags;
	if (d == NULL)
		return -errno;
	for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
		fill(buf, e->d_name, NULL, 0, 0);
	closedir(d);
	return 0;
}

static int opened(int fd, struct fuse_file_info *fi)
{
	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = 1; /* each read comes here, and nothing can be mapped shared */
	return 0;
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return opened(openat(top, below(path), fi->flags | O_CREAT, mode), fi);
}

static int do_open(const char *path, struct fuse_file_info *fi)
{
	return opened(openat(top, below(path), fi->flags), fi);
}

static int do_read(const char *path, char *buf, size_t n, off_t off, struct fuse_file_info *fi)
{
	(void)path;
	ssize_t got = fails("read") ? (errno = EIO, -1) : pread((int)fi->fh, buf, n, off);
	return got < 0 ? -errno : (int)got;
}

static int do_write(const char *path, const char *buf, size_t n, off_t off, struct fuse_file_info *fi)
{
	(void)path;
	ssize_t put = fails("write") ? (errno = EIO, -1) : pwrite((int)fi->fh, buf, n, off);
	return put < 0 ? -errno : (int)put;
}

static int do_fsync(const char *path, int data, struct fuse_file_info *fi)
{
	(void)path, (void)data;
	DONE(fails("sync") ? (errno = EIO, -1) : fsync((int)fi->fh));
}

static int do_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	DONE(close((int)fi->fh));
}

static int do_flock(const char *path, struct fuse_file_info *fi, int op)
{
	(void)path;
	DONE(nolock ? (errno = ENOLCK, -1) : flock((int)fi->fh, op));
}

static int do_mkdir(const char *path, mode_t mode)
{
	DONE(mkdirat(top, below(path), mode));
}

static int do_unlink(const char *path)
{
	DONE(unlinkat(top, below(path), 0));
}

static int do_rename(const char *from, const char *to, unsigned flags)
{
	DONE(renameat2(top, below(from), top, below(to), flags));
}

static int do_link(const char *from, const char *to)
{
	DONE(linkat(top, below(from), top, below(to), 0));
}

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)fi;
	DONE(fchmodat(top, below(path), mode, 0));
}

static int do_truncate(const char *path, off_t n, struct fuse_file_info *fi)
{
	(void)path;
	DONE(fi == NULL ? (errno = ENOSYS, -1) : ftruncate((int)fi->fh, n));
}

static int do_utimens(const char *path, const struct timespec t[2], struct fuse_file_info *fi)
{
	(void)fi;
	DONE(utimensat(top, below(path), t, AT_SYMLINK_NOFOLLOW));
}

static int do_statfs(const char *path, struct statvfs *st)
{
	(void)path;
	DONE(fstatvfs(top, st));
}

int main(int argc, char **argv)
{
	static const struct fuse_operations operations = {
		.getattr = do_getattr, .readdir = do_readdir, .create = do_create, .open = do_open, .read = do_read,
		.write = do_write, .fsync = do_fsync, .release = do_release, .flock = do_flock, .mkdir = do_mkdir,
		.unlink = do_unlink, .rename = do_rename, .link = do_link, .chmod = do_chmod,
		.truncate = do_truncate, .utimens = do_utimens, .statfs = do_statfs,
	};
	char *args[] = { argv[0], argc > 3 ? argv[3] : argv[0], (char *)"-f", (char *)"-o",
			 (char *)"allow_other,default_permissions,attr_timeout=0,entry_timeout=0", NULL };
	if (argc < 4 || (top = open(argv[1], O_RDONLY | O_DIRECTORY)) < 0) {
		fprintf(stderr, "usage: faultfs FOLDER CONTROL MOUNTPOINT [nolock]\n");
		return 2;
	}
	control = argv[2];
	nolock = argc > 4;
	umask(0);
	return fuse_main(5, args, &operations, NULL);
}
