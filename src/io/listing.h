/* listing: the files of a source, in canonical order.
 *
 * A source is a file, a directory (walked), a glob, a `.txt` of paths (relative to it) and URLs one a
 * line (blank lines and lines that begin with # are passed over), an http(s) URL of one file or of a
 * `.txt`, whose lines are URLs, or paths relative to its URL; a web server's folder (webfolder.h), of the
 * Hub (hub.h), or of an S3 store (s3.h). Several are one list.
 * Canonical order is
 * by name, byte-wise; the name is the path relative to the one directory, or to the folders of the one
 * glob before its first wildcard, that is the source; else (several sources, a list, a file) the path
 * as given, or the URL without user and query, less the longest common prefix of all that ends in '/'.
 */
#ifndef FW_IO_LISTING_H
#define FW_IO_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct http;

enum file_kind {
	KIND_TOKENS_BIN, /* .bin: raw or with an llm.c header, told apart by the magic */
	KIND_TOKENS_NPY, /* .npy */
	KIND_PARQUET,    /* .parquet */
	KIND_JSONL,      /* .jsonl .ndjson .json: lines */
	KIND_JSONL_GZ,   /* .jsonl.gz .ndjson.gz .json.gz */
	KIND_JSONL_ZST,  /* .jsonl.zst .ndjson.zst .json.zst */
};

struct listed_file {
	const char *name;  /* canonical name, see above */
	const char *where; /* absolute path or URL */
	enum file_kind kind;
	bool remote;
	bool linked;       /* etag is the one of http_pin.linked */
	uint64_t size;     /* bytes; 0 for a remote file whose listing does not tell */
	const char *etag;  /* with quotes, of a remote file whose listing tells; else NULL */
	uint64_t inode, device;
	int64_t mtime_ns;
};

struct listing {
	struct listed_file *files; /* in canonical order, no where twice */
	size_t n;
	char *arena;               /* names, wheres and ETags live here */
	char **pinned;             /* the sources, each with the revision that was listed; malloc'ed each */
	size_t sources;
};

/* What is remembered from one listing to the next, on this machine. */
struct listing_memory {
	/* Appends what was put under a key of at most 2 * URL_MAX bytes; false: nothing. */
	bool (*get)(void *arg, const char *key, struct buffer *out);
	void (*put)(void *arg, const char *key, const void *bytes, size_t n);
	void *arg;
};

struct listing_options {
	const char *split;  /* "train" when NULL: once names in a directory or glob carry split words
			       (io/split.h), only those of this split count */
	struct http *http;  /* NULL: http(s) URLs are -ENOTSUP; asked only for a .txt, and for a file whose
			       ending tells nothing */
	size_t limit;       /* more files than this are an error; 0: 4,000,000 */
	const char *name;   /* configuration of a data set of the Hub, NULL: its default */
	const char *endpoint; /* of an S3 store, NULL: that of the environment, or AWS */
	unsigned patience_s; /* how long a server that does not answer is asked again */
	bool repin;         /* revisions are not taken from memory */
	const struct listing_memory *memory; /* NULL: none */
};

/* Lists. A directory is of one kind: Parquet, else JSONL (.jsonl .ndjson, and those and .json with .gz
 * or .zst), else token files, else plain .json; names that begin with '.' or '_' are skipped, as are
 * dataset.json, dataset_info.json, dataset_infos.json, config.json, tokenizer*.json. The same choice
 * holds for a glob (folders that it matches are walked); a file named outright, also in a list, is
 * taken for what it is (ending in any case, else magic bytes: PAR1, NUMPY, llm.c's magic, gzip, zstd,
 * '{'), whatever its split. 0; -ENOENT (no such path, or nothing in it, or nothing of the split: the
 * text says which and what was looked for), -EACCES, -ENOTSUP (a kind that is not known, too many
 * files), -EINVAL (a URL of another scheme, a list with a zero byte), -EIO, -ENOMEM, or what http says.
 * Call it where relative paths mean what the user meant. */
int listing_make(const char *const *sources, size_t n, const struct listing_options *options,
		 struct listing *out, struct error *err);
void listing_free(struct listing *l);

#endif
