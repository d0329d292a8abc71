/* window: how many bytes of fetches are worth having under way at once.
 *
 * As TCP's BBR does with packets (N. Cardwell and others, "BBR: Congestion-Based Congestion Control", 2016):
 * the product of the highest rate at which bytes came and the shortest time that a transfer took, both of the
 * last WINDOW_TURN_NS to 2 * WINDOW_TURN_NS, is what a path takes. More than that only waits in it, so the
 * window is a quarter larger and no more; at first it is twice as large, so that it doubles from round to
 * round until three rounds bring no higher rate. Once a turn it is half as large for a round, so that what
 * waits in the path drains and does not pass for its length. Pure: times are the caller's, and so is a lock.
 */
#ifndef FW_FETCH_WINDOW_H
#define FW_FETCH_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_TURN_NS 10000000000
#define WINDOW_FIRST (2u << 20) /* bytes at first, and at least */

struct window {
	uint64_t most;            /* bytes, the bound */
	uint64_t size;            /* bytes that may be under way */
	uint64_t flight;          /* bytes that are */
	uint64_t delivered, mean; /* bytes that came; of a transfer */
	/* private */
	double rate[2];         /* highest, in bytes a second: of this turn, and of the one before */
	int64_t quick[2];       /* shortest, in nanoseconds; 0: none */
	int64_t turn_ns;        /* when this turn began, 0: not yet */
	uint64_t round_at;      /* the round ends when so many bytes were delivered, */
	uint64_t drain_at;      /* and draining then */
	double grown;           /* the rate when it last grew */
	unsigned flat;          /* rounds in which it did not */
	bool filling;           /* the end of the path is not found yet */
	bool full, turned_full; /* it was what held a transfer back: in this round, in this turn */
};

struct window_transfer {
	int64_t begun_ns;
	uint64_t bytes, delivered; /* of the window when it began */
};

void window_init(struct window *w, uint64_t most);

/* Whether a transfer of usual size may begin: two of them always may. */
bool window_may(struct window *w);

void window_begin(struct window *w, struct window_transfer *t, uint64_t bytes, int64_t now_ns);
/* came: it brought what was asked for; one that failed says nothing about the path. */
void window_end(struct window *w, const struct window_transfer *t, bool came, int64_t now_ns);

#endif
