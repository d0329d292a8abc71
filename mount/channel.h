/* channel: the bytes between libfuse and /dev/fuse, so that what libfuse says to the kernel at the start is
 * right.
 *
 * libfuse up to 3.14 never passes on FUSE_CAP_PARALLEL_DIROPS. Without it one look-up that has to wait holds
 * a mutex of its folder, and every other look-up and listing there waits behind it and can not even be
 * interrupted.
 */
#ifndef FW_MOUNT_CHANNEL_H
#define FW_MOUNT_CHANNEL_H

#define FUSE_USE_VERSION 34
#include <fuse_lowlevel.h>
#include <stdbool.h>

#include "base/error.h"

/* Comes between a session that is mounted and its device, before the first request. One session a process. 0
 * or -errno. */
int channel_open(struct fuse_session *session, struct error *err);

/* What the loop thread does while there is no request: a little work (1), nothing (0), or nothing while
 * another thread needs the core (-1). From now on it also looks for the next request for CHANNEL_SPIN_NS
 * before it sleeps, because waking it takes longer than most answers; not so after -1. */
#define CHANNEL_SPIN_NS 50000
void channel_idle(int (*work)(void *arg), void *arg);

#endif
