/* kind: what a file is, by its name or its first bytes. Pure; any thread. */
#ifndef FW_IO_KIND_H
#define FW_IO_KIND_H

#include <stdbool.h>

#include "base/span.h"
#include "io/listing.h"

/* A folder is of one class, the first of these that it has. */
enum kind_class {
	CLASS_PARQUET,
	CLASS_JSONL,
	CLASS_TOKENS,
	CLASS_JSON, /* plain .json, which beside other data is more often something else */
	CLASSES,
};

struct kind {
	enum file_kind file;
	enum kind_class class;
};

/* By the ending, in any case. False when it is none of ours. */
bool kind_of_name(struct span name, struct kind *out);

/* By the first bytes, KIND_HEAD of them or what the file has. Raw tokens have no magic. */
#define KIND_HEAD 16
bool kind_of_head(struct span head, struct kind *out);

/* The name of a kind where one is written down: "parquet", "jsonl", "jsonl.gz", "jsonl.zst", "bin", "npy"; and
 * back, false when it is none. */
const char *kind_name(enum file_kind kind);
bool kind_named(const char *name, enum file_kind *out);

/* Whether a name in a folder is passed over: it begins with '.' or '_', or describes a data set or a
 * model. */
bool kind_ignored(const char *name);

/* The same of a path: one of its folders, or the file. */
bool kind_hidden(const char *path);

/* Whether the ending is .txt, in any case: a list. */
bool kind_is_list(struct span name);

/* The endings, for messages. */
#define KIND_ENDINGS ".parquet, .jsonl, .ndjson, .json (also with .gz or .zst), .bin, .npy"

#endif
