#include "mount/operations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/checked.h"

/* Seconds that the kernel may keep what never changes: more than it can count. */
#define FOR_EVER 1e9

static struct server *server_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void init(void *userdata, struct fuse_conn_info *conn)
{
	(void)userdata;
	/* With ASYNC_READ a cold buffered read can not be interrupted, and stalled readahead counts against
	 * max_background until hot reads wait too. */
	unsigned want = FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_PARALLEL_DIROPS;
	conn->want = conn->capable & want;
	conn->max_read = READ_MAX;
	conn->max_write = READ_MAX; /* libfuse takes the pages of a request from it */
	conn->max_readahead = READ_MAX;
	conn->max_background = 4096;
	conn->congestion_threshold = 3072;
}

static void fill_stat(const struct server *s, const struct tree_attributes *a, struct stat *st)
{
	*st = (struct stat){
		.st_ino = a->inode,
		.st_mode = a->directory ? S_IFDIR | 0555 : S_IFREG | 0444,
		.st_nlink = 1,
		.st_uid = s->uid,
		.st_gid = s->gid,
		.st_size = (off_t)a->size,
		.st_blksize = 4096,
		.st_blocks = (blkcnt_t)ceil_div(a->size, 512),
		.st_atim = a->mtime,
		.st_mtim = a->mtime,
		.st_ctim = a->ctime,
	};
}

static int run_lookup(struct call *c, int waited, struct tree_wait *wait)
{
	struct tree_attributes a;
	struct fuse_entry_param e = { .entry_timeout = FOR_EVER };
	int r = waited < 0 ? waited : tree_lookup(c->server->tree, c->inode, c->name, &a, wait);
	if (r == -EAGAIN)
		return r;
	if (r != 0) {
		tree_note_error(c->server->tree, r);
		fuse_reply_err(c->req, -r);
		return 0;
	}
	e.ino = a.inode;
	e.attr_timeout = a.constant ? FOR_EVER : 0;
	fill_stat(c->server, &a, &e.attr);
	fuse_reply_entry(c->req, &e);
	return 0;
}

static void lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct server *s = server_of(req);
	struct call c = { .req = req, .server = s, .run = run_lookup, .inode = parent, .name = name };
	call_run(s->calls, &c);
}

static int run_getattr(struct call *c, int waited, struct tree_wait *wait)
{
	struct tree_attributes a;
	struct stat st;
	int r = waited < 0 ? waited : tree_attributes(c->server->tree, c->inode, &a, wait);
	if (r == -EAGAIN)
		return r;
	if (r != 0) {
		tree_note_error(c->server->tree, r);
		fuse_reply_err(c->req, -r);
		return 0;
	}
	fill_stat(c->server, &a, &st);
	fuse_reply_attr(c->req, &st, a.constant ? FOR_EVER : 0);
	return 0;
}

static void getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	struct server *s = server_of(req);
	struct call c = { .req = req, .server = s, .run = run_getattr, .inode = ino };
	call_run(s->calls, &c);
}

/* ENOSYS once, and the kernel never sends open, flush or release again. */
static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void reply_read(struct call *c, const void *buf, int64_t n, bool waited)
{
	tree_note_read(c->server->tree, c->inode, n, now_ns() - c->begun_ns, waited);
	if (n >= 0)
		fuse_reply_buf(c->req, buf, (size_t)n);
	else
		fuse_reply_err(c->req, (int)-n);
}

static int run_read(struct call *c, int waited, struct tree_wait *wait)
{
	(void)wait;
	reply_read(c, c->buf, waited == 0 ? (int64_t)c->n : waited, true);
	return 0;
}

/* A text that is not made yet, or was given up. */
static int run_read_text(struct call *c, int waited, struct tree_wait *wait)
{
	struct tree_rest rest;
	if (waited == CALL_FIRST) {
		*wait = (struct tree_wait){ .text = true, .inode = c->inode };
		return -EAGAIN;
	}
	int64_t n = waited;
	if (n == 0 && c->buf == NULL && (c->buf = malloc(c->n)) == NULL)
		n = -ENOMEM;
	if (n == 0)
		n = tree_read(c->server->tree, c->inode, c->off, c->buf, c->n, &rest);
	if (n == -EAGAIN) {
		*wait = (struct tree_wait){ .text = true, .inode = c->inode };
		return -EAGAIN;
	}
	reply_read(c, c->buf, n, true);
	return 0;
}

