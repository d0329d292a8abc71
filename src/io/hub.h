/* hub: the files of a data set on the Hugging Face Hub; a part of the listing room, for listing.c.
 *
 * hf://datasets/NS/NAME[@REV][/PATH]; PATH is a folder, a file or a glob (pattern.h). Without PATH, or with
 * name=, the data set's card chooses (card.h): its default configuration, if it has any; else the rules
 * for folders of `datasets` do. A revision becomes its commit when it is first listed, and is that until
 * repin; tree and card of a commit never change, so what is remembered of them is asked no more, also
 * offline. Files are named by the resolve URL of the commit, and pinned by size and oid.
 */
#ifndef FW_IO_HUB_H
#define FW_IO_HUB_H

#include "io/draft.h"
#include "io/hubuser.h"
#include "io/listing.h"

/* What came of it. */
struct hub_found {
	bool folder;  /* false: it is one file, named outright */
	bool chosen;  /* the files are already those of the split */
	size_t base;  /* how many bytes of a file's `given` are the source, and */
	size_t split; /* how many are the folder in which split words are looked for */
	char *pinned; /* hf://datasets/NS/NAME@COMMIT[/PATH], malloc'ed */
};

bool hub_is(const char *source);

/* Adds the files; their `given` is hf://datasets/NS/NAME/PATH. 0; -EINVAL (no such form), -ENOENT, -EACCES
 * (says whether a token was sent), -ENOTSUP, -EBADMSG (the card), or what http says. */
int hub_list(struct draft *d, const char *source, const struct listing_options *options,
             const struct hubuser *user, struct hub_found *out, struct error *err);

#endif
