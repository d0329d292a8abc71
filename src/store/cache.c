#define _GNU_SOURCE
#include "store/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "io/file.h"
#include "store/folder.h"
#include "store/header.h"
#include "store/lockfile.h"
#include "store/room.h"
#include "store/seen.h"

#define CHUNK ((size_t)1 << 20)

struct cache {
	struct folder folder;
	struct room *room;
	struct seen seen;
	bool (*keep)(void *arg, const struct cache_key *key);
	void *keep_arg;
	atomic_uint_least64_t damaged, failed_writes;
	atomic_bool lockless; /* and it was said */
};

static bool keep_key(void *arg, const uint8_t key[HASH_SIZE])
{
	const struct cache *c = arg;
	struct cache_key k;
	memcpy(k.bytes, key, HASH_SIZE);
	return c->keep(c->keep_arg, &k);
}

int cache_open(const struct cache_options *options, struct cache **out, struct error *err)
{
	struct cache *c = calloc(1, sizeof *c);
	if (c == NULL)
		return fail(err, ENOMEM, "%s: out of memory", options->dir);
	int r = folder_open(options->dir, &c->folder, err);
	if (r != 0) {
		free(c);
		return r;
	}
	c->keep = options->keep;
	c->keep_arg = options->keep_arg;
	seen_init(&c->seen);
	c->room = room_open(&c->folder, options->size, options->keep_free_percent,
			    c->keep == NULL ? NULL : keep_key, c);
	if (c->room == NULL) {
		cache_close(c);
		return fail(err, ENOMEM, "%s: out of memory", options->dir);
	}
	*out = c;
	return 0;
}

void cache_close(struct cache *c)
{
	if (c == NULL)
		return;
	room_close(c->room);
	seen_free(&c->seen);
	folder_close(&c->folder);
	free(c);
}

const char *cache_dir(const struct cache *c)
{
	return c->folder.path;
}

uint64_t cache_bound(struct cache *c)
{
	return room_bound(c->room);
}

static uint32_t now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint32_t)t.tv_sec;
}

/* What follows the header, hashed, and then the header's first part. -EBADMSG when it is not the checksum. */
static int check_sum(struct source *s, const struct header *h, const uint8_t *head, struct error *err)
{
	uint8_t sum[HASH_SIZE];
	uint8_t *chunk = malloc(CHUNK);
	struct hash *hash = hash_new();
	int r = chunk == NULL || hash == NULL ? fail(err, ENOMEM, "%s: out of memory", s->name) : 0;
	for (uint64_t off = HEADER_SIZE; r == 0 && off < s->size;) {
		size_t n = (size_t)min_u64(CHUNK, s->size - off);
		r = source_read(s, off, chunk, n, err);
		if (r == 0)
			hash_add(hash, chunk, n);
		off += n;
	}
	hash_add(hash, head, HEADER_SUMMED);
	hash_end(hash, sum);
	free(chunk);
	if (r == -ESTALE)
		return fail(err, EBADMSG, "became shorter while it was read");
	if (r == 0 && memcmp(sum, h->sum, HEADER_KEY) != 0)
		return fail(err, EBADMSG, "the checksum is not that of its bytes");
	return r;
}

/* Only the file that was found damaged: somebody else may have made it anew since. */
static void drop_damaged(struct cache *c, enum folder_kind kind, const char *name, struct source *s,
			 struct error *err)
{
	struct file_stat opened;
	struct stat named;
	const char *done = "removed";
	int dir = c->folder.at[kind];
	if (file_stat(s, &opened, NULL) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (uint64_t)named.st_ino == opened.inode) {
		if (unlinkat(dir, name, 0) != 0 && errno != ENOENT)
			done = strerror(errno);
		else if (kind == FOLDER_PIECES)
			room_lost(c->room, opened.size);
	}
	atomic_fetch_add(&c->damaged, 1);
	log_warning("%s: damaged, will be made again: %s (%s)", s->name, err->text, done);
}

