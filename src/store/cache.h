/* cache: tokenised pieces, and what was counted, as plain files on disk.
 *
 * One folder may be shared by any number of processes, users and nodes. Files are immutable: written under a
 * temporary name (tmp.<16 hex>), fsync, rename. All functions may be called from many threads at once, but
 * for open, close and those of one writer.
 *
 * DIR/v1/pieces/ab/<62 hex>.tok   64-byte header, then ids of `width` bytes, little-endian
 *   0 magic "FWPIECE1"  8 version u32 = 1  12 width u32  16 tokens u64  24 documents u64
 *   32 first 16 bytes of the key  48 first 16 bytes of SHA-256 over the ids and bytes 0..47
 * DIR/v1/counts/ab/<62 hex>.cnt    a counts record (counts.h), same header scheme with magic "FWCOUNT1"
 * DIR/v1/locks/<64 hex>.lock      flock files, there while they are held
 */
#ifndef FW_STORE_CACHE_H
#define FW_STORE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "io/source.h"

struct cache;

struct cache_key {
	uint8_t bytes[HASH_SIZE];
};

struct cache_options {
	const char *dir;
	uint64_t size;		    /* bound of the pieces' bytes; 0: min(50 GiB, half of what is free) */
	unsigned keep_free_percent; /* of the disk; 0: 10 */
	/* Says that a piece must stay (blocks being read); called during eviction, may be NULL. Any thread.
	 */
	bool (*keep)(void *arg, const struct cache_key *key);
	void *keep_arg;
};

/* Opens or makes the folder (mode 0777 & ~umask; as root 0755). 0, or -EACCES, -EROFS, -ENOSPC, -EIO: the
 * caller goes on without a cache. */
int cache_open(const struct cache_options *options, struct cache **out, struct error *err);
void cache_close(struct cache *c);
const char *cache_dir(const struct cache *c); /* absolute */
/* The bound of the pieces' bytes, found from the disk where options.size was 0. The first call may scan the
 * folder. */
uint64_t cache_bound(struct cache *c);

struct cached_piece {
	struct source *source; /* the whole file; the ids begin at byte CACHE_HEADER */
	uint64_t tokens, documents;
	unsigned width;
};
#define CACHE_HEADER 64

/* Opens a piece. Its checksum is verified once a process (the first time it is opened). 0; -ENOENT (not
 * there, or it was damaged: then it is deleted, logged and counted), -EACCES (another user's), -EIO, -ENOMEM.
 * Marks it as used, at most once a minute. out->source is the caller's. Eviction does not disturb an open
 * piece. */
int cache_find(struct cache *c, const struct cache_key *key, struct cached_piece *out, struct error *err);

/* Takes the host-wide lock of a piece, so that it is made once. Waits up to wait_ms. 0, -EAGAIN (somebody
 * else has it), -ENOMEM. Where no lock file can be made, or the filesystem knows no locks, it is had without
 * one: a piece is then made twice at worst. The lock ends with its holder, however that dies (flock on an
 * open file description, nothing that depends on process ids). */
struct cache_lock;
int cache_lock(struct cache *c, const struct cache_key *key, unsigned wait_ms, struct cache_lock **out);
void cache_unlock(struct cache_lock *l); /* NULL-safe */

/* Writes a piece; ids are little-endian, `width` (2 or 4) bytes each. -ENOSPC also when cache_size or the
 * disk's free part is reached and all that could be evicted is kept. Any -errno (-ENOSPC, -EIO, -EROFS ...)
 * means that it will not be in the cache; the writer must still be ended. */
struct cache_writer;
int cache_begin(struct cache *c, const struct cache_key *key, unsigned width, struct cache_writer **out,
		struct error *err);
int cache_write(struct cache_writer *w, const void *ids, size_t tokens, struct error *err);
/* Makes it visible, and evicts others when the bound is passed. Frees w whatever it returns. out may be NULL;
 * else as cache_find. */
int cache_commit(struct cache_writer *w, uint64_t documents, struct cached_piece *out, struct error *err);
void cache_abort(struct cache_writer *w); /* NULL-safe */

/* Room on the disk for what is in work and too large for memory: makes *fd, -1 for a new one, a file without a
 * name whose bytes [was, n) are taken. It counts against the bound as a file in work does. 0, or -errno as
 * cache_begin: *fd is as it was. The descriptor is closed by cache_scratch_drop. */
int cache_scratch(struct cache *c, int *fd, uint64_t was, uint64_t n, struct error *err);
void cache_scratch_drop(struct cache *c, int fd);

/* A counts record by key: read whole and verified (as cache_find; out is emptied first), or published (the
 * first one wins; as cache_begin, and -ENOTSUP above CACHE_COUNTS bytes). They are small, and neither bounded
 * by options.size nor evicted. */
#define CACHE_COUNTS (1 << 28)
int cache_get_counts(struct cache *c, const struct cache_key *key, struct buffer *out, struct error *err);
int cache_put_counts(struct cache *c, const struct cache_key *key, const void *bytes, size_t n,
		     struct error *err);

/* bytes and pieces: as this process knows them, 0 before it first writes or asks for the bound. */
struct cache_counters {
	uint64_t bytes, pieces, evicted, damaged, failed_writes;
};
void cache_counters(struct cache *c, struct cache_counters *out);

#endif
