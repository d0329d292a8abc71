/* indexpage: the names on the page that a web server makes of a folder (nginx autoindex, Apache
 * mod_autoindex, Python's http.server). Pure; any thread.
 */
#ifndef FW_IO_INDEXPAGE_H
#define FW_IO_INDEXPAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

#define INDEXPAGE_NAME \
	1024 /* bytes of a name at most, as it is encoded in the page; longer ones are passed over */

/* One link to what lies right in the folder: its name as it stands in a URL (percent-encoded), with a '/' at
 * the end for a folder. */
typedef int indexpage_fn(void *arg, const char *name, struct error *err);

/* Calls fn for each link of a page of the folder at `url` (which ends in '/'), in the page's order. Links
 * that lead elsewhere (up, to another server, to another order of the page) are passed over. 0, or what fn
 * returns. */
int indexpage_links(struct span html, const char *url, indexpage_fn *fn, void *arg, struct error *err);

#endif