/* Opens a file and verifies it: always (counts), or the first time (pieces). */
static int open_checked(struct cache *c, enum folder_kind kind, const struct cache_key *key,
			struct source **out, struct header *h, struct error *err)
{
	char name[FOLDER_NAME], path[FOLDER_PATH];
	uint8_t head[HEADER_SIZE];
	struct file_stat st;
	struct error local;
	struct source *s;
	bool mark = false;
	err = err == NULL ? &local : err;
	folder_name(kind, key->bytes, name);
	folder_full(&c->folder, kind, name, path);
	int r = file_open(path, &s, err);
	if (r != 0)
		return r;
	size_t n = (size_t)min_u64(HEADER_SIZE, s->size);
	r = source_read(s, 0, head, n, err);
	if (r == 0)
		r = header_parse(span_of(head, n), kind == FOLDER_PIECES ? HEADER_PIECE : HEADER_COUNT,
				 key->bytes, s->size, h, err);
	if (r == 0)
		r = file_stat(s, &st, err);
	if (r == 0 &&
	    (kind != FOLDER_PIECES || !seen_find(&c->seen, key->bytes, st.inode, now_seconds(), &mark))) {
		r = check_sum(s, h, head, err);
		mark = r == 0;
		if (r == 0 && kind == FOLDER_PIECES)
			seen_add(&c->seen, key->bytes, st.inode, now_seconds());
	}
	if (r == -EBADMSG) {
		drop_damaged(c, kind, name, s, err);
		r = fail(err, ENOENT, "%s: was damaged", path);
	}
	if (r != 0) {
		source_close(s);
		return r;
	}
	/* The mark is for eviction; where it cannot be made (read-only, another user's file), the file only
	 * looks older. */
	if (mark)
		utimensat(c->folder.at[kind], name, NULL, 0);
	*out = s;
	return 0;
}

int cache_find(struct cache *c, const struct cache_key *key, struct cached_piece *out, struct error *err)
{
	struct header h;
	struct source *s;
	int r = open_checked(c, FOLDER_PIECES, key, &s, &h, err);
	if (r == 0)
		*out = (struct cached_piece){
			.source = s,
			.tokens = h.tokens,
			.documents = h.documents,
			.width = h.width,
		};
	return r;
}

struct cache_lock {
	int dir, fd;
	char name[FOLDER_NAME];
};

int cache_lock(struct cache *c, const struct cache_key *key, unsigned wait_ms, struct cache_lock **out)
{
	struct cache_lock *l = malloc(sizeof *l);
	if (l == NULL)
		return -ENOMEM;
	l->dir = c->folder.at[FOLDER_LOCKS];
	folder_name(FOLDER_LOCKS, key->bytes, l->name);
	l->fd = lockfile_take(l->dir, l->name, wait_ms);
	if (l->fd == -EAGAIN) {
		free(l);
		return -EAGAIN;
	}
	if (l->fd < 0 && !atomic_exchange(&c->lockless, true))
		log_warning("%s: no locks here (%s): mounts that share it may make a piece twice", c->folder.path,
			    strerror(-l->fd));
	*out = l;
	return 0;
}

void cache_unlock(struct cache_lock *l)
{
	if (l == NULL)
		return;
	lockfile_drop(l->dir, l->name, l->fd);
	free(l);
}

struct cache_writer {
	struct cache *cache;
	enum folder_kind kind;
	struct header header;
	struct cache_key key;
	struct hash *hash;
	int fd;
	int failed;	/* -errno of the first failure: the file will not be published */
	uint64_t off;	/* of the chunk, bytes */
	uint64_t taken; /* of the room */
	size_t n;	/* bytes in the chunk */
	char temp[FOLDER_NAME];
	uint8_t chunk[CHUNK];
};

static int begin(struct cache *c, enum folder_kind kind, const struct cache_key *key, unsigned width,
		 struct cache_writer **out, struct error *err)
{
	struct cache_writer *w = malloc(sizeof *w);
	int r = 0;
	*out = NULL;
	if (w == NULL) {
		r = fail(err, ENOMEM, "%s: out of memory", c->folder.path);
		goto out;
	}
	/* Of the chunk only what the header will stand on is zero. */
	memset(w, 0, offsetof(struct cache_writer, chunk) + HEADER_SIZE);
	w->cache = c;
	w->kind = kind;
	w->key = *key;
	w->fd = -1;
	w->n = HEADER_SIZE;
	w->header.magic = kind == FOLDER_PIECES ? HEADER_PIECE : HEADER_COUNT;
	w->header.width = width;
	memcpy(w->header.key, key->bytes, HEADER_KEY);
	w->hash = hash_new();
	if (w->hash == NULL) {
		r = fail(err, ENOMEM, "%s: out of memory", c->folder.path);
		goto out;
	}
	w->fd = folder_temp(&c->folder, kind, w->temp, err);
	r = w->fd < 0 ? w->fd : 0;
	if (r == 0 && kind == FOLDER_PIECES)
		r = room_take(c->room, 0, err);
out:
	if (r != 0) {
		atomic_fetch_add(&c->failed_writes, 1);
		cache_abort(w);
		return r;
	}
	*out = w;
	return 0;
}

