#define _GNU_SOURCE
#include "store/index.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "store/folder.h"
#include "store/lmdbfile.h"
#include "store/record.h"

#define SLOTS 64
#define DEFAULT_MAP ((size_t)8 << 30)
#define WAITING 1024 /* records that are written as one */
#define WAITING_BYTES ((size_t)4 << 20)
#define WAITING_MS 1000

struct waiting {
	size_t off, key_n, record_n; /* in bytes: the key, then the record */
};

struct index {
	pthread_mutex_t lock;
	char path[FOLDER_PATH]; /* of the slot */
	int slot;		/* the flock'ed file */
	size_t map_size;
	MDB_env *env; /* NULL: it could not be made anew; nothing is remembered */
	MDB_dbi dbi;
	bool failed; /* an error was logged */
	struct waiting waiting[WAITING];
	size_t n;
	struct buffer bytes; /* of what waits */
	int64_t since;	     /* ms, of the first that waits */
};

/* Filesystems on which a memory map is not coherent, or a lock is not to be trusted. Magic numbers:
 * statfs(2), linux/magic.h and the projects' own headers. */
static const char *network_name(const char *dir)
{
	static const struct {
		uint32_t magic;
		const char *name;
	} known[] = {
		{ 0x6969, "NFS" },	  { 0x517b, "SMB" },	    { 0xff534d42, "CIFS" },
		{ 0xfe534d42, "SMB2" },	  { 0x65735546, "FUSE" },   { 0x0bd00bd0, "Lustre" },
		{ 0x01021997, "9P" },	  { 0x00c36400, "Ceph" },   { 0x5346414f, "AFS" },
		{ 0x6b414653, "AFS" },	  { 0x47504653, "GPFS" },   { 0x01161970, "GFS2" },
		{ 0x7461636f, "OCFS2" },  { 0x19830326, "BeeGFS" }, { 0x73757245, "Coda" },
		{ 0x564c, "NCP" },	  { 0xaad7aaea, "PanFS" },  { 0x20030528, "OrangeFS" },
		{ 0x786f4256, "vboxsf" },
	};
	struct statfs fs;
	if (statfs(dir, &fs) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].magic == (uint32_t)fs.f_type)
			return known[i].name;
	return NULL;
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Once: a full disk would say it for every record. */
static void log_once(struct index *x, const char *what, int code)
{
	if (!x->failed)
		log_warning(
			"%s: cannot %s: %s; what is known of files will be found out again at the next start",
			x->path, what, mdb_strerror(code));
	x->failed = true;
}

/* The slot's directory, and its lock. 0, -EAGAIN (taken), or -errno. */
static int take_slot(const char *dir, unsigned k, struct index *x)
{
	char file[FOLDER_PATH + 8];
	int n = snprintf(x->path, sizeof x->path, "%s/index.%u", dir, k);
	if (n < 0 || (size_t)n >= sizeof x->path)
		return -ENAMETOOLONG;
	if (mkdir(x->path, 0700) != 0 && errno != EEXIST)
		return -errno;
	snprintf(file, sizeof file, "%s/slot", x->path);
	x->slot = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (x->slot < 0)
		return -errno;
	if (flock(x->slot, LOCK_EX | LOCK_NB) == 0)
		return 0;
	int r = errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -ENOTSUP;
	close(x->slot);
	x->slot = -1;
	return r;
}

static int open_env(struct index *x)
{
	MDB_txn *txn = NULL;
	char file[FOLDER_PATH + 16];
	snprintf(file, sizeof file, "%s/data.mdb", x->path);
	int r = lmdbfile_check(file);
	if (r != 0)
		return r == -EBADMSG ? MDB_CORRUPTED : -r;
	r = mdb_env_create(&x->env);
	if (r != 0) {
		x->env = NULL;
		return r;
	}
	r = mdb_env_set_mapsize(x->env, x->map_size);
	/* NOLOCK: the slot's lock and our mutex are stronger. NOMETASYNC: a power cut may take the last
	 * commit, never more. */
	if (r == 0)
		r = mdb_env_open(x->env, x->path, MDB_NOLOCK | MDB_NOTLS | MDB_NOMETASYNC | MDB_NORDAHEAD,
				 0600);
	if (r == 0)
		r = mdb_txn_begin(x->env, NULL, 0, &txn);
	if (r == 0)
		r = mdb_dbi_open(txn, NULL, 0, &x->dbi);
	if (r == 0)
		r = mdb_txn_commit(txn);
	else
		mdb_txn_abort(txn);
	if (r != 0) {
		mdb_env_close(x->env);
		x->env = NULL;
	}
	return r;
}

