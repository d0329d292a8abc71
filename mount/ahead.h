/* ahead: what a sequential reader will ask for next, gathered while nobody asks for anything.
 *
 * The reader copies and computes on one core meanwhile, so that gathering costs it no time. Only readers that
 * have been sequential twice are served, only bytes that are at hand are gathered. Small reads (batch files)
 * are gathered by the loop thread itself between two requests; large ones (epoch.bin: readahead windows) by a
 * thread, while the loop thread hands the window before to the kernel. All functions are for the loop thread
 * alone. At most AHEAD_READERS times two buffers of at most READ_MAX bytes.
 */
#ifndef FW_MOUNT_AHEAD_H
#define FW_MOUNT_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree/tree.h"

#define AHEAD_READERS 16

struct ahead;

int ahead_new(struct tree *t, struct ahead **out, struct error *err);
void ahead_free(struct ahead *a); /* NULL-safe; ends the thread */

/* A read of n bytes at off. Returns bytes that hold its answer, valid until the next call of any function
 * here, and their number in *got (short only at the end of the file); NULL when they were not gathered. */
const void *ahead_take(struct ahead *a, uint64_t inode, uint64_t off, size_t n, size_t *got);
/* The read was answered: what comes after it may be gathered. */
void ahead_note(struct ahead *a, uint64_t inode, uint64_t off, size_t n);
/* Gathers for some 5 us: 1. Or 0: there is nothing to gather, -1: the thread is gathering and needs the core
 * more than a loop that looks for requests. */
int ahead_step(struct ahead *a);

#endif