int cache_begin(struct cache *c, const struct cache_key *key, unsigned width, struct cache_writer **out,
		struct error *err)
{
	return begin(c, FOLDER_PIECES, key, width, out, err);
}

static int write_all(int fd, const uint8_t *from, size_t n, uint64_t off)
{
	while (n > 0) {
		ssize_t put = pwrite(fd, from, n, (off_t)off);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		from += put;
		off += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}

static int write_failed(struct cache_writer *w, int code, const char *what, struct error *err)
{
	atomic_fetch_add(&w->cache->failed_writes, 1);
	w->failed = -code;
	if (code == ENOSPC || code == EDQUOT)
		room_full(w->cache->room);
	return fail(err, code, "%s: cannot %s a file in work: %s", w->cache->folder.path, what,
		    strerror(code));
}

static int put(struct cache_writer *w, const uint8_t *from, size_t n, struct error *err)
{
	int r = 0;
	if (w->kind == FOLDER_PIECES) {
		w->taken += n;
		r = room_take(w->cache->room, n, err);
		if (r != 0) {
			atomic_fetch_add(&w->cache->failed_writes, 1);
			w->failed = r;
			return r;
		}
	}
	r = write_all(w->fd, from, n, w->off);
	if (r != 0)
		return write_failed(w, -r, "write", err);
	w->off += n;
	return 0;
}

static int flush_chunk(struct cache_writer *w, struct error *err)
{
	int r = put(w, w->chunk, w->n, err);
	if (r == 0)
		w->n = 0;
	return r;
}

int cache_write(struct cache_writer *w, const void *ids, size_t tokens, struct error *err)
{
	const uint8_t *from = ids;
	size_t left;
	if (w->failed != 0)
		return fail(err, -w->failed, "%s: an earlier write failed", w->cache->folder.path);
	if (!mul_size(tokens, w->header.width, &left))
		return fail(err, EINVAL, "%zu ids are more than memory can have", tokens);
	hash_add(w->hash, from, left);
	w->header.tokens += tokens;
	if (left >= CHUNK / 4) {
		/* Not worth a copy: behind what the chunk has, from where they are. */
		int r = w->n > 0 ? flush_chunk(w, err) : 0;
		return r == 0 ? put(w, from, left, err) : r;
	}
	while (left > 0) {
		size_t n = left < CHUNK - w->n ? left : CHUNK - w->n;
		memcpy(w->chunk + w->n, from, n);
		w->n += n;
		from += n;
		left -= n;
		if (w->n == CHUNK) {
			int r = flush_chunk(w, err);
			if (r != 0)
				return r;
		}
	}
	return 0;
}

/* Frees w and gives back its room; the file in work goes unless it was published. */
static void end(struct cache_writer *w, bool published)
{
	if (w->fd >= 0) {
		close(w->fd);
		if (!published)
			unlinkat(w->cache->folder.at[w->kind], w->temp, 0);
	}
	if (w->kind == FOLDER_PIECES) {
		if (published)
			room_settle(w->cache->room, w->taken, w->off);
		else
			room_return(w->cache->room, w->taken);
	}
	uint8_t unused[HASH_SIZE];
	hash_end(w->hash, unused);
	free(w);
}

/* The header comes last: a file in work is not a piece even if somebody renames it. */
static int finish(struct cache_writer *w, struct error *err)
{
	uint8_t head[HEADER_SIZE], sum[HASH_SIZE];
	int r = w->n > 0 ? flush_chunk(w, err) : 0;
	if (r != 0)
		return r;
	header_store(&w->header, head);
	hash_add(w->hash, head, HEADER_SUMMED);
	hash_end(w->hash, sum);
	w->hash = NULL;
	memcpy(head + HEADER_SUMMED, sum, HEADER_KEY);
	r = write_all(w->fd, head, sizeof head, 0);
	if (r != 0)
		return write_failed(w, -r, "write", err);
	if (fdatasync(w->fd) != 0)
		return write_failed(w, errno, "sync", err);
	r = folder_publish(&w->cache->folder, w->kind, w->temp, w->key.bytes, w->kind == FOLDER_COUNTS, err);
	if (r != 0)
		atomic_fetch_add(&w->cache->failed_writes, 1);
	return r;
}

int cache_commit(struct cache_writer *w, uint64_t documents, struct cached_piece *out, struct error *err)
{
	struct cache *c = w->cache;
	struct cache_key key = w->key;
	struct stat st;
	int r = w->failed;
	w->header.documents = documents;
	if (r != 0)
		fail(err, -r, "%s: an earlier write failed", c->folder.path);
	else
		r = finish(w, err);
	if (r == 0 && w->kind == FOLDER_PIECES && fstat(w->fd, &st) == 0)
		seen_add(&c->seen, key.bytes, (uint64_t)st.st_ino, now_seconds());
	end(w, r == 0);
	if (r == 0 && out != NULL)
		r = cache_find(c, &key, out, err);
	return r;
}

void cache_abort(struct cache_writer *w)
{
	if (w != NULL)
		end(w, false);
}

static int unnamed(struct cache *c, struct error *err)
{
	char name[FOLDER_NAME];
	int dir = c->folder.at[FOLDER_PIECES];
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Not every filesystem makes files without a name. */
	fd = folder_temp(&c->folder, FOLDER_PIECES, name, err);
	if (fd >= 0)
		unlinkat(dir, name, 0);
	return fd;
}

int cache_scratch(struct cache *c, int *fd, uint64_t was, uint64_t n, struct error *err)
{
	int to = *fd < 0 ? unnamed(c, err) : *fd;
	if (to < 0)
		return to;
	int r = room_take(c->room, n - was, err);
	if (r == 0) {
		int code = posix_fallocate(to, (off_t)was, (off_t)(n - was));
		if (code != 0)
			r = fail(err, code, "%s: cannot take %" PRIu64 " bytes of the disk: %s", c->folder.path,
				 n - was, strerror(code));
	}
	if (r == 0) {
		*fd = to;
		return 0;
	}
	room_return(c->room, n - was);
	if (ftruncate(to, (off_t)was) != 0)
		log_debug("%s: %s", c->folder.path, strerror(errno));
	if (*fd < 0)
		close(to);
	return r;
}

void cache_scratch_drop(struct cache *c, int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0)
		room_return(c->room, (uint64_t)st.st_size);
	close(fd);
}

