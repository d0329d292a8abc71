#include "dataset/packed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "dataset/internal.h"
#include "io/file.h"
#include "store/archive.h"

#define KEY 16 /* bytes of a key, and of a record's hash, that are kept */

struct entry {
	uint8_t key[KEY], sum[KEY];
	uint64_t off;
	uint32_t n;
};

struct packed {
	struct source *source;
	struct entry *entries; /* by key */
	uint32_t n;
};

static int by_key(const void *a, const void *b)
{
	return memcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key, KEY);
}

static int note_entries(struct packed *p, const struct archive *a, const uint8_t *bytes, struct error *err)
{
	uint8_t sum[HASH_SIZE];
	p->n = archive_entries(a);
	p->entries = calloc(p->n + 1u, sizeof *p->entries);
	if (p->entries == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->n; i++) {
		struct entry *e = &p->entries[i];
		const uint8_t *key;
		struct span record;
		archive_entry(a, i, &key, &record);
		hash_of(record.at, record.n, sum);
		memcpy(e->key, key, KEY);
		memcpy(e->sum, sum, KEY);
		e->off = (uint64_t)(record.at - bytes);
		e->n = (uint32_t)record.n;
	}
	qsort(p->entries, p->n, sizeof *p->entries, by_key);
	return 0;
}

int packed_open(const char *path, struct packed **out, struct error *err)
{
	struct packed *p = calloc(1, sizeof *p);
	struct archive *archive = NULL;
	struct buffer bytes = { 0 };
	if (p == NULL)
		return fail(err, ENOMEM, "out of memory");
	int r = file_open(path, &p->source, err);
	if (r == 0 && p->source->size > ARCHIVE_MOST)
		r = fail(err, EBADMSG, "%s: is not what `fineweb index --export` writes", path);
	if (r == 0)
		r = buffer_reserve(&bytes, (size_t)p->source->size + 1, 0, err);
	if (r == 0)
		r = source_read(p->source, 0, bytes.at, (size_t)p->source->size, err);
	if (r == 0) {
		r = archive_open(span_of(bytes.at, (size_t)p->source->size), &archive, err);
		if (r != 0)
			fail_in(err, "%s", path);
	}
	if (r == 0)
		r = note_entries(p, archive, bytes.at, err);
	archive_close(archive);
	buffer_free(&bytes);
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
	source_close(p->source);
	free(p->entries);
	free(p);
}

int packed_find(const struct packed *p, const uint8_t key[HASH_SIZE], struct buffer *record)
{
	struct entry want;
	uint8_t sum[HASH_SIZE];
	memcpy(want.key, key, KEY);
	const struct entry *e = bsearch(&want, p->entries, p->n, sizeof *p->entries, by_key);
	record->n = 0;
	if (e == NULL || buffer_reserve(record, e->n, 0, NULL) != 0 ||
	    source_read(p->source, e->off, record->at, e->n, NULL) != 0)
		return -ENOENT;
	hash_of(record->at, e->n, sum);
	if (memcmp(sum, e->sum, KEY) != 0)
		return -ENOENT;
	record->n = e->n;
	return 0;
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
