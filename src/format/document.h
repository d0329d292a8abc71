/* document: one text of a dataset, as the text formats hand it on. */
#ifndef FW_FORMAT_DOCUMENT_H
#define FW_FORMAT_DOCUMENT_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct document {
	uint64_t row;     /* row in the file (Parquet) or line (JSONL), from 0 */
	struct span text; /* as it is in the file: perhaps empty, perhaps invalid UTF-8; text.at is NULL for null or absent */
	struct span id;   /* the `id` column, empty where there is none or it was not asked for */
	struct span url;  /* the `url` column, likewise */
};

/* Takes one document; its spans are valid during the call only. 0 to go on, -errno to stop the reader with it. */
typedef int document_fn(void *arg, const struct document *d, struct error *err);

#endif
