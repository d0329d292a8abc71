/* pace: servers that asked to be left alone for a while (429), for all threads of a client together.
 *
 * At most PACE_HOSTS servers are remembered, those with the longest waits. Any thread.
 */
#ifndef FW_IO_PACE_H
#define FW_IO_PACE_H

#include <pthread.h>
#include <stdint.h>

#define PACE_HOSTS 64
#define PACE_AUTHORITY 256 /* bytes of a server's name and port; longer ones are not remembered */

struct pace {
	pthread_mutex_t lock;
	struct pace_host {
		char authority[PACE_AUTHORITY];
		int64_t until_ms;
	} hosts[PACE_HOSTS];
};

void pace_init(struct pace *p);
void pace_destroy(struct pace *p);

/* The server of a URL is not to be asked before so many milliseconds after now_ms (of a clock that only
 * goes forward). A shorter wait never ends a longer one. */
void pace_hold(struct pace *p, const char *url, int64_t now_ms, unsigned wait_ms);

/* Milliseconds until the server of a URL may be asked, 0: now. */
unsigned pace_left(struct pace *p, const char *url, int64_t now_ms);

#endif
