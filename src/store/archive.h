/* archive: records of many files packed into one: an exported index, and the pieces of a prepared folder.
 *
 * Bytes: "FWRECORD", version u32 = 1, entries u32, then for each entry its key (32 bytes), the length of its
 * record u32 and the record; at the end SHA-256 over all before. Little-endian. Untrusted when read. Pure; an
 * open archive may be asked by any thread.
 */
#ifndef FW_STORE_ARCHIVE_H
#define FW_STORE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/span.h"

#define ARCHIVE_MOST (1u << 30) /* bytes of an archive */

/* Appends to an empty buffer: first the head, then each entry, then the end. 0, -ENOMEM; -ENOTSUP beyond
 * ARCHIVE_MOST. */
int archive_begin(struct buffer *b, uint32_t entries, struct error *err);
int archive_add(struct buffer *b, const uint8_t key[HASH_SIZE], struct span record, struct error *err);
int archive_end(struct buffer *b, struct error *err);

struct archive;

/* The bytes must outlive it. 0, -EBADMSG with what is wrong (no name), -ENOMEM. */
int archive_open(struct span bytes, struct archive **out, struct error *err);
void archive_close(struct archive *a); /* NULL-safe */
uint32_t archive_entries(const struct archive *a);
/* An entry, in the order in which they stand. */
void archive_entry(const struct archive *a, uint32_t i, const uint8_t **key, struct span *record);
/* The record of a key: 0 or -ENOENT. */
int archive_find(const struct archive *a, const uint8_t key[HASH_SIZE], struct span *record);

#endif
