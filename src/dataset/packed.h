/* packed: an exported index: the counts of the files of a source in one file, for other nodes (option
 * `index`).
 *
 * A file as store/archive.h says; the key of an entry is what the counts of a file depend on, its pin among
 * them. Only where the entries stand is kept in memory: 25,000 files of 726 row groups are 70 MB. May be asked
 * by any thread.
 */
#ifndef FW_DATASET_PACKED_H
#define FW_DATASET_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/span.h"

struct packed;
struct dataset;

/* 0; -ENOENT, -EACCES, -EIO; -EBADMSG, -ENOTSUP: it is not what `index --export` writes; -ENOMEM. */
int packed_open(const char *path, struct packed **out, struct error *err);
void packed_close(struct packed *p); /* NULL-safe */
/* 0 and the record of a key in `record`, which is emptied first; -ENOENT, also when the file has changed since. */
int packed_find(const struct packed *p, const uint8_t key[HASH_SIZE], struct buffer *record);

/* Appends the counts of all files that are counted whole: what packed_open reads. *files is their number;
 * those of token files are not among them, for they stand in the files. 0; -ENOMEM, -ENOTSUP; or what a pin
 * says. */
int packed_write(struct dataset *d, struct buffer *out, uint32_t *files, struct error *err);

struct packed_check {
	uint64_t files;   /* whose counts are in index or cache */
	uint64_t pieces;  /* that are in the cache */
	uint64_t damaged; /* of both, which are removed */
};
/* Reads what index and cache have of the source, and checks it. 0 or what a pin says. Waits. */
int packed_verify(struct dataset *d, struct packed_check *out, struct error *err);

#endif
