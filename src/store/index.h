/* index: this process's memory of files and pieces between mounts (LMDB). The only room that includes lmdb.h.
 *
 * A key-value store of small checksummed records. One process has one environment open: DIR/index.0 ...
 * DIR/index.63, the first whose lock file it can flock (held for life). It is a memory only: whatever does
 * not validate is gone, an environment that does not open is deleted and made anew. Never used across fork.
 * All functions may be called from many threads at once.
 */
#ifndef FW_STORE_INDEX_H
#define FW_STORE_INDEX_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

struct index;

#define INDEX_KEY 64 /* bytes of a key at most */

/* Opens the next free slot in dir. map_size 0: 8 GiB (address space, not disk). 0, or -ENOTSUP (dir is on
 * NFS, Lustre, CIFS, FUSE or the like; named), -EROFS, -ENOSPC, -EACCES, -EIO, -EBUSY (all slots taken): the
 * caller goes on without. The file is made 0600. */
int index_open(const char *dir, size_t map_size, struct index **out, struct error *err);
void index_close(struct index *x); /* NULL-safe; writes what is buffered */

/* 0, -ENOENT (not there, or it did not validate: then it is removed). out is emptied first. May wait for a
 * commit. */
int index_get(struct index *x, const void *key, size_t key_size, struct buffer *out);
/* Remembers; a write is buffered and committed within a second or 1024 records, so that it costs no fsync
 * each. An error (full disk, a value over RECORD_VALUE bytes) is logged once, never returned. There is no
 * thread for it: puts and gets look at the clock. A commit survives kill -9; a power cut may take the last.
 */
void index_put(struct index *x, const void *key, size_t key_size, const void *value, size_t n);
/* Commits what is buffered. */
void index_flush(struct index *x);

#endif
