/* outline: where the columns of remote Parquet files lie, remembered in the index between mounts, so that a file of
 * which text was read before is not asked for its footer again. For textfiles_options; any thread.
 */
#ifndef FW_DATASET_OUTLINE_H
#define FW_DATASET_OUTLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

bool outline_recall(void *dataset, uint32_t file, struct buffer *out);
void outline_remember(void *dataset, uint32_t file, const struct buffer *outline);

#endif
