#include "store/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "FWRECORD"
#define VERSION 1
#define HEAD 16

struct place {
	const uint8_t *key;
	struct span record;
};

struct archive {
	struct place *places;  /* in the order of the file */
	struct place **sorted; /* by key */
	uint32_t n;
};

int archive_begin(struct buffer *b, uint32_t entries, struct error *err)
{
	uint8_t head[HEAD];
	memcpy(head, MAGIC, 8);
	store_u32(head + 8, VERSION);
	store_u32(head + 12, entries);
	return buffer_add(b, head, sizeof head, ARCHIVE_MOST, err);
}

int archive_add(struct buffer *b, const uint8_t key[HASH_SIZE], struct span record, struct error *err)
{
	uint8_t length[4];
	if (record.n > ARCHIVE_MOST)
		return fail(err, ENOTSUP, "a record of %zu bytes", record.n);
	store_u32(length, (uint32_t)record.n);
	int r = buffer_add(b, key, HASH_SIZE, ARCHIVE_MOST, err);
	if (r == 0)
		r = buffer_add(b, length, sizeof length, ARCHIVE_MOST, err);
	return r == 0 ? buffer_add(b, record.at, record.n, ARCHIVE_MOST, err) : r;
}

int archive_end(struct buffer *b, struct error *err)
{
	uint8_t sum[HASH_SIZE];
	hash_of(b->at, b->n, sum);
	return buffer_add(b, sum, sizeof sum, ARCHIVE_MOST, err);
}

static int by_key(const void *a, const void *b)
{
	const struct place *const *x = a, *const *y = b;
	return memcmp((*x)->key, (*y)->key, HASH_SIZE);
}

static int read_entries(struct archive *a, struct span in, struct error *err)
{
	for (uint32_t i = 0; i < a->n; i++) {
		struct span key;
		uint32_t length;
		if (!span_take(&in, HASH_SIZE, &key) || !span_u32(&in, &length) ||
		    !span_take(&in, length, &a->places[i].record))
			return fail(err, EBADMSG, "it ends inside entry %" PRIu32 " of %" PRIu32, i, a->n);
		a->places[i].key = key.at;
		a->sorted[i] = &a->places[i];
	}
	if (in.n != 0)
		return fail(err, EBADMSG, "%zu bytes stand behind its %" PRIu32 " entries", in.n, a->n);
	qsort(a->sorted, a->n, sizeof *a->sorted, by_key);
	return 0;
}

int archive_open(struct span bytes, struct archive **out, struct error *err)
{
	struct span in = bytes, magic;
	uint32_t version, entries;
	uint8_t sum[HASH_SIZE];
	if (!span_take(&in, 8, &magic) || !span_is(magic, MAGIC) || !span_u32(&in, &version) ||
	    !span_u32(&in, &entries) || in.n < HASH_SIZE)
		return fail(err, EBADMSG, "it is no file of packed counts");
	if (version != VERSION)
		return fail(err, ENOTSUP, "it is of version %" PRIu32 ", not %d", version, VERSION);
	hash_of(bytes.at, bytes.n - HASH_SIZE, sum);
	if (memcmp(sum, bytes.at + bytes.n - HASH_SIZE, HASH_SIZE) != 0)
		return fail(err, EBADMSG, "its checksum is wrong");
	in.n -= HASH_SIZE;
	/* Each entry has 36 bytes or more: what is allocated is bounded by what is there. */
	if (entries > in.n / (HASH_SIZE + 4))
		return fail(err, EBADMSG, "it cannot have %" PRIu32 " entries", entries);
	struct archive *a = calloc(1, sizeof *a);
	int r = a == NULL ? fail(err, ENOMEM, "out of memory") : 0;
	if (r == 0) {
		a->n = entries;
		a->places = calloc(entries + 1u, sizeof *a->places);
		a->sorted = calloc(entries + 1u, sizeof *a->sorted);
		r = a->places == NULL || a->sorted == NULL ? fail(err, ENOMEM, "out of memory")
		                                           : read_entries(a, in, err);
	}
	if (r != 0)
		archive_close(a);
	else
		*out = a;
	return r;
}

void archive_close(struct archive *a)
{
	if (a == NULL)
		return;
	free(a->places);
	free(a->sorted);
	free(a);
}

uint32_t archive_entries(const struct archive *a)
{
	return a->n;
}

void archive_entry(const struct archive *a, uint32_t i, const uint8_t **key, struct span *record)
{
	*key = a->places[i].key;
	*record = a->places[i].record;
}

int archive_find(const struct archive *a, const uint8_t key[HASH_SIZE], struct span *record)
{
	const struct place want = { .key = key }, *at = &want;
	struct place **found = bsearch(&at, a->sorted, a->n, sizeof *a->sorted, by_key);
	if (found == NULL)
		return -ENOENT;
	*record = (*found)->record;
	return 0;
}
