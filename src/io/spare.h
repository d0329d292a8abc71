/* spare: TCP connections that are made ahead of need, so that the second transfer to a server does not wait a
 * round trip for its own; the inside of the http room, for loop.c.
 *
 * With the first connection to an address another one is begun; who needs it within SPARE_MS takes it, else
 * it is closed. At most SPARES at once. One thread at a time.
 */
#ifndef FW_IO_SPARE_H
#define FW_IO_SPARE_H

#include <stdint.h>
#include <sys/socket.h>

#define SPARES 4
#define SPARE_MS 10000
#define SPARE_SEEN 16 /* addresses that are remembered; a forgotten one is new again */

struct spare_address {
	struct sockaddr_storage at;
	socklen_t n; /* 0: none */
	int type, protocol;
};

struct spares {
	struct spare {
		struct spare_address to;
		int fd; /* of one whose to.n is not 0 */
		int64_t until_ms;
	} kept[SPARES];
	struct spare_address seen[SPARE_SEEN];
	unsigned next; /* place in `seen` */
};

/* Zeroed, it has none. */

/* A connection to the address that stands, now the caller's to close; -1: there is none. */
int spares_take(struct spares *s, const struct spare_address *to, int64_t now_ms);
/* Begins one, if a connection to this address was never made before. */
void spares_begin(struct spares *s, const struct spare_address *to, int64_t now_ms);
/* Closes those whose time is over; all, with INT64_MAX. Milliseconds until it is to be called again, -1:
 * there is no need. */
int spares_age(struct spares *s, int64_t now_ms);

#endif
