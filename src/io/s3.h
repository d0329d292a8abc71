/* s3: the objects of a store that speaks S3; a part of the listing room, for listing.c.
 *
 * s3://BUCKET[/PREFIX]; PREFIX is a folder, one object, or a glob (pattern.h). Objects are read by plain
 * HTTPS URLs of the store, signed (access.h) when there are keys, and pinned by size and ETag as they were
 * first listed: that list is used until repin, also offline. With an endpoint the bucket stands in the path,
 * with AWS in the server's name, if it can be a part of one.
 */
#ifndef FW_IO_S3_H
#define FW_IO_S3_H

#include "io/draft.h"
#include "io/listing.h"
#include "io/s3user.h"

struct s3_found {
	bool folder; /* false: it is one object, named outright */
	size_t base; /* how many bytes of an object's `given` are the source */
};

bool s3_is(const char *source);

/* Adds the objects; their `given` is s3://BUCKET/KEY. 0; -EINVAL (no such form), -ENOENT (nothing there),
 * -EACCES (says whether it was signed), -ENOTSUP, or what http says. */
int s3_list(struct draft *d, const char *source, const struct listing_options *options,
            const struct s3user *user, struct s3_found *out, struct error *err);

#endif
