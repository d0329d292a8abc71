/* stats: what readers asked of a mount and how long it took, and the texts of stats.json and stats.prom.
 *
 * Any thread may call all but stats_new and stats_free at any time; nothing waits.
 */
#ifndef FW_TREE_STATS_H
#define FW_TREE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/dataset.h"

/* What is read: a batch (.bin, .npy), epoch.bin, a file of shards/, a text of a batch. */
enum stats_kind { STATS_BATCH, STATS_EPOCH, STATS_SHARD, STATS_TEXT, STATS_KINDS };

struct stats;

/* place: the absolute path of the mountpoint, the label `mount` of stats.prom; copied. d must outlive it. 0
 * or -ENOMEM. */
int stats_new(struct dataset *d, const char *place, struct stats **out, struct error *err);
void stats_free(struct stats *s); /* NULL-safe */

/* A reader's n bytes were answered, ns after it asked for them; waited: they were not at hand. */
void stats_note_read(struct stats *s, enum stats_kind kind, size_t n, int64_t ns, bool waited);
/* A read or a look-up failed, not because nothing is there or because it was interrupted. */
void stats_note_error(struct stats *s);
/* Bytes that were gathered before anybody asked for them; and a read that was answered from such. */
void stats_note_ahead(struct stats *s, size_t n);
void stats_note_ahead_read(struct stats *s);

/* Bytes of stats.json and of stats.prom: constant, because each number has the same room whatever it is. */
size_t stats_json_size(const struct stats *s);
size_t stats_prom_size(const struct stats *s);
/* Copy at most n bytes from off on and return how many (0 at the end); made anew at off 0. stats.prom is in
 * Prometheus' text format, for the textfile collector of its node exporter. -ENOMEM. */
int64_t stats_read_json(struct stats *s, uint64_t off, void *buf, size_t n);
int64_t stats_read_prom(struct stats *s, uint64_t off, void *buf, size_t n);

#endif