/* Whether what LMDB says means that the file is of no more use, rather than the disk. */
static bool is_rotten(int r)
{
	switch (r) {
	case MDB_MAP_FULL:
	case MDB_CORRUPTED:
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
	case MDB_PANIC:
	case MDB_PAGE_NOTFOUND:
	case MDB_PAGE_FULL:
	case MDB_CURSOR_FULL:
	case MDB_TXN_FULL:
	case MDB_BAD_TXN:
	case MDB_BAD_VALSIZE:
	case MDB_BAD_DBI:
	case MDB_INCOMPATIBLE:
	case MDB_DBS_FULL:
		return true;
	default:
		return false;
	}
}

/* Deletes the environment and opens an empty one. */
static int remake(struct index *x, int why)
{
	char file[FOLDER_PATH + 16];
	log_warning("%s: the index is made anew: %s", x->path, mdb_strerror(why));
	mdb_env_close(x->env);
	x->env = NULL;
	snprintf(file, sizeof file, "%s/data.mdb", x->path);
	if (unlink(file) != 0 && errno != ENOENT)
		return errno;
	return open_env(x);
}

int index_open(const char *dir, size_t map_size, struct index **out, struct error *err)
{
	struct index *x = calloc(1, sizeof *x);
	if (x == NULL)
		return fail(err, ENOMEM, "%s: out of memory", dir);
	pthread_mutex_init(&x->lock, NULL);
	x->slot = -1;
	x->map_size = map_size == 0 ? DEFAULT_MAP : map_size;
	int r = folder_make(dir, err);
	if (r != 0)
		goto out;
	const char *network = network_name(dir);
	if (network != NULL) {
		r = fail(err, ENOTSUP, "%s: is on %s, the index needs a local filesystem", dir, network);
		goto out;
	}
	bool taken = false;
	for (unsigned k = 0; k < SLOTS; k++) {
		r = take_slot(dir, k, x);
		taken |= r == -EAGAIN;
		/* -EACCES: another user's slot; without a slot of ours it is the folder's. */
		if (r != -EAGAIN && r != -EACCES)
			break;
	}
	if (r == -EAGAIN || (r == -EACCES && taken)) {
		r = fail(err, EBUSY, "%s: all %d slots are taken", dir, SLOTS);
		goto out;
	}
	if (r != 0) {
		fail(err, -r, "%s: cannot open: %s", x->path, strerror(-r));
		goto out;
	}
	int code = open_env(x);
	if (is_rotten(code))
		code = remake(x, code);
	if (code != 0)
		r = fail(err,
			 code == ENOSPC || code == EROFS || code == EACCES || code == ENOMEM ? code : EIO,
			 "%s: cannot open: %s", x->path, mdb_strerror(code));
out:
	if (r != 0) {
		index_close(x);
		return r;
	}
	*out = x;
	return 0;
}

void index_close(struct index *x)
{
	if (x == NULL)
		return;
	index_flush(x);
	mdb_env_close(x->env);
	/* The lock file stays: one that is removed under a lock could be locked twice. */
	if (x->slot >= 0)
		close(x->slot);
	pthread_mutex_destroy(&x->lock);
	buffer_free(&x->bytes);
	free(x);
}

static int write_waiting(struct index *x)
{
	MDB_txn *txn = NULL;
	int r = mdb_txn_begin(x->env, NULL, 0, &txn);
	for (size_t i = 0; r == 0 && i < x->n; i++) {
		const struct waiting *w = &x->waiting[i];
		MDB_val key = { .mv_size = w->key_n, .mv_data = x->bytes.at + w->off };
		MDB_val value = { .mv_size = w->record_n, .mv_data = x->bytes.at + w->off + w->key_n };
		r = mdb_put(txn, x->dbi, &key, &value, 0);
	}
	if (r == 0)
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return r;
}

