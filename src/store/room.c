#define _GNU_SOURCE
#include "store/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "store/lockfile.h"

#define DEFAULT_BOUND ((uint64_t)50 << 30)
#define FULL_BYTES ((uint64_t)16 << 20) /* are evicted at least when the disk is full all the same */
#define RETRY_MS 2000			/* a scan that made no room is not repeated sooner */
#define FILES_MOST \
	((size_t)1 << 20) /* candidates of one eviction; a folder of more is worked off in several */

struct room {
	const struct folder *folder;
	uint64_t size;
	unsigned percent;
	bool (*keep)(void *arg, const uint8_t key[HASH_SIZE]);
	void *keep_arg;
	pthread_mutex_t scanning; /* one scan at a time; taken before `lock` */
	pthread_mutex_t lock;	  /* the numbers below */
	bool scanned;
	uint64_t bound;
	uint64_t settled, pending; /* bytes of pieces, of own files in work */
	uint64_t pieces, evicted;
	uint64_t since_scan; /* bytes settled since */
	int64_t retry;	     /* ms, 0: at once */
};

struct file {
	int64_t mtime_ns;
	uint64_t size;
	uint8_t key[HASH_SIZE];
};

struct scan {
	struct file *at;
	size_t n, room;
	bool list; /* false: only the sums are wanted */
	uint64_t bytes, files;
};

