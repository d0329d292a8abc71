/* room: how many bytes the pieces take, and which go when there is no room.
 *
 * Two bounds: the bytes of the cache, and what must stay free of the disk. The total is this process's own
 * sum over a scan of the folder; the scan is made when it is first needed, and again from time to time, since
 * others write too. Any thread, but for open and close.
 */
#ifndef FW_STORE_ROOM_H
#define FW_STORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/folder.h"

struct room;

/* size: bytes, 0: min(50 GiB, half of what is free and what the cache has). keep: see cache.h. The folder
 * must outlive it. NULL: out of memory. */
struct room *room_open(const struct folder *f, uint64_t size, unsigned keep_free_percent,
		       bool (*keep)(void *arg, const uint8_t key[HASH_SIZE]), void *keep_arg);
void room_close(struct room *r); /* NULL-safe */

/* The bound in bytes; the first call may scan. */
uint64_t room_bound(struct room *r);

/* Takes n bytes for a file in work, evicting when they pass a bound. 0, or -ENOSPC: nothing more may go. In
 * both cases the bytes count until room_settle or room_return. */
int room_take(struct room *r, uint64_t n, struct error *err);
/* Gives back what a file in work took. */
void room_return(struct room *r, uint64_t taken);
/* A file in work that took `taken` is now a piece of `bytes`; evicts others when the bound is passed. */
void room_settle(struct room *r, uint64_t taken, uint64_t bytes);
/* A piece of `bytes` was removed by other means. */
void room_lost(struct room *r, uint64_t bytes);
/* The disk said that it is full although it should not be (a quota): makes some room for those who come next.
 */
void room_full(struct room *r);

/* As this process knows them: of the last scan and its own work since; 0 before the first. */
void room_counters(struct room *r, uint64_t *bytes, uint64_t *pieces, uint64_t *evicted);

#endif
