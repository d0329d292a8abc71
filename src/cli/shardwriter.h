/* shardwriter: writes one shard under NAME.part, with its header and its SHA-256; syncs and renames it. One
 * thread.
 *
 * The one file of `nanogpt` is written part by part, each at its place, and keeps its .part until all are
 * there.
 */
#ifndef FW_CLI_SHARDWRITER_H
#define FW_CLI_SHARDWRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/options.h"
#include "dataset/prepared.h"

struct shardwriter {
	int folder, fd;
	const char *dir, *name; /* of the caller */
	char part[96];
	enum shards_form form;
	unsigned width;
	bool whole; /* the file is of this shard alone */
	uint64_t first, tokens, promised;
	struct hash *hash;
	bool mine; /* the lock is had, so the file may be removed */
};

/* Begins the shard `name` of DIR; first: where in the file its tokens begin; promised: how many it most
 * likely gets. 0, -EBUSY (another process writes it), -ENOSPC ... */
int shardwriter_open(struct shardwriter *w, int folder, const char *dir, const char *name,
                     enum shards_form form, unsigned width, uint64_t first, uint64_t promised, bool whole,
                     struct error *err);
int shardwriter_add(struct shardwriter *w, const void *ids, size_t tokens, struct error *err);
/* The file has its name and is on disk. want: the SHA-256 that it must have, NULL for any; -ESTALE: it has
 * another, and no name. */
int shardwriter_end(struct shardwriter *w, const char *want, char sha256[HASH_HEX], struct error *err);
/* Lets go; what is not whole is removed. */
void shardwriter_abort(struct shardwriter *w);

/* Gives the one file of nanogpt its name, when all of its parts are there; `tokens` long. */
int shardwriter_rename(int folder, const char *dir, const char *name, uint64_t bytes, struct error *err);

/* Reads a shard of a folder back: 0, -ENOENT, -EBADMSG (size or SHA-256), -EIO; *stop ends it with -EINTR.
 * quick: only the size. */
int shardwriter_check(int folder, const char *dir, const struct prepared_shard *s, enum shards_form form,
                      unsigned width, bool quick, const atomic_bool *stop, struct error *err);

#endif
