/* split: which part of a data set (train, validation, test) a file is, by the words in its path.
 *
 * The rule of the Python library `datasets` for folders without a card (data_files.py): a word counts
 * where it stands between the ends of a path's component, '-', '.', '_', ' ' and digits; once a
 * folder's name carries one, only folders' names are looked at, else file names. Pure; any thread.
 */
#ifndef FW_IO_SPLIT_H
#define FW_IO_SPLIT_H

#include <stdbool.h>

#include "base/span.h"

#define SPLIT_TRAIN 1u
#define SPLIT_VALIDATION 2u
#define SPLIT_TEST 4u

/* The split that a user names by any of its words ("val"), 0 for a word that is none. */
unsigned split_named(const char *word);

/* The splits whose words the file's name, or the folders' names, of a path carry: bits, often one, or
 * 0. */
unsigned split_of_file(const char *path);
unsigned split_of_folders(const char *path);

/* Whether a path is data/SPLIT-00000-of-00001*.*, by which a split may have any name; *split is a view into it. */
bool split_of_shard(const char *path, struct span *split);

/* "train, test" for a set of bits, into at least SPLIT_TEXT bytes. */
#define SPLIT_TEXT 32
void split_text(unsigned splits, char out[SPLIT_TEXT]);

#endif