static void read_file(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	struct server *s = server_of(req);
	struct tree_rest rest;
	struct call c = { .req = req, .server = s, .inode = ino, .off = (uint64_t)off, .begun_ns = now_ns() };
	size_t got;
	size = (size_t)min_u64(size, READ_MAX);
	const void *gathered = ahead_take(s->ahead, ino, (uint64_t)off, size, &got);
	int64_t n = gathered != NULL ? (int64_t)got
	                             : tree_read(s->tree, ino, (uint64_t)off, s->page, size, &rest);
	if (n == -EAGAIN && rest.text) {
		c.run = run_read_text;
		c.n = size;
		call_run(s->calls, &c);
	} else if (n == -EAGAIN) {
		c.run = run_read;
		call_read(s->calls, &c, &rest, s->page);
	} else {
		reply_read(&c, gathered != NULL ? gathered : s->page, n, false);
		if (gathered != NULL)
			tree_note_ahead_read(s->tree);
		if (n >= 0)
			ahead_note(s->ahead, ino, (uint64_t)off, size);
	}
}

/* The kernel may keep the pages of a listing only once it is complete: so opendir is answered, unlike open.
 */
static void open_folder(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	bool final = tree_list_is_final(server_of(req)->tree, ino);
	fi->cache_readdir = final;
	fi->keep_cache = final;
	fuse_reply_open(req, fi);
}

static void release_folder(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

struct page {
	fuse_req_t req;
	char *at;
	size_t n, room;
};

static bool add_entry(void *arg, const char *name, uint64_t inode, bool directory, uint64_t next)
{
	struct page *p = arg;
	struct stat st = { .st_ino = inode, .st_mode = directory ? S_IFDIR : S_IFREG };
	size_t n = fuse_add_direntry(p->req, p->at + p->n, p->room - p->n, name, &st, (off_t)next);
	if (n > p->room - p->n)
		return false;
	p->n += n;
	return true;
}

static int run_readdir(struct call *c, int waited, struct tree_wait *wait)
{
	struct page p = { .req = c->req, .room = c->n };
	if (waited < 0 && waited != -ENOENT) {
		tree_note_error(c->server->tree, waited);
		fuse_reply_err(c->req, -waited);
		return 0;
	}
	/* Another thread than the loop may not use its page. */
	c->buf = waited == CALL_FIRST ? NULL : malloc(c->n);
	p.at = waited == CALL_FIRST ? c->server->page : c->buf;
	int r = p.at == NULL ? -ENOMEM : tree_list(c->server->tree, c->inode, c->off, add_entry, &p, wait);
	if (r == -EAGAIN && waited == CALL_FIRST)
		return r;
	/* The data has ended where no more than what is listed can ever be counted. */
	if (r == 0 || (r == -EAGAIN && waited == -ENOENT)) {
		fuse_reply_buf(c->req, p.at, p.n);
	} else {
		tree_note_error(c->server->tree, r);
		fuse_reply_err(c->req, -r);
	}
	return 0;
}

static void readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	struct server *s = server_of(req);
	struct call c = { .req = req,
		          .server = s,
		          .run = run_readdir,
		          .inode = ino,
		          .off = (uint64_t)off,
		          .n = (size_t)min_u64(size, READ_MAX) };
	call_run(s->calls, &c);
}

static void statfs(fuse_req_t req, fuse_ino_t ino)
{
	(void)ino;
	uint64_t bytes, files;
	tree_size(server_of(req)->tree, &bytes, &files);
	struct statvfs v = {
		.f_bsize = 4096,
		.f_frsize = 4096,
		.f_blocks = (fsblkcnt_t)ceil_div(bytes, 4096),
		.f_files = (fsfilcnt_t)files,
		.f_namemax = 255,
	};
	fuse_reply_statfs(req, &v);
}

/* size 0 asks for the length. */
static void reply_xattr(fuse_req_t req, const char *value, size_t n, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(req, n);
	else if (size < n)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, value, n);
}

static void getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	char value[NAME_SIZE];
	int n = tree_xattr(server_of(req)->tree, ino, name, value);
	if (n < 0)
		fuse_reply_err(req, -n);
	else
		reply_xattr(req, value, (size_t)n, size);
}

static void listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	size_t n;
	const char *names = tree_xattrs(ino, &n);
	reply_xattr(req, names, n, size);
}

const struct fuse_lowlevel_ops operations = {
	.init = init,
	.lookup = lookup,
	.getattr = getattr,
	.open = open_file,
	.read = read_file,
	.opendir = open_folder,
	.readdir = readdir,
	.releasedir = release_folder,
	.statfs = statfs,
	.getxattr = getxattr,
	.listxattr = listxattr,
};
