/* readme: the text of README.txt, what a mount is and how to read it, with its own numbers. */
#ifndef FW_TREE_README_H
#define FW_TREE_README_H

#include "base/buffer.h"
#include "dataset/dataset.h"

/* Appends the text. place: path of the mountpoint. Depends on nothing that changes while mounted. 0 or
 * -ENOMEM. */
int readme_write(struct buffer *out, const struct dataset_facts *facts, const char *place);

#endif
