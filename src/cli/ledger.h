/* ledger: what a folder of shards has: dataset.json once it is whole, and before that a record for each shard
 * in DIR/.prepare, so that prepare goes on where it was, and tasks on many machines need not talk.
 *
 * Every file is written under NAME.part, synced and renamed. One thread; ledger_write may be another's.
 */
#ifndef FW_CLI_LEDGER_H
#define FW_CLI_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "dataset/prepared.h"
#include "dataset/stream.h"

struct ledger {
	char *dir, *work_dir;  /* DIR, DIR/.prepare */
	int fd, work;          /* of DIR, of DIR/.prepare; -1: none */
	bool whole;            /* dataset.json is there */
	struct prepared terms; /* terms, source and version of what is to be prepared */
};

/* The record of what follows the last shard, which alone is `ended`. Its one shard has the number of training
 * shards, and `val` where target_tokens ended the stream; then `tokens` and `documents` are those of its last
 * piece. */
#define LEDGER_END "end"

/* Opens or makes DIR, and holds it against the terms of l (l->terms is filled by the caller, the rest zero).
 * shared: others may work in it too. there: it was begun before, nothing is made (-ENOENT). 0; -EEXIST (other
 * terms, the first that differs is named; or files of somebody else); -EBUSY (somebody works in it); -EACCES,
 * -ENOSPC, -EROFS, -EIO ... ledger_close in any case. */
int ledger_open(struct ledger *l, const char *dir, bool shared, bool there, struct error *err);
void ledger_close(struct ledger *l);

/* "val", "train_000000". */
#define LEDGER_NAME 32
void ledger_name(bool val, uint64_t number, char out[LEDGER_NAME]);

/* The record of a shard, or LEDGER_END: 0 and *out (zeroed before; the caller's), -ENOENT, -EBADMSG, -EIO. */
int ledger_read(struct ledger *l, const char *name, struct prepared *out, struct error *err);
int ledger_write(struct ledger *l, const char *name, const struct prepared *p, struct error *err);

/* Tells the other tasks of a piece that is damaged though it is counted, which none must reckon with. */
int ledger_note_damage(struct ledger *l, uint32_t file, uint32_t piece, struct error *err);
/* All that were told of so far, sorted: *out is the caller's. */
int ledger_damage(struct ledger *l, struct stream_damage **out, size_t *n, struct error *err);

/* dataset.json and pieces.fwc of a whole folder. As ledger_read. */
int ledger_read_whole(struct ledger *l, struct prepared *out, struct error *err);
/* Puts all records together, each of which must be there: -ENOENT names those that are missing. */
int ledger_gather(struct ledger *l, struct prepared *out, struct error *err);
/* Writes what was gathered as dataset.json. Then the records go, and with them shards behind the end, of tasks
 * that had reckoned otherwise. */
int ledger_finish(struct ledger *l, const struct prepared *all, struct error *err);

/* Writes a file of DIR so that it is there whole or not at all. */
int ledger_put(int folder, const char *dir, const char *name, const struct buffer *bytes, struct error *err);

#endif
