/* draft: a list of files while it is made; the inside of the listing room, for listing.c and walk.c.
 *
 * All text lies in one buffer and is spoken of by offset, for it moves as it grows.
 */
#ifndef FW_IO_DRAFT_H
#define FW_IO_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "io/kind.h"

struct found {
	size_t where;  /* absolute path or URL */
	size_t given;  /* the path as it was given; most often the end of `where` */
	size_t etag;   /* 0: none */
	struct kind kind;
	bool remote, linked;
	uint64_t size, inode, device;
	int64_t mtime_ns;
};

struct draft {
	struct found *files;
	size_t n, room, limit;
	struct buffer text;
	char *here;     /* the working directory, with a '/' at its end */
	size_t folders; /* visited so far */
};

/* Adds the local file dir/name, both as given. 0, -ENOTSUP (more than limit) or -ENOMEM. */
int draft_add(struct draft *d, const char *dir, const char *name, struct kind kind, const struct stat *st,
	      struct error *err);

/* Adds the file at a URL. Errors as above. */
int draft_add_url(struct draft *d, const char *url, struct kind kind, struct error *err);

/* Adds a file whose size and ETag (NULL: none) a listing tells; linked as in listing.h. Errors as above. */
struct remote_file {
	const char *where, *given;
	struct kind kind;
	uint64_t size;
	const char *etag;
	bool linked;
};
int draft_add_remote(struct draft *d, const struct remote_file *f, struct error *err);

/* What stands between a folder's path as given and a name in it. */
static inline const char *draft_slash(const char *dir)
{
	size_t n = __builtin_strlen(dir);
	return n == 0 || dir[n - 1] == '/' ? "" : "/";
}

/* Adds the data files below the folder `dir` (as given; "" is the working directory), in no order.
 * Symbolic links are followed, but not into a folder that one is in already. 0; -ENOENT (gone, or a
 * link that leads nowhere), -EACCES, -ENOTSUP (too many files or folders, deeper than WALK_DEPTH, or a
 * data file's name on what is no file), -EIO, -ENOMEM. */
#define WALK_DEPTH 64
#define WALK_FOLDERS 1000000
int walk(struct draft *d, const char *dir, struct error *err);

/* errno of a path as one of the codes above, with the path in the text. */
int path_error(const char *path, int code, struct error *err);

#endif
