#include "io/draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/url.h"

static struct found *draft_new(struct draft *d, struct error *err)
{
	if (d->n == d->limit) {
		fail(err, ENOTSUP, "more than %zu files", d->limit);
		return NULL;
	}
	if (d->n == d->room) {
		size_t room = d->room == 0 ? 256 : 2 * d->room;
		struct found *files = reallocarray(d->files, room, sizeof *files);
		if (files == NULL) {
			fail(err, ENOMEM, "out of memory for a list of %zu files", room);
			return NULL;
		}
		d->files = files;
		d->room = room;
	}
	return &d->files[d->n];
}

int draft_add(struct draft *d, const char *dir, const char *name, struct kind kind, const struct stat *st,
	      struct error *err)
{
	struct found *f = draft_new(d, err);
	const char *parts[] = { dir[0] == '/' ? "" : d->here, dir, draft_slash(dir), name };
	if (f == NULL)
		return err != NULL ? -err->code : -ENOTSUP;
	if (dir[0] == '\0' && name[0] == '/')
		parts[0] = "";
	*f = (struct found){
		.where = d->text.n,
		.given = d->text.n + strlen(parts[0]),
		.kind = kind,
		.size = (uint64_t)st->st_size,
		.inode = (uint64_t)st->st_ino,
		.device = (uint64_t)st->st_dev,
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};
	for (size_t i = 0; i < 4; i++) {
		size_t n = strlen(parts[i]) + (i == 3);
		int r = buffer_add(&d->text, parts[i], n, 0, err);
		if (r != 0)
			return r;
	}
	d->n++;
	return 0;
}

int draft_add_url(struct draft *d, const char *url, struct kind kind, struct error *err)
{
	struct found *f = draft_new(d, err);
	if (f == NULL)
		return err != NULL ? -err->code : -ENOTSUP;
	char *plain = url_plain(url);
	if (plain == NULL)
		return fail(err, ENOMEM, "out of memory for a URL");
	*f = (struct found){ .where = d->text.n, .kind = kind, .remote = true };
	int r = buffer_add(&d->text, url, strlen(url) + 1, 0, err);
	f->given = d->text.n;
	if (r == 0)
		r = buffer_add(&d->text, plain, strlen(plain) + 1, 0, err);
	free(plain);
	if (r == 0)
		d->n++;
	return r;
}

int draft_add_remote(struct draft *d, const struct remote_file *file, struct error *err)
{
	struct found *f = draft_new(d, err);
	if (f == NULL)
		return err != NULL ? -err->code : -ENOTSUP;
	*f = (struct found){
		.where = d->text.n, .kind = file->kind, .remote = true, .linked = file->linked, .size = file->size
	};
	int r = buffer_add(&d->text, file->where, strlen(file->where) + 1, 0, err);
	f->given = d->text.n;
	if (r == 0)
		r = buffer_add(&d->text, file->given, strlen(file->given) + 1, 0, err);
	if (r == 0 && file->etag != NULL) {
		f->etag = d->text.n;
		r = buffer_add(&d->text, file->etag, strlen(file->etag) + 1, 0, err);
	}
	if (r == 0)
		d->n++;
	return r;
}
