/* file: a source over a file of a local or mounted filesystem.
 *
 * Opened O_RDONLY|O_CLOEXEC with POSIX_FADV_RANDOM: rows are read at random, and a row
 * must not drag in the readahead window. read_now is preadv2(RWF_NOWAIT) and announce is
 * POSIX_FADV_WILLNEED; where the filesystem does not know RWF_NOWAIT it always says -EAGAIN.
 */
#ifndef FW_IO_FILE_H
#define FW_IO_FILE_H

#include <stdint.h>

#include "io/source.h"

/* What tells that a file should be looked at again; nothing of it is a pin. */
struct file_stat {
	uint64_t size, inode, device;
	int64_t mtime_ns;
};

/* Opens path. -ENOENT, -EACCES, -ENOTSUP (not a regular file), -EIO, each with the path in the text. *out is closed with source_close. */
int file_open(const char *path, struct source **out, struct error *err);

/* fstat of an open file source as it is now. `s` must be from file_open. 0 or -EIO. */
int file_stat(struct source *s, struct file_stat *out, struct error *err);
/* stat of a path. 0 or -errno. */
int file_stat_path(const char *path, struct file_stat *out);

#endif
