/* link: the next page of a paged answer, from its Link header (RFC 8288). Pure; any thread. */
#ifndef FW_IO_LINK_H
#define FW_IO_LINK_H

#include <stdbool.h>

#include "base/span.h"

/* The target (a view into value) of the first link whose rel has the word "next"; false when there is
 * none, or what stands before it is no link. */
bool link_next(struct span value, struct span *url);

#endif
