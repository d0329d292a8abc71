#define _GNU_SOURCE
#include "cli/shardwriter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "dataset/shardfile.h"

#define READ_BYTES (1u << 20)

static int say(const struct shardwriter *w, int code, struct error *err)
{
	return fail(err, code, "%s/%s: %s", w->dir, w->part, strerror(code));
}

static int write_at(struct shardwriter *w, const uint8_t *at, size_t n, uint64_t off, struct error *err)
{
	while (n > 0) {
		ssize_t k = pwrite(w->fd, at, n, (off_t)off);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return say(w, k == 0 ? EIO : errno, err);
		at += k;
		off += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

/* The lock is on the open file: who waits for it may get one that was renamed meanwhile, and is told to look
 * again. */
static int take_part(struct shardwriter *w, struct error *err)
{
	struct stat mine, there;
	/* The one file of nanogpt that has its name already is mended in its place. */
	if (!w->whole && faccessat(w->folder, w->name, F_OK, 0) == 0)
		snprintf(w->part, sizeof w->part, "%s", w->name);
	w->fd = openat(w->folder, w->part, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (w->fd < 0)
		return say(w, errno, err);
	if (w->whole && flock(w->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return fail(err, EBUSY, "%s/%s: another prepare writes it", w->dir, w->part);
	if (fstat(w->fd, &mine) != 0 || fstatat(w->folder, w->part, &there, 0) != 0 ||
	    mine.st_ino != there.st_ino)
		return fail(err, EBUSY, "%s/%s: another prepare has written it", w->dir, w->part);
	if (w->whole && ftruncate(w->fd, 0) != 0)
		return say(w, errno, err);
	return 0;
}

int shardwriter_open(struct shardwriter *w, int folder, const char *dir, const char *name,
                     enum shards_form form, unsigned width, uint64_t first, uint64_t promised, bool whole,
                     struct error *err)
{
	uint8_t header[SHARDFILE_HEADER];
	*w = (struct shardwriter){ .folder = folder,
		                   .fd = -1,
		                   .dir = dir,
		                   .name = name,
		                   .form = form,
		                   .width = width,
		                   .first = first,
		                   .promised = promised,
		                   .whole = whole };
	snprintf(w->part, sizeof w->part, "%s.part", name);
	int r = take_part(w, err);
	w->mine = r == 0;
	if (r == 0 && (w->hash = hash_new()) == NULL)
		r = fail(err, ENOMEM, "out of memory");
	if (r == 0) {
		shardfile_header(form, width, promised, header);
		hash_add(w->hash, header, shardfile_header_size(form));
		r = write_at(w, header, shardfile_header_size(form), 0, err);
	}
	return r;
}

int shardwriter_add(struct shardwriter *w, const void *ids, size_t tokens, struct error *err)
{
	uint64_t off = shardfile_header_size(w->form) + (w->first + w->tokens) * w->width;
	int r = write_at(w, ids, tokens * w->width, off, err);
	if (r == 0) {
		hash_add(w->hash, ids, tokens * w->width);
		w->tokens += tokens;
	}
	return r;
}

/* SHA-256 of bytes [off, off + n) of a file. */
static int hash_range(int fd, uint64_t off, uint64_t n, const atomic_bool *stop, uint8_t out[HASH_SIZE])
{
	struct hash *h = hash_new();
	uint8_t *buf = malloc(READ_BYTES);
	int r = buf == NULL || h == NULL ? -ENOMEM : 0;
	while (r == 0 && n > 0) {
		ssize_t k = pread(fd, buf, (size_t)min_u64(READ_BYTES, n), (off_t)off);
		if (k < 0 && errno == EINTR)
			continue;
		r = k < 0 ? -errno : k == 0 ? -EBADMSG : stop != NULL && atomic_load(stop) ? -EINTR : 0;
		if (r != 0)
			break;
		hash_add(h, buf, (size_t)k);
		off += (uint64_t)k;
		n -= (uint64_t)k;
	}
	hash_end(h, out);
	free(buf);
	return r;
}

/* The header with the true number, and the sum over the file as it then is. */
static int correct_header(struct shardwriter *w, uint8_t digest[HASH_SIZE], struct error *err)
{
	uint8_t header[SHARDFILE_HEADER];
	size_t n = shardfile_header_size(w->form);
	shardfile_header(w->form, w->width, w->tokens, header);
	int r = write_at(w, header, n, 0, err);
	if (r != 0)
		return r;
	r = hash_range(w->fd, 0, n + w->tokens * w->width, NULL, digest);
	return r == 0 ? 0 : say(w, -r, err);
}

int shardwriter_end(struct shardwriter *w, const char *want, char sha256[HASH_HEX], struct error *err)
{
	uint8_t digest[HASH_SIZE];
	int r = 0;
	hash_end(w->hash, digest);
	w->hash = NULL;
	if (shardfile_header_size(w->form) > 0 && w->tokens != w->promised)
		r = correct_header(w, digest, err);
	hash_hex(digest, sizeof digest, sha256);
	if (r == 0 && want != NULL && strcmp(want, sha256) != 0)
		r = fail(err, ESTALE, "%s/%s: was made again, but the source is not what it was", w->dir,
		         w->name);
	if (r == 0 && fsync(w->fd) != 0)
		r = say(w, errno, err);
	if (r == 0 && w->whole && renameat(w->folder, w->part, w->folder, w->name) != 0)
		r = fail(err, errno, "%s/%s: cannot get this name: %s", w->dir, w->name, strerror(errno));
	if (r != 0)
		return r;
	fsync(w->folder);
	close(w->fd);
	w->fd = -1;
	w->mine = false;
	return 0;
}

void shardwriter_abort(struct shardwriter *w)
{
	uint8_t none[HASH_SIZE];
	if (w->hash != NULL)
		hash_end(w->hash, none);
	if (w->mine && w->whole)
		unlinkat(w->folder, w->part, 0);
	if (w->fd >= 0)
		close(w->fd);
	w->hash = NULL;
	w->mine = false;
	w->fd = -1;
}

int shardwriter_rename(int folder, const char *dir, const char *name, uint64_t bytes, struct error *err)
{
	struct stat st;
	char part[96];
	snprintf(part, sizeof part, "%s.part", name);
	int fd = openat(folder, part, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && fstatat(folder, name, &st, 0) == 0)
		return 0;
	int r = fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || fsync(fd) != 0 ||
	                        renameat(folder, part, folder, name) != 0
	                ? fail(err, errno, "%s/%s: %s", dir, part, strerror(errno))
	                : 0;
	if (fd >= 0)
		close(fd);
	fsync(folder);
	return r;
}

int shardwriter_check(int folder, const char *dir, const struct prepared_shard *s, enum shards_form form,
                      unsigned width, bool quick, const atomic_bool *stop, struct error *err)
{
	uint8_t digest[HASH_SIZE];
	char found[HASH_HEX];
	struct stat st;
	bool whole = form != SHARDS_NANOGPT || s->val;
	uint64_t header = shardfile_header_size(form), off = header + s->first * width, n = s->tokens * width;
	char part[96];
	snprintf(part, sizeof part, "%s.part", s->name);
	int fd = openat(folder, s->name, O_RDONLY | O_CLOEXEC), r = 0;
	if (fd < 0 && errno == ENOENT && !whole)
		fd = openat(folder, part, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errno, "%s/%s: %s", dir, s->name,
		            errno == ENOENT ? "is missing" : strerror(errno));
	if (fstat(fd, &st) != 0)
		r = fail(err, errno, "%s/%s: %s", dir, s->name, strerror(errno));
	else if (whole ? (uint64_t)st.st_size != off + n : (uint64_t)st.st_size < off + n)
		r = fail(err, EBADMSG, "%s/%s: is damaged: it has %" PRIu64 " bytes, not %" PRIu64, dir,
		         s->name, (uint64_t)st.st_size, off + n);
	if (r == 0 && !quick) {
		r = hash_range(fd, whole ? 0 : off, whole ? off + n : n, stop, digest);
		hash_hex(digest, sizeof digest, found);
		if (r == -EINTR)
			fail(err, EINTR, "stopped");
		else if (r != 0)
			fail(err, -r, "%s/%s: %s", dir, s->name, strerror(-r));
		else if (strcmp(found, s->sha256) != 0)
			r = fail(err, EBADMSG, "%s/%s: is damaged: its SHA-256 is not that of dataset.json%s",
			         dir, s->name, whole ? "" : " (of a part of it)");
	}
	close(fd);
	return r;
}
