/* mountpoint: the folder that is mounted on, before and after. One thread. */
#ifndef FW_MOUNT_MOUNTPOINT_H
#define FW_MOUNT_MOUNTPOINT_H

#include <stdbool.h>

#include "base/error.h"

/* The file system's type as /proc/self/mountinfo has it. */
#define MOUNT_TYPE "fuse.fineweb"

/* Makes sure that `path` is a folder on which can be mounted, and stores its absolute path (malloc'ed). What
 * a killed fineweb left mounted there is detached, with a warning. 0; -ENOENT, -ENOTDIR, -EACCES, -EBUSY (a
 * fineweb is mounted there), -ENOTCONN (another dead file system), -ENOMEM. */
int mountpoint_prepare(const char *path, char **absolute, struct error *err);

/* Sets the kernel's readahead of the file system mounted at `absolute` to `kib` KiB; only root can. Returns
 * whether it is that now. Sends no request to the file system. */
bool mountpoint_read_ahead(const char *absolute, unsigned kib);

#endif
