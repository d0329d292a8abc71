#include "dataset/packed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "dataset/internal.h"
#include "io/file.h"
#include "store/archive.h"

struct packed {
	struct buffer bytes;
	struct archive *archive;
};

int packed_open(const char *path, struct packed **out, struct error *err)
{
	struct source *s;
	struct packed *p;
	int r = file_open(path, &s, err);
	if (r != 0)
		return r;
	p = calloc(1, sizeof *p);
	if (p == NULL)
		r = fail(err, ENOMEM, "out of memory");
	else if (s->size > ARCHIVE_MOST)
		r = fail(err, EBADMSG, "%s: is not what `fineweb index --export` writes", path);
	if (r == 0)
		r = buffer_reserve(&p->bytes, (size_t)s->size + 1, 0, err);
	if (r == 0)
		r = source_read(s, 0, p->bytes.at, (size_t)s->size, err);
	if (r == 0) {
		p->bytes.n = (size_t)s->size;
		r = archive_open(span_of(p->bytes.at, p->bytes.n), &p->archive, err);
		if (r != 0)
			fail_in(err, "%s", path);
	}
	source_close(s);
	if (r != 0)
		packed_close(p);
	else
		*out = p;
	return r;
}

void packed_close(struct packed *p)
{
	if (p == NULL)
		return;
	archive_close(p->archive);
	buffer_free(&p->bytes);
	free(p);
}

int packed_find(const struct packed *p, const uint8_t key[HASH_SIZE], struct span *record)
{
	return archive_find(p->archive, key, record);
}

int packed_write(struct dataset *d, struct buffer *out, uint32_t *files, struct error *err)
{
	struct buffer record = { 0 };
	uint32_t n = manifest_files(d->manifest), at = 0;
	int r = 0;
	*files = 0;
	for (uint32_t f = 0; f < n && !d->token_files; f++)
		*files += manifest_file_tokens(d->manifest, f) >= 0;
	r = archive_begin(out, *files, err);
	for (uint32_t f = 0; r == 0 && f < n && at < *files; f++) {
		uint8_t key[HASH_SIZE];
		if (manifest_file_tokens(d->manifest, f) < 0)
			continue;
		r = manifest_record(d->manifest, f, key, &record, err);
		if (r == 0)
			r = archive_add(out, key, span_of(record.at, record.n), err);
		at++;
	}
	buffer_free(&record);
	return r == 0 ? archive_end(out, err) : r;
}

/* Looks whether a piece that the cache has is whole: that is how it is opened. */
static int verify_pieces(struct dataset *d, uint32_t file, struct packed_check *out, struct error *err)
{
	int64_t n = manifest_pieces(d->manifest, file);
	for (uint32_t p = 0; p < n; p++) {
		struct cache_key key;
		struct cached_piece found;
		int r = pieces_key(d->pieces, file, p, &key, err);
		if (r != 0)
			return r;
		if (cache_find(d->cache, &key, &found, NULL) == 0) {
			out->pieces++;
			source_close(found.source);
		}
	}
	return 0;
}

int packed_verify(struct dataset *d, struct packed_check *out, struct error *err)
{
	struct cache_counters counters = { 0 };
	int r = 0;
	*out = (struct packed_check){ 0 };
	for (uint32_t f = 0; r == 0 && f < manifest_files(d->manifest) && !d->lies; f++) {
		bool damaged = false;
		r = manifest_check_record(d->manifest, f, &damaged, err);
		out->files += r == 0;
		out->damaged += damaged;
		if (r == -ENOENT)
			r = 0;
		const struct order_need need = { f, ORDER_PIECES };
		if (r == 0)
			r = counting_remote(d, &need, err);
		if (r == 0 && d->cache != NULL)
			r = verify_pieces(d, f, out, err);
	}
	if (d->cache != NULL)
		cache_counters(d->cache, &counters);
	out->damaged += counters.damaged;
	return r;
}
