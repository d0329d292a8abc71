/* ready: how a daemon tells the process that started it that it is ready, or why not.
 *
 * ready_fork once, in a process with one thread; then in the child ready_tell once, in the parent ready_wait
 * once.
 */
#ifndef FW_MOUNT_READY_H
#define FW_MOUNT_READY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct ready {
	int pipe;    /* the parent's end to read, the child's to write; -1 after use */
	pid_t child; /* in the child 0 */
};

/* Forks. The child has /dev/null for stdin, stdout and stderr. 0 or -errno. */
int ready_fork(struct ready *r, struct error *err);

/* The child's word: exit code 0 is ready, else why has the cause. False when nobody listens any more. */
bool ready_tell(struct ready *r, int exit_code, const struct error *why);

/* Waits for the child's word and returns its exit code and cause; a child that died without a word is `lost`.
 * SIGTERM, SIGINT and SIGHUP are passed on to the child. */
int ready_wait(struct ready *r, int lost, struct error *why);

#endif
