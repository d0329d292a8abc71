/* operations: what FUSE asks, decoded, asked of the tree and answered exactly once.
 *
 * One loop thread runs them. What is at hand it answers itself; all else waits as a call.
 */
#ifndef FW_MOUNT_OPERATIONS_H
#define FW_MOUNT_OPERATIONS_H

#include <sys/types.h>

#include "mount/ahead.h"
#include "mount/call.h"

struct server {
	struct tree *tree; /* there before the first request but INIT */
	struct calls *calls;
	uid_t uid; /* owner of everything: who mounted */
	gid_t gid;
	struct ahead *ahead;
	void *page; /* READ_MAX bytes that the loop thread answers from */
};

/* Userdata of the session is a struct server. */
extern const struct fuse_lowlevel_ops operations;

#endif
