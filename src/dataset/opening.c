#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "dataset/internal.h"
#include "dataset/pin.h"
#include "dataset/prefetch.h"
#include "dataset/stored.h"
#include "io/listing.h"

void opening_early(struct dataset *d)
{
	const struct options *o = &d->options;
	for (size_t i = 0; d->early == NULL && i < o->sources; i++) {
		const char *source = o->source[i], *dot = strrchr(source, '.');
		bool tokens = dot != NULL && (strcmp(dot, ".bin") == 0 || strcmp(dot, ".npy") == 0);
		if (strstr(source, "://") != NULL && !tokens)
			d->early = early_open(o->tokenizer, o->pattern);
	}
}

static char *default_cache(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[4096];
	if (geteuid() == 0)
		return strdup("/var/cache/fineweb");
	if (xdg != NULL && xdg[0] == '/')
		snprintf(path, sizeof path, "%s/fineweb", xdg);
	else if (home != NULL && home[0] == '/')
		snprintf(path, sizeof path, "%s/.cache/fineweb", home);
	else
		snprintf(path, sizeof path, "/tmp/fineweb-%u", (unsigned)geteuid());
	return strdup(path);
}

/* Makes the folder and its parents. */
static void make_folders(const char *path)
{
	char part[4096];
	size_t n = strlen(path);
	if (n >= sizeof part)
		return;
	for (size_t i = 1; i <= n; i++)
		if (path[i] == '/' || path[i] == 0) {
			memcpy(part, path, i);
			part[i] = 0;
			mkdir(part, 0755);
		}
}

/* Cache and index are a help: without them the mount works all the same. */
int opening_index(struct dataset *d, struct error *err)
{
	struct options *o = &d->options;
	struct error cause;
	if (o->cache == NULL && (o->cache = default_cache()) == NULL)
		return fail(err, ENOMEM, "out of memory");
	make_folders(o->cache);
	if (index_open(o->cache, 0, &d->index, &cause) != 0)
		log_info("there is no index: %s", cause.text);
	return 0;
}

/* Whether a cache will be wanted: not for local token files. */
static bool wants_cache(const struct dataset *d, bool listed)
{
	bool remote = d->remote;
	for (size_t i = 0; i < d->options.sources; i++)
		remote |= strstr(d->options.source[i], "://") != NULL;
	return remote || (listed && !d->lies);
}

void opening_cache(struct dataset *d, bool listed)
{
	struct options *o = &d->options;
	struct error cause;
	struct cache_options co = {
		.dir = o->cache, .size = o->cache_size, .keep = prefetch_keeps, .keep_arg = d
	};
	if (d->cache == NULL && wants_cache(d, listed) && cache_open(&co, &d->cache, &cause) != 0 && listed)
		log_warning("there is no cache, tokens are kept in memory: %s", cause.text);
}

unsigned opening_stall_ms(const struct options *o)
{
	return (unsigned)min_u64(15000, max_u64(1000, min_u64(o->retry, o->ready_timeout) * 250));
}

/* Seconds in which an attempt may begin before the mount is ready: the last one must still end in
 * ready_timeout. */
static unsigned patience(const struct options *o)
{
	return (unsigned)min_u64(o->retry, o->ready_timeout - opening_stall_ms(o) / 1000);
}

int opening_files(struct dataset *d, struct listing *l, struct error *err)
{
	const struct options *o = &d->options;
	struct pin_memory pins = { d->cache, d->index };
	const struct listing_memory memory = { .get = pin_recall, .put = pin_record, .arg = &pins };
	struct listing_options lo = {
		.split = o->split,
		.http = d->http,
		.name = o->name,
		.endpoint = o->endpoint,
		.patience_s = patience(o),
		.repin = o->repin,
		.memory = &memory,
	};
	int r = stored_open(o->source, o->sources, &d->stored, err);
	if (r == 0)
		r = d->stored != NULL ? stored_listing(d->stored, l, err)
		                      : listing_make((const char *const *)o->source, o->sources, &lo, l, err);
	if (r != 0)
		return r;
	d->token_files = l->n > 0 && manifest_is_tokens(l->files[0].kind);
	for (size_t i = 0; i < l->n; i++) {
		if (manifest_is_tokens(l->files[i].kind) != d->token_files)
			return fail(err, EINVAL, "%s is text and %s is tokens: a source is of one kind",
			            l->files[d->token_files ? i : 0].where,
			            l->files[d->token_files ? 0 : i].where);
		d->remote |= l->files[i].remote;
	}
	if (l->n > INT32_MAX)
		return fail(err, ENOTSUP, "%zu files", l->n);
	d->lies = d->stored != NULL || (d->token_files && !d->remote);
	d->pinned = l->pinned;
	d->pins = l->sources;
	l->pinned = NULL;
	l->sources = 0;
	return 0;
}

static int look_for_counts(struct dataset *d, bool *column, struct error *err)
{
	struct textfile *t;
	int64_t until = dataset_clock() + (int64_t)patience(&d->options) * 1000000000;
	for (unsigned wait = 200;; wait *= 2) {
		int r = textfiles_get(d->textfiles, 0, &t, err);
		if (r == 0) {
			*column = t->token_count >= 0;
			textfiles_put(d->textfiles, t, false);
			return 0;
		}
		unsigned pause = err->wait_ms > wait ? err->wait_ms : wait;
		if (!err->again || dataset_clock() + (int64_t)pause * 1000000 > until)
			return r;
		if (http_pause(d->http, pause) != 0)
			return fail(err, EINTR, "stopped before the mount was ready");
	}
}

int opening_first_counts(struct dataset *d, bool *column, struct error *err)
{
	const struct listed_file *f = manifest_file(d->manifest, 0);
	struct pin_memory memory = { d->cache, d->index };
	struct buffer key = { 0 }, kept = { 0 };
	struct error local;
	if (err == NULL)
		err = &local;
	bool known = false, remote = f->remote && buffer_printf(&key, "token_count %s %s", f->where,
	                                                        f->etag != NULL ? f->etag : "") == 0;
	if (remote && !d->options.repin) {
		known = pin_recall(&memory, (const char *)key.at, &kept) && kept.n == 1;
		*column = known && kept.at[0] == 1;
	}
	int r = known ? 0 : look_for_counts(d, column, err);
	if (r == 0 && !known && remote)
		pin_record(&memory, (const char *)key.at, &(uint8_t){ *column }, 1);
	buffer_free(&key);
	buffer_free(&kept);
	return r == -EBADMSG || r == -ENOTSUP ? 0 : r;
}

bool opening_complete(struct dataset *d)
{
	for (uint32_t f = 0; f < manifest_files(d->manifest); f++) {
		const struct order_need need = { f, ORDER_PIECES };
		struct error cause;
		if (counting_remote(d, &need, &cause) != 0 || manifest_file_tokens(d->manifest, f) < 0)
			return false;
	}
	return true;
}
