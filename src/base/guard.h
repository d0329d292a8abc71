/* guard: what a thread has mapped of files whose disk may fail.
 *
 * A page that the disk does not give would end the process with SIGBUS. Under a guard it becomes a page of
 * zeros, and the thread is told afterwards that what it made is worth nothing. At most GUARDS at once in a
 * thread; each call is about the calling thread's own.
 */
#ifndef FW_BASE_GUARD_H
#define FW_BASE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define GUARDS 16

/* Takes SIGBUS for the process, once; one that no guard covers ends it as ever. */
void guard_start(void);

/* Guards n bytes at `at`; false: there are GUARDS already. */
bool guard_add(const void *at, size_t n);
/* Before they are unmapped or moved. */
void guard_drop(const void *at);

/* Whether a page was lost since the last call. */
bool guard_lost(void);

#endif
