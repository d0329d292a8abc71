/* redirect: where URLs lead to, kept so that a file's address is not asked for with each range.
 *
 * The Hub answers with a URL that is signed for an hour. At most REDIRECTS are kept, in sets of four, the
 * oldest of a set makes room. A kept URL may be secret: it is for the transfer alone. Any thread.
 */
#ifndef FW_IO_REDIRECT_H
#define FW_IO_REDIRECT_H

#include <stdint.h>

#include "io/answer.h"

#define REDIRECTS 4096

struct redirects;

/* NULL: out of memory. */
struct redirects *redirects_new(void);
void redirects_free(struct redirects *r);

/* Where url leads to until now_ms at least, malloc'ed, and the ETag that was seen there; else NULL. */
char *redirects_find(struct redirects *r, const char *url, int64_t now_ms, char etag[ANSWER_ETAG]);
/* Keeps it until then. Without memory it is just not kept. */
void redirects_keep(struct redirects *r, const char *url, const char *to, const char *etag, int64_t until_ms);
void redirects_drop(struct redirects *r, const char *url);

/* How long a signed URL is good, in seconds from `now` (since 1970) on, by its query: Expires= (CloudFront,
 * old S3), X-Amz-Date= and X-Amz-Expires= (S3). -1: it does not say; 0: it is over. */
int64_t redirect_lifetime(const char *url, int64_t now);

#endif
