/* webfolder: the files of a folder on a web server, by its index pages; a part of the listing room, for
 * listing.c.
 *
 * An http(s) URL that ends in '/'. Names are those of the pages (indexpage.h), percent-decoded; folders are
 * entered as those of a disk are. The list of the first time is used until repin, also offline.
 */
#ifndef FW_IO_WEBFOLDER_H
#define FW_IO_WEBFOLDER_H

#include "io/draft.h"
#include "io/listing.h"

#define WEBFOLDER_DEPTH 32
#define WEBFOLDERS 100000 /* pages at most */

/* Whether it is a URL of a folder. */
bool webfolder_is(const char *source);

/* Adds the files; their `given` is the URL with the name decoded, of which the first *base bytes are the
 * source. 0; -ENOTSUP (too many or too deep), -EINVAL, or what http says. */
int webfolder_list(struct draft *d, const char *source, const struct listing_options *options, size_t *base,
                   struct error *err);

#endif
