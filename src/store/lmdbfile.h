/* lmdbfile: whether the data file of an LMDB environment is whole.
 *
 * LMDB maps the file and trusts every page number, offset and length in it: a damaged page is a crash. So
 * before it is opened, both B-trees (free list and main) are walked and all that LMDB follows is checked:
 * each page is in the file, of its kind and used once, each node is inside its page, each large value inside
 * its run of pages. Values themselves are not checked (record.h does). Format: LMDB 0.9, data version 1
 * (mdb.c: MDB_meta, MDB_db, MDB_page, MDB_node), in the byte order and word size of the host.
 */
#ifndef FW_STORE_LMDBFILE_H
#define FW_STORE_LMDBFILE_H

#include "base/span.h"

/* Pure. 0, -EBADMSG, -ENOMEM (a bit for each page). */
int lmdbfile_validate(struct span file);

/* The same of a file that nobody writes to meanwhile. 0 also when it is not there or empty (LMDB makes it
 * then). -EBADMSG, or another -errno. */
int lmdbfile_check(const char *path);

#endif
