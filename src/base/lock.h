/* lock: mutexes for sections of a few microseconds.
 *
 * A thread that meets one taken spins for a moment before it sleeps: waking takes longer than the section.
 */
#ifndef FW_BASE_LOCK_H
#define FW_BASE_LOCK_H

#include <pthread.h>

/* Makes *m such a mutex; else it is used and destroyed as any other. */
void lock_init(pthread_mutex_t *m);

#endif