/* Locked. What cannot be written is dropped: it is only a memory. */
static void flush_locked(struct index *x)
{
	if (x->n > 0 && x->env != NULL) {
		int r = write_waiting(x);
		if (is_rotten(r)) {
			r = remake(x, r);
			if (r == 0)
				r = write_waiting(x);
		}
		if (r != 0)
			log_once(x, "write", r);
	}
	x->n = 0;
	x->bytes.n = 0;
}

static void flush_if_due(struct index *x)
{
	if (x->n == WAITING || x->bytes.n >= WAITING_BYTES || (x->n > 0 && now_ms() - x->since >= WAITING_MS))
		flush_locked(x);
}

void index_flush(struct index *x)
{
	pthread_mutex_lock(&x->lock);
	flush_locked(x);
	pthread_mutex_unlock(&x->lock);
}

void index_put(struct index *x, const void *key, size_t key_size, const void *value, size_t n)
{
	if (key_size == 0 || key_size > INDEX_KEY)
		return;
	pthread_mutex_lock(&x->lock);
	size_t off = x->bytes.n;
	int r = buffer_add(&x->bytes, key, key_size, 0, NULL);
	if (r == 0)
		r = record_store(span_of(key, key_size), span_of(value, n), &x->bytes);
	if (r != 0) {
		x->bytes.n = off;
		log_once(x, "remember a record", -r);
	} else {
		if (x->n == 0)
			x->since = now_ms();
		x->waiting[x->n++] = (struct waiting){ off, key_size, x->bytes.n - off - key_size };
	}
	flush_if_due(x);
	pthread_mutex_unlock(&x->lock);
}

/* The newest record of key that waits. */
static bool find_waiting(struct index *x, struct span key, struct span *record)
{
	for (size_t i = x->n; i-- > 0;) {
		const struct waiting *w = &x->waiting[i];
		const uint8_t *at = x->bytes.at + w->off;
		if (w->key_n == key.n && memcmp(at, key.at, key.n) == 0) {
			*record = span_of(at + w->key_n, w->record_n);
			return true;
		}
	}
	return false;
}

static int take_record(struct span key, struct span record, struct buffer *out)
{
	struct span value;
	int r = record_parse(key, record, &value);
	return r != 0 ? r : buffer_add(out, value.at, value.n, 0, NULL);
}

/* 0, -ENOENT, -EBADMSG (the record does not validate), -ENOMEM, or what LMDB says as a positive code. */
static int get_written(struct index *x, struct span key, struct buffer *out)
{
	MDB_txn *txn = NULL;
	MDB_val k = { .mv_size = key.n, .mv_data = (void *)(uintptr_t)key.at }, v;
	int r = mdb_txn_begin(x->env, NULL, MDB_RDONLY, &txn);
	if (r == 0)
		r = mdb_get(txn, x->dbi, &k, &v);
	if (r == 0)
		r = take_record(key, span_of(v.mv_data, v.mv_size), out);
	else if (r == MDB_NOTFOUND)
		r = -ENOENT;
	mdb_txn_abort(txn);
	return r;
}

static void remove_written(struct index *x, struct span key)
{
	MDB_txn *txn = NULL;
	MDB_val k = { .mv_size = key.n, .mv_data = (void *)(uintptr_t)key.at };
	int r = mdb_txn_begin(x->env, NULL, 0, &txn);
	if (r == 0)
		r = mdb_del(txn, x->dbi, &k, NULL);
	if (r == 0)
		r = mdb_txn_commit(txn);
	else
		mdb_txn_abort(txn);
	if (r != 0)
		log_once(x, "remove a damaged record", r);
}

int index_get(struct index *x, const void *key, size_t key_size, struct buffer *out)
{
	struct span k = span_of(key, key_size), record;
	int r = -ENOENT;
	out->n = 0;
	if (key_size == 0 || key_size > INDEX_KEY)
		return r;
	pthread_mutex_lock(&x->lock);
	flush_if_due(x);
	if (find_waiting(x, k, &record))
		r = take_record(k, record, out);
	else if (x->env != NULL)
		r = get_written(x, k, out);
	if (r == -EBADMSG) {
		log_warning("%s: a damaged record is removed", x->path);
		remove_written(x, k);
	} else if (is_rotten(r)) {
		r = remake(x, r);
		if (r != 0)
			log_once(x, "make the index anew", r);
	}
	pthread_mutex_unlock(&x->lock);
	if (r != 0)
		out->n = 0;
	return r == 0 ? 0 : -ENOENT;
}
