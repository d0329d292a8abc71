/* hubpage: what the Hub's API answers, in JSON that nobody vouches for. Any thread.
 *
 * Reference: the OpenAPI description of the Hub (GET /api/datasets/{id}/tree/{rev}/{path},
 * .../revision/{rev}).
 */
#ifndef FW_IO_HUBPAGE_H
#define FW_IO_HUBPAGE_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define HUB_COMMIT 65 /* a commit's hex digits and a NUL */
#define HUB_PATH 4096 /* bytes of a path at most */

/* One file: path below the repository (no control characters, no "." or ".." in it, no '/' at an end), size
 * in bytes, and what its first answer has as ETag, without quotes: SHA-256 of a large file, else git's id. */
typedef int hub_file_fn(void *arg, const char *path, uint64_t size, const char *oid, struct error *err);

/* Calls fn for each file of a page of a tree. 0, what fn returns, -EIO (not what is expected) or -ENOMEM. */
int hubpage_tree(struct span json, hub_file_fn *fn, void *arg, struct error *err);

/* The commit of a revision. 0, -EIO or -ENOMEM. */
int hubpage_commit(struct span json, char out[HUB_COMMIT], struct error *err);

/* Whether it is a whole commit id: 40 (SHA-1) or 64 hex digits. */
int hubpage_is_commit(const char *text);

#endif