struct room *room_open(const struct folder *f, uint64_t size, unsigned keep_free_percent,
		       bool (*keep)(void *arg, const uint8_t key[HASH_SIZE]), void *keep_arg)
{
	struct room *r = calloc(1, sizeof *r);
	if (r == NULL)
		return NULL;
	r->folder = f;
	r->size = size;
	r->percent = keep_free_percent == 0 ? 10 : keep_free_percent;
	r->keep = keep;
	r->keep_arg = keep_arg;
	pthread_mutex_init(&r->scanning, NULL);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void room_close(struct room *r)
{
	if (r == NULL)
		return;
	pthread_mutex_destroy(&r->scanning);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void add_file(struct scan *s, const struct stat *st, const uint8_t key[HASH_SIZE])
{
	s->bytes += (uint64_t)st->st_size;
	s->files++;
	if (!s->list || s->n == FILES_MOST)
		return;
	if (s->n == s->room) {
		size_t room = s->room == 0 ? 1024 : 2 * s->room;
		struct file *at = realloc(s->at, room * sizeof *at);
		if (at == NULL)
			return;
		s->at = at;
		s->room = room;
	}
	struct file *f = &s->at[s->n++];
	f->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	f->size = (uint64_t)st->st_size;
	memcpy(f->key, key, HASH_SIZE);
}

static void scan_sub(int pieces, const char *ab, struct scan *s)
{
	int fd = openat(pieces, ab, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
		struct stat st;
		uint8_t key[HASH_SIZE];
		if (folder_key(ab, e->d_name, key) && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			add_file(s, &st, key);
	}
	closedir(d);
}

/* `scanning` is held. */
static void scan_all(struct room *r, struct scan *s)
{
	static const char digits[] = "0123456789abcdef";
	for (unsigned i = 0; i < 256; i++) {
		char ab[3] = { digits[i >> 4], digits[i & 15], 0 };
		scan_sub(r->folder->at[FOLDER_PIECES], ab, s);
	}
}

/* What is free for us, and how much of it is to stay so. */
static void look_at_disk(const struct room *r, uint64_t *available, uint64_t *keep)
{
	struct statvfs v;
	*available = UINT64_MAX;
	*keep = 0;
	if (fstatvfs(r->folder->at[FOLDER_PIECES], &v) != 0)
		return;
	*available = (uint64_t)v.f_bavail * v.f_frsize;
	*keep = (uint64_t)v.f_blocks * v.f_frsize / 100 * r->percent;
}

static void first_scan(struct room *r)
{
	struct scan s = { 0 };
	uint64_t available, keep;
	pthread_mutex_lock(&r->lock);
	bool scanned = r->scanned;
	pthread_mutex_unlock(&r->lock);
	if (scanned)
		return;
	pthread_mutex_lock(&r->scanning);
	if (!r->scanned) {
		scan_all(r, &s);
		look_at_disk(r, &available, &keep);
		pthread_mutex_lock(&r->lock);
		r->settled = s.bytes;
		r->pieces = s.files;
		/* With what the cache has already, so that a full cache does not halve its bound at each
		 * mount. */
		r->bound = r->size;
		if (r->bound == 0)
			r->bound = min_u64(DEFAULT_BOUND, available / 2 + s.bytes / 2);
		r->scanned = true;
		pthread_mutex_unlock(&r->lock);
	}
	pthread_mutex_unlock(&r->scanning);
}

uint64_t room_bound(struct room *r)
{
	first_scan(r);
	return r->bound;
}

static int older(const void *a, const void *b)
{
	int64_t x = ((const struct file *)a)->mtime_ns, y = ((const struct file *)b)->mtime_ns;
	return (x > y) - (x < y);
}

/* Unlinks the oldest of s until its bytes are at most `target`. What cannot be unlinked (another user's)
 * stays. */
static uint64_t unlink_oldest(struct room *r, struct scan *s, uint64_t target)
{
	uint64_t gone = 0;
	char name[FOLDER_NAME];
	qsort(s->at, s->n, sizeof *s->at, older);
	for (size_t i = 0; i < s->n && s->bytes > target; i++) {
		if (r->keep != NULL && r->keep(r->keep_arg, s->at[i].key))
			continue;
		folder_name(FOLDER_PIECES, s->at[i].key, name);
		if (unlinkat(r->folder->at[FOLDER_PIECES], name, 0) != 0)
			continue;
		s->bytes -= s->at[i].size;
		s->files--;
		gone++;
	}
	return gone;
}

/* `scanning` and the folder's evict lock are held. True when both bounds hold afterwards. */
static bool evict_locked(struct room *r, uint64_t wanted)
{
	struct scan s = { .list = true };
	pthread_mutex_lock(&r->lock);
	r->since_scan = 0;
	uint64_t pending = r->pending;
	pthread_mutex_unlock(&r->lock);
	scan_all(r, &s);
	uint64_t before = s.bytes, target = UINT64_MAX, gone = 0;
	if (s.bytes + pending > r->bound) {
		uint64_t low = r->bound - r->bound / 20;
		target = low > pending ? low - pending : 0;
	}
	if (wanted > 0)
		target = min_u64(target, s.bytes > wanted ? s.bytes - wanted : 0);
	if (s.bytes > target)
		gone = unlink_oldest(r, &s, target);
	free(s.at);
	bool enough = s.bytes + pending <= r->bound && before - s.bytes >= wanted;
	pthread_mutex_lock(&r->lock);
	r->settled = s.bytes + r->since_scan;
	r->pieces = s.files;
	r->evicted += gone;
	r->retry = enough ? 0 : now_ms() + RETRY_MS;
	pthread_mutex_unlock(&r->lock);
	if (gone > 0)
		log_debug("%s: evicted %" PRIu64 " pieces, %" PRIu64 " bytes; %" PRIu64 " bytes are left",
			  r->folder->path, gone, before - s.bytes, s.bytes);
	return enough;
}

/* Scans, and makes both bounds hold; wanted: bytes that the disk lacks. False when that cannot be done. While
 * somebody else is at it, it is taken to be done. */
static bool evict(struct room *r, uint64_t wanted)
{
	if (pthread_mutex_trylock(&r->scanning) != 0)
		return true;
	bool enough = true;
	pthread_mutex_lock(&r->lock);
	bool soon = now_ms() < r->retry;
	pthread_mutex_unlock(&r->lock);
	if (soon) {
		enough = false;
		goto out;
	}
	int dir = r->folder->at[FOLDER_LOCKS];
	int fd = lockfile_take(dir, "evict", 0);
	if (fd != -EAGAIN)
		enough = evict_locked(r, wanted);
	lockfile_drop(dir, "evict", fd);
out:
	pthread_mutex_unlock(&r->scanning);
	return enough;
}

int room_take(struct room *r, uint64_t n, struct error *err)
{
	uint64_t available, keep, wanted = 0;
	first_scan(r);
	pthread_mutex_lock(&r->lock);
	r->pending += n;
	bool over = r->settled + r->pending > r->bound;
	pthread_mutex_unlock(&r->lock);
	look_at_disk(r, &available, &keep);
	if (available < keep + n)
		wanted = keep + n - available + min_u64(r->bound / 20, keep / 10);
	if ((over || wanted > 0) && !evict(r, wanted))
		return fail(err, ENOSPC, "%s: no room for a piece: %s, and nothing more may be evicted",
			    r->folder->path, wanted > 0 ? "the disk is nearly full" : "cache_size is taken");
	return 0;
}

void room_return(struct room *r, uint64_t taken)
{
	pthread_mutex_lock(&r->lock);
	r->pending -= taken;
	pthread_mutex_unlock(&r->lock);
}

void room_settle(struct room *r, uint64_t taken, uint64_t bytes)
{
	pthread_mutex_lock(&r->lock);
	r->pending -= taken;
	r->settled += bytes;
	r->since_scan += bytes;
	r->pieces++;
	bool due = r->settled + r->pending > r->bound || r->since_scan > r->bound / 20;
	pthread_mutex_unlock(&r->lock);
	if (due)
		evict(r, 0);
}

void room_lost(struct room *r, uint64_t bytes)
{
	pthread_mutex_lock(&r->lock);
	if (r->scanned && r->settled >= bytes && r->pieces > 0) {
		r->settled -= bytes;
		r->pieces--;
	}
	pthread_mutex_unlock(&r->lock);
}

void room_full(struct room *r)
{
	first_scan(r);
	evict(r, max_u64(r->bound / 20, FULL_BYTES));
}

void room_counters(struct room *r, uint64_t *bytes, uint64_t *pieces, uint64_t *evicted)
{
	pthread_mutex_lock(&r->lock);
	*bytes = r->settled;
	*pieces = r->pieces;
	*evicted = r->evicted;
	pthread_mutex_unlock(&r->lock);
}
