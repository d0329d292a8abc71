/* card: which files a configuration of a data set means, by the data set's card. The only room that includes
 * yaml.h.
 *
 * A card is README.md with YAML between lines of "---" at its head; `configs:` there is a list of
 * {config_name, data_files, data_dir, default}, data_files a pattern, a list of patterns, a mapping from
 * split to patterns, or a list of {split, path}: as metadata.py and data_files.py of the Python library
 * `datasets` read it. Untrusted bytes, of which at most CARD_MAX are looked at. Any thread.
 */
#ifndef FW_IO_CARD_H
#define FW_IO_CARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"

#define CARD_MAX (4u << 20)
#define CARD_PATTERNS 100000

struct card_files {
	bool configured; /* false: the card has no configurations, and the rest is empty */
	char **patterns; /* io/pattern.h; relative to the data set */
	size_t n;        /* 0: all below data_dir, by the rules for folders without a card */
	char *data_dir;  /* relative to the data set, "" for all of it */
	char *name;      /* of the configuration */
};

/* The files of a split ("train") of a configuration, or of the default one (name NULL: the only one, that
 * called default or marked default: true). 0; -ENOENT: no such configuration, none is the default, or it has
 * no such split (the text lists what there is); -EBADMSG: not the YAML that is expected; -ENOTSUP: files that
 * are not in the data set, or too many; -ENOMEM. */
int card_choose(struct span card, const char *name, const char *split, struct card_files *out,
                struct error *err);
void card_free(struct card_files *f); /* NULL-safe in its members */

#endif
