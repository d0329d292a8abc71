/* s3page: a page of an S3 store's list of objects, in XML that nobody vouches for. Pure; any thread.
 *
 * Reference: Amazon S3 API, ListObjectsV2. Only what that answer is made of is read: elements, attributes
 * (passed over), text with the five entities and character references, comments; nothing is ever loaded.
 */
#ifndef FW_IO_S3PAGE_H
#define FW_IO_S3PAGE_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define S3_KEY_MAX 1024   /* bytes of a key, as S3 bounds it */
#define S3_TOKEN_MAX 4096 /* bytes of a continuation token that are taken */

/* One object: key (no control characters), size in bytes, ETag with its quotes or "". */
typedef int s3_object_fn(void *arg, const char *key, uint64_t size, const char *etag, struct error *err);

/* Calls fn for each object and fills next with the continuation token, "" on the last page. 0, what fn
 * returns, or -EIO (not what is expected). */
int s3page_read(struct span xml, s3_object_fn *fn, void *arg, char next[S3_TOKEN_MAX + 1], struct error *err);

#endif
