/* channel: the bytes between libfuse and /dev/fuse, so that what libfuse says to the kernel at the start is right.
 *
 * libfuse up to 3.14 never passes on FUSE_CAP_PARALLEL_DIROPS. Without it one look-up that has to wait holds a mutex
 * of its folder, and every other look-up and listing there waits behind it and can not even be interrupted.
 */
#ifndef FW_MOUNT_CHANNEL_H
#define FW_MOUNT_CHANNEL_H

#define FUSE_USE_VERSION 34
#include <fuse_lowlevel.h>

#include "base/error.h"

/* Comes between a session that is mounted and its device, before the first request. One session a process. 0 or -errno. */
int channel_open(struct fuse_session *session, struct error *err);

#endif
