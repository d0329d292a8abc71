/* session: one mount from its beginning to its end.
 *
 * Mounts, forks, and lets the child open the dataset and serve until it is unmounted or gets SIGTERM, SIGINT
 * or SIGHUP. The parent waits until the mount is ready or has failed. No thread may have been started before.
 */
#ifndef FW_MOUNT_SESSION_H
#define FW_MOUNT_SESSION_H

#include "mount/cmdline.h"

/* The exit codes of mount(8). */
enum exit_code { EXIT_MOUNTED = 0, EXIT_USAGE = 1, EXIT_SYSTEM = 2, EXIT_NOT_MOUNTED = 32 };

/* Returns the exit code of this process, be it the parent, the daemon or, with -f, both. With a code that is
 * not EXIT_MOUNTED nothing is left mounted; err has the cause, or no text when another process said it. */
int session_run(const struct cmdline *c, struct error *err);

#endif
