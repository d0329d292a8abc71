/* info: what a source, a mounted folder or one token file is; the three faces of `fineweb info`. One thread.
 */
#ifndef FW_CLI_INFO_H
#define FW_CLI_INFO_H

#include <stdbool.h>

#include "cli/arguments.h"
#include "cli/sheet.h"

struct info_request {
	const struct arguments *arguments;
	uint64_t tokens;     /* of a training run */
	uint64_t node_ranks; /* ranks that a node reads */
	bool json;
};

/* A source: counts it to the end, where that downloads no text. 0 or -errno; a damaged piece is in the sheet,
 * too. */
int info_source(const struct info_request *q, struct sheet *s, struct error *err);
/* One token file, read whole. */
int info_shard(const struct info_request *q, const char *path, bool npy, struct sheet *s, struct error *err);
/* Whether a folder is the root of a mount, and what it is. */
bool info_is_mount(const char *path);
int info_mount(const char *path, struct sheet *s, struct error *err);
/* A page of a mount, parsed; NULL: err says why. */
json_t *info_load(const char *folder, const char *name, struct error *err);
/* A number of stats.json, of a kind of read or (NULL) of all; 0 where there is none. */
uint64_t info_number(const json_t *stats, const char *kind, const char *key);
/* Shows it each second until the mount is gone (-ENOTCONN) or nobody reads (-EPIPE). On a terminal SIGINT,
 * SIGTERM and SIGHUP leave it as it was before they end the process. */
int info_watch(const char *path, struct error *err);

#endif