int cache_get_counts(struct cache *c, const struct cache_key *key, struct buffer *out, struct error *err)
{
	struct header h;
	struct source *s;
	out->n = 0;
	int r = open_checked(c, FOLDER_COUNTS, key, &s, &h, err);
	if (r != 0)
		return r;
	r = buffer_reserve(out, (size_t)h.tokens, CACHE_COUNTS, err);
	if (r == 0)
		r = source_read(s, HEADER_SIZE, out->at, (size_t)h.tokens, err);
	if (r == 0)
		out->n = (size_t)h.tokens;
	source_close(s);
	return r;
}

int cache_put_counts(struct cache *c, const struct cache_key *key, const void *bytes, size_t n,
		     struct error *err)
{
	struct cache_writer *w;
	if (n > CACHE_COUNTS)
		return fail(err, ENOTSUP, "%s: a counts record of %zu bytes, the bound is %d", c->folder.path,
			    n, CACHE_COUNTS);
	int r = begin(c, FOLDER_COUNTS, key, 1, &w, err);
	if (r != 0)
		return r;
	r = cache_write(w, bytes, n, err);
	if (r != 0) {
		cache_abort(w);
		return r;
	}
	return cache_commit(w, 0, NULL, err);
}

void cache_counters(struct cache *c, struct cache_counters *out)
{
	*out = (struct cache_counters){
		.damaged = atomic_load(&c->damaged),
		.failed_writes = atomic_load(&c->failed_writes),
	};
	room_counters(c->room, &out->bytes, &out->pieces, &out->evicted);
}
