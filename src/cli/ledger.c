#define _GNU_SOURCE
#include "cli/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/folder.h"

#define WORK ".prepare"
#define TERMS "terms"
#define DAMAGE "damaged_%" PRIu32 "_%" PRIu32
#define DAMAGE_IN "damaged_%" SCNu32 "_%" SCNu32 "%n"
#define MISSING 8 /* that are named */

/* ---- files ---- */

static int write_all(int fd, const uint8_t *at, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, at, n < (1u << 30) ? n : 1u << 30);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

static int put(int folder, const char *dir, const char *name, const char *part, const struct buffer *bytes,
               struct error *err)
{
	int fd = openat(folder, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : write_all(fd, bytes->at, bytes->n);
	if (r == 0 && fsync(fd) != 0)
		r = -errno;
	if (fd >= 0 && close(fd) != 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(folder, part, folder, name) != 0)
		r = -errno;
	if (r != 0)
		unlinkat(folder, part, 0);
	else
		fsync(folder);
	return r == 0 ? 0 : fail(err, -r, "%s/%s: cannot be written: %s", dir, name, strerror(-r));
}

int ledger_put(int folder, const char *dir, const char *name, const struct buffer *bytes, struct error *err)
{
	char part[256];
	snprintf(part, sizeof part, "%s.part", name);
	return put(folder, dir, name, part, bytes, err);
}

/* The same in DIR/.prepare, where tasks of other machines write as well. */
static int put_record(struct ledger *l, const char *name, const struct buffer *bytes, struct error *err)
{
	char host[64] = "", part[256];
	gethostname(host, sizeof host - 1);
	snprintf(part, sizeof part, "%s.%s.%ld.part", name, host, (long)getpid());
	return put(l->work, l->work_dir, name, part, bytes, err);
}

/* The whole of a file: 0, -ENOENT without a text, or -errno. */
static int read_whole(int folder, const char *dir, const char *name, struct buffer *out, struct error *err)
{
	struct stat st;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC), r = 0;
	out->n = 0;
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) != 0)
		r = fail(err, errno, "%s/%s: %s", dir, name, strerror(errno));
	if (r == 0 && (!S_ISREG(st.st_mode) || st.st_size > (off_t)PREPARED_MOST))
		r = fail(err, EBADMSG, "%s/%s: is not what prepare writes", dir, name);
	if (r == 0)
		r = buffer_reserve(out, (size_t)st.st_size + 1, 0, err);
	while (r == 0 && out->n < (size_t)st.st_size) {
		ssize_t k = read(fd, out->at + out->n, (size_t)st.st_size - out->n);
		if (k <= 0 && !(k < 0 && errno == EINTR))
			r = fail(err, k == 0 ? EIO : errno, "%s/%s: %s", dir, name,
			         k == 0 ? "is shorter than it was" : strerror(errno));
		out->n += k > 0 ? (size_t)k : 0;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static int parse(const struct buffer *json, const char *dir, const char *name, struct prepared *out,
                 char sum[HASH_HEX], struct error *err)
{
	int r = prepared_read(span_of(json->at, json->n), out, sum, err);
	return r == 0 ? 0 : fail_in(err, "%s/%s", dir, name);
}

/* ---- records ---- */

void ledger_name(bool val, uint64_t number, char out[LEDGER_NAME])
{
	if (val)
		snprintf(out, LEDGER_NAME, "val");
	else
		snprintf(out, LEDGER_NAME, "train_%06" PRIu64, number);
}

int ledger_read(struct ledger *l, const char *name, struct prepared *out, struct error *err)
{
	char file[64], sum[HASH_HEX];
	struct buffer json = { 0 };
	snprintf(file, sizeof file, "%s.json", name);
	int r = read_whole(l->work, l->work_dir, file, &json, err);
	if (r == 0)
		r = parse(&json, l->work_dir, file, out, sum, err);
	if (r == 0 && (out->n_shards != 1 || out->n_files == 0))
		r = fail(err, EBADMSG, "%s/%s: is not of one shard", l->work_dir, file);
	buffer_free(&json);
	return r;
}

int ledger_write(struct ledger *l, const char *name, const struct prepared *p, struct error *err)
{
	char file[64];
	struct buffer json = { 0 };
	struct prepared record = *p;
	/* A record stands for itself: with the terms of all. */
	record.terms = l->terms.terms;
	record.version = l->terms.version;
	snprintf(file, sizeof file, "%s.json", name);
	int r = prepared_write(&record, NULL, &json, err);
	if (r == 0)
		r = put_record(l, file, &json, err);
	buffer_free(&json);
	return r;
}

/* Looks at each name in DIR/.prepare until `each` says other than 0, which it then returns. */
static int walk_work(struct ledger *l, int (*each)(void *arg, const char *name, struct error *err), void *arg,
                     struct error *err)
{
	int fd = openat(l->work, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	if (folder == NULL) {
		r = fail(err, errno, "%s/" WORK ": %s", l->dir, strerror(errno));
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r == 0 && (e = readdir(folder)) != NULL)
		r = each(arg, e->d_name, err);
	closedir(folder);
	return r;
}

int ledger_note_damage(struct ledger *l, uint32_t file, uint32_t piece, struct error *err)
{
	char name[64];
	const struct buffer none = { 0 };
	snprintf(name, sizeof name, DAMAGE, file, piece);
	return put_record(l, name, &none, err);
}

struct damage_list {
	struct buffer found;
};

static int add_damage(void *arg, const char *name, struct error *err)
{
	struct damage_list *list = arg;
	struct stream_damage x;
	int end = 0;
	if (sscanf(name, DAMAGE_IN, &x.file, &x.piece, &end) != 2 || name[end] != 0)
		return 0;
	return buffer_add(&list->found, &x, sizeof x, 0, err);
}

int ledger_damage(struct ledger *l, struct stream_damage **out, size_t *n, struct error *err)
{
	struct damage_list list = { 0 };
	int r = walk_work(l, add_damage, &list, err);
	if (r != 0) {
		buffer_free(&list.found);
		return r;
	}
	*out = (struct stream_damage *)(void *)list.found.at;
	*n = list.found.n / sizeof **out;
	if (*n > 0)
		qsort(*out, *n, sizeof **out, stream_damage_order);
	return 0;
}

int ledger_read_whole(struct ledger *l, struct prepared *out, struct error *err)
{
	char sum[HASH_HEX], found[HASH_HEX];
	uint8_t digest[HASH_SIZE];
	struct buffer b = { 0 };
	int r = read_whole(l->fd, l->dir, PREPARED_JSON, &b, err);
	if (r == 0)
		r = parse(&b, l->dir, PREPARED_JSON, out, sum, err);
	if (r == 0)
		r = read_whole(l->fd, l->dir, PREPARED_PIECES, &b, err);
	if (r == -ENOENT)
		r = fail(err, ENOENT, "%s/" PREPARED_PIECES ": is gone: prepare into a new folder", l->dir);
	if (r == 0) {
		hash_of(b.at, b.n, digest);
		hash_hex(digest, sizeof digest, found);
		if (strcmp(sum, found) != 0)
			r = fail(err, EBADMSG,
			         "%s/" PREPARED_PIECES
			         ": is damaged, its SHA-256 is not that of dataset.json: "
			         "prepare into a new folder",
			         l->dir);
	}
	if (r == 0 && (r = prepared_read_pieces(span_of(b.at, b.n), out, err)) != 0)
		fail_in(err, "%s/" PREPARED_PIECES, l->dir);
	buffer_free(&b);
	return r;
}

/* ---- opening ---- */

static int check_terms(struct ledger *l, const struct prepared *have, struct error *err)
{
	char a[128], b[128];
	const char *name = prepared_differs(&have->terms, &l->terms.terms, a, b);
	if (name == NULL)
		return 0;
	if (strcmp(name, "files_sha256") == 0)
		return fail(err, EEXIST, "%s: was prepared from other files: give another folder", l->dir);
	return fail(err, EEXIST, "%s: was prepared with %s=%s, this is %s=%s: give another folder", l->dir,
	            name, a, name, b);
}

/* A folder that prepare has not seen may have other things in it, but no shards. */
static int check_fresh(struct ledger *l, struct error *err)
{
	int fd = dup(l->fd), r = 0;
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	if (folder == NULL) {
		if (fd >= 0)
			close(fd);
		return fail(err, errno, "%s: %s", l->dir, strerror(errno));
	}
	rewinddir(folder);
	while (r == 0 && (e = readdir(folder)) != NULL) {
		const char *end = strrchr(e->d_name, '.');
		if (end != NULL && (strcmp(end, ".bin") == 0 || strcmp(end, ".npy") == 0))
			r = fail(err, EEXIST, "%s: has %s, which prepare did not write: give an empty folder",
			         l->dir, e->d_name);
	}
	closedir(folder);
	return r;
}

/* A filesystem that cannot lock a folder is nothing to fail for: the lock only keeps people from mistakes. */
static int take_lock(struct ledger *l, bool shared, struct error *err)
{
	if (flock(l->fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return fail(err, EBUSY, "%s: another prepare works in it", l->dir);
	return 0;
}

/* Holds the terms in a file against ours. -ENOENT: it is not there. */
static int check_file(struct ledger *l, int folder, const char *name, struct error *err)
{
	struct prepared have = { 0 };
	struct buffer json = { 0 };
	char sum[HASH_HEX];
	const char *dir = folder == l->work ? l->work_dir : l->dir;
	int r = read_whole(folder, dir, name, &json, err);
	if (r == 0 && !prepared_is(span_of(json.at, json.n)))
		r = fail(err, EEXIST, "%s/%s: prepare did not write it: give an empty folder", dir, name);
	if (r == 0)
		r = parse(&json, dir, name, &have, sum, err);
	if (r == 0)
		r = check_terms(l, &have, err);
	prepared_free(&have);
	buffer_free(&json);
	return r;
}

/* Opens or makes DIR/.prepare. */
static int open_work(struct ledger *l, struct error *err)
{
	bool made = mkdirat(l->fd, WORK, 0755) == 0;
	if (!made && errno != EEXIST)
		return fail(err, errno, "%s/" WORK ": cannot be made: %s", l->dir, strerror(errno));
	l->work = openat(l->fd, WORK, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->work < 0)
		return fail(err, errno, "%s/" WORK ": %s", l->dir, strerror(errno));
	int r = check_file(l, l->work, TERMS ".json", err);
	if (r != -ENOENT)
		return r;
	r = check_fresh(l, err);
	if (r == 0)
		r = ledger_write(l, TERMS, &l->terms, err);
	else if (check_file(l, l->work, TERMS ".json", NULL) == 0)
		r = 0; /* another task began meanwhile */
	if (r != 0)
		unlinkat(l->fd, WORK, AT_REMOVEDIR);
	return r;
}

static void remove_work(struct ledger *l)
{
	int fd = dup(l->work);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	if (folder == NULL)
		return;
	rewinddir(folder);
	while ((e = readdir(folder)) != NULL)
		if (e->d_name[0] != '.')
			unlinkat(l->work, e->d_name, 0);
	closedir(folder);
	unlinkat(l->fd, WORK, AT_REMOVEDIR);
}

int ledger_open(struct ledger *l, const char *dir, bool shared, bool there, struct error *err)
{
	l->fd = l->work = -1;
	l->dir = strdup(dir);
	int r = 0;
	if (l->dir == NULL || asprintf(&l->work_dir, "%s/" WORK, dir) < 0) {
		l->work_dir = NULL;
		return fail(err, ENOMEM, "out of memory");
	}
	if (!there)
		r = folder_make(dir, err);
	if (r == 0 && (l->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = fail(err, errno, "%s: %s", dir, strerror(errno));
	if (r == 0)
		r = take_lock(l, shared, err);
	if (r == 0) {
		r = check_file(l, l->fd, PREPARED_JSON, err);
		l->whole = r == 0;
		/* Who was killed just before the end has left it. */
		if (l->whole && !shared &&
		    (l->work = openat(l->fd, WORK, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
			remove_work(l);
		if (r == -ENOENT && there && faccessat(l->fd, WORK, F_OK, 0) != 0)
			r = fail(err, ENOENT, "%s: prepare has not written here", dir);
		else if (r == -ENOENT)
			r = open_work(l, err);
	}
	return r;
}

void ledger_close(struct ledger *l)
{
	if (l->dir != NULL) {
		if (l->work >= 0)
			close(l->work);
		if (l->fd >= 0)
			close(l->fd);
	}
	free(l->dir);
	free(l->work_dir);
	prepared_free(&l->terms);
	*l = (struct ledger){ 0 };
}

/* ---- joining ---- */

static bool same_place(const struct prepared_place *a, const struct prepared_place *b)
{
	return a->file == b->file && a->piece == b->piece && a->token == b->token;
}

/* Moves what a record has to the end of all. */
static int append(struct ledger *l, const char *name, struct prepared *all, struct prepared *record,
                  struct prepared_place *at, struct error *err)
{
	struct prepared_shard *shard = &record->shards[0];
	int r = 0;
	if (!same_place(&shard->begin, at))
		return fail(
		        err, EBADMSG,
		        "%s: %s does not begin where the one before ends, for a damaged piece was left out "
		        "meanwhile: run all tasks again, they make anew only what does not fit",
		        l->dir, name);
	*at = shard->end;
	for (size_t i = 0; r == 0 && i < record->n_files; i++) {
		struct prepared_file *f = &record->files[i];
		size_t file = shard->begin.file + i;
		if (file < all->n_files && memcmp(all->files[file].pin, f->pin, HASH_SIZE) != 0)
			r = fail(err, ESTALE, "%s: changed while it was prepared", f->name);
		else if (file == all->n_files) {
			r = prepared_add_file(all, f, err);
			f->name = NULL;
		}
	}
	for (size_t i = 0; r == 0 && i < record->n_pieces; i++)
		r = prepared_add_piece(all, &record->pieces[i], err);
	for (size_t i = 0; r == 0 && i < record->n_left_out; i++) {
		r = prepared_add_damage(all, &record->left_out[i], err);
		record->left_out[i].cause = NULL;
	}
	if (r == 0 && !record->ended) {
		r = prepared_add_shard(all, shard, err);
		*shard = (struct prepared_shard){ 0 };
	}
	return r;
}

/* target_tokens ends inside a file: its last piece is what was taken of it, and it is another file then. */
static void cut(struct prepared *all, const struct prepared_shard *end)
{
	struct prepared_piece *last = all->n_pieces == 0 ? NULL : &all->pieces[all->n_pieces - 1];
	struct prepared_file *file = all->n_files == 0 ? NULL : &all->files[all->n_files - 1];
	struct hash *h = hash_new();
	if (last != NULL && end->end.token > 0 && last->file == end->end.file &&
	    last->piece == end->end.piece) {
		last->tokens = (uint32_t)end->tokens;
		last->documents = (uint32_t)end->documents;
	}
	hash_add_text(h, "cut");
	if (file != NULL)
		hash_add(h, file->pin, sizeof file->pin);
	hash_add_u64(h, end->end.piece);
	hash_add_u64(h, end->end.token);
	if (file != NULL)
		hash_end(h, file->pin);
}

static int join_one(struct ledger *l, const char *name, struct prepared *all, struct prepared_place *at,
                    struct prepared_shard *end, struct error *err)
{
	struct prepared record = { 0 };
	int r = ledger_read(l, name, &record, err);
	if (r == 0)
		r = append(l, name, all, &record, at, err);
	if (r == 0 && record.ended)
		*end = (struct prepared_shard){ .tokens = record.shards[0].tokens,
			                        .documents = record.shards[0].documents,
			                        .val = record.shards[0].val,
			                        .end = record.shards[0].end };
	prepared_free(&record);
	return r;
}

/* Names of the records that are not there. 0, or -ENOENT with them. */
static int find_missing(struct ledger *l, uint64_t *shards, struct error *err)
{
	struct prepared end = { 0 };
	char list[512] = "", name[LEDGER_NAME], file[64];
	size_t missing = 0, n = 0;
	bool val = l->terms.terms.val_tokens > 0;
	int r = ledger_read(l, LEDGER_END, &end, err);
	*shards = r == 0 ? end.shards[0].number : 0;
	prepared_free(&end);
	if (r == -ENOENT)
		return fail(err, ENOENT, "%s: the last part is missing: not every task has ended", l->dir);
	for (uint64_t i = 0; r == 0 && i < *shards + val; i++) {
		ledger_name(val && i == 0, i - val, name);
		snprintf(file, sizeof file, "%s.json", name);
		if (faccessat(l->work, file, F_OK, 0) == 0)
			continue;
		if (missing++ < MISSING)
			n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", name);
	}
	if (missing > 0)
		r = fail(err, ENOENT, "%s: %zu of %" PRIu64 " shards are missing: %s%s", l->dir, missing,
		         *shards + val, list, missing > MISSING ? " ..." : "");
	return r;
}

static int copy_terms(struct prepared *to, const struct prepared *from, struct error *err)
{
	struct buffer json = { 0 };
	char sum[HASH_HEX];
	int r = prepared_write(from, NULL, &json, err);
	if (r == 0)
		r = prepared_read(span_of(json.at, json.n), to, sum, err);
	buffer_free(&json);
	return r;
}

static int write_whole(struct ledger *l, const struct prepared *all, struct error *err)
{
	struct buffer b = { 0 };
	uint8_t digest[HASH_SIZE];
	char sum[HASH_HEX];
	int r = prepared_write_pieces(all, &b, err);
	if (r == 0)
		r = ledger_put(l->fd, l->dir, PREPARED_PIECES, &b, err);
	if (r == 0) {
		hash_of(b.at, b.n, digest);
		hash_hex(digest, sizeof digest, sum);
		b.n = 0;
		r = prepared_write(all, sum, &b, err);
	}
	if (r == 0)
		r = ledger_put(l->fd, l->dir, PREPARED_JSON, &b, err);
	buffer_free(&b);
	return r;
}

struct behind {
	struct ledger *l;
	uint64_t shards;
};

/* Removes the shard of a record behind the end; one of nanogpt's is a part of a file that is cut. */
static int remove_behind(void *arg, const char *name, struct error *err)
{
	struct behind *b = arg;
	struct prepared record = { 0 };
	uint64_t number;
	int end = 0, r;
	(void)err;
	if (sscanf(name, "train_%" SCNu64 ".json%n", &number, &end) != 1 || name[end] != 0 ||
	    number < b->shards)
		return 0;
	char shard[LEDGER_NAME];
	ledger_name(false, number, shard);
	r = ledger_read(b->l, shard, &record, NULL);
	if (r == 0 && strcmp(b->l->terms.terms.format, "nanogpt") != 0)
		unlinkat(b->l->fd, record.shards[0].name, 0);
	prepared_free(&record);
	return 0;
}

int ledger_gather(struct ledger *l, struct prepared *out, struct error *err)
{
	struct prepared_place at = { 0 };
	struct prepared_shard end = { 0 };
	char name[LEDGER_NAME];
	uint64_t shards;
	bool val = l->terms.terms.val_tokens > 0;
	int r = find_missing(l, &shards, err);
	if (r == 0)
		r = copy_terms(out, &l->terms, err);
	for (uint64_t i = 0; r == 0 && i < shards + val; i++) {
		ledger_name(val && i == 0, i - val, name);
		r = join_one(l, name, out, &at, &end, err);
	}
	if (r == 0)
		r = join_one(l, LEDGER_END, out, &at, &end, err);
	if (r == 0 && end.val)
		cut(out, &end);
	out->ended = true;
	return r;
}

int ledger_finish(struct ledger *l, const struct prepared *all, struct error *err)
{
	struct behind behind = { .l = l };
	for (size_t i = 0; i < all->n_shards; i++)
		behind.shards += !all->shards[i].val;
	int r = walk_work(l, remove_behind, &behind, err);
	if (r == 0)
		r = write_whole(l, all, err);
	if (r != 0)
		return r;
	l->whole = true;
	remove_work(l);
	return 0;
}
