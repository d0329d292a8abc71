#include "dataset/pin.h"

#include <string.h>

#include "base/checked.h"
#include "base/span.h"

int pin_of_source(struct source *s, uint8_t out[HASH_SIZE], struct error *err)
{
	uint8_t bytes[PIN_TAIL];
	struct hash *h = hash_new();
	hash_add_text(h, "pin 1");
	hash_add_u64(h, s->size);
	size_t head = (size_t)min_u64(s->size, PIN_HEAD), tail = (size_t)min_u64(s->size, PIN_TAIL);
	int r = source_read(s, 0, bytes, head, err);
	hash_add(h, bytes, head);
	if (r == 0) {
		r = source_read(s, s->size - tail, bytes, tail, err);
		hash_add(h, bytes, tail);
	}
	hash_end(h, out);
	return r;
}

/* The path of a URL: the same on every mirror, and without the query, which may hold a signature. */
static void add_path(struct hash *h, const char *url)
{
	const char *path = strstr(url, "://");
	path = path == NULL ? url : path + 3;
	path += strcspn(path, "/");
	size_t n = strcspn(path, "?#");
	hash_add_u64(h, n);
	hash_add(h, path, n);
}

void pin_of_http(const char *url, const struct http_pin *pin, uint8_t out[HASH_SIZE])
{
	struct hash *h = hash_new();
	hash_add_text(h, "http pin 2");
	add_path(h, url);
	hash_add_u64(h, pin->size);
	hash_add_text(h, pin->etag);
	hash_add_u64(h, pin->etag[0] == 0 ? (uint64_t)pin->mtime : 0);
	hash_end(h, out);
}

#define PIN_RECORDS 10000 /* of one key: how often it can be pinned anew */

static void path_key(const char *what, const char *path, uint8_t key[HASH_SIZE])
{
	struct hash *h = hash_new();
	hash_add_text(h, what);
	hash_add_text(h, path);
	hash_end(h, key);
}

static void stat_bytes(const struct file_stat *st, uint8_t out[32])
{
	store_u64(out, st->size);
	store_u64(out + 8, st->inode);
	store_u64(out + 16, st->device);
	store_u64(out + 24, (uint64_t)st->mtime_ns);
}

bool pin_recall_local(struct index *x, const char *path, const struct file_stat *st, uint8_t out[HASH_SIZE])
{
	uint8_t key[HASH_SIZE], now[32];
	struct buffer b = { 0 };
	path_key("local pin 1", path, key);
	stat_bytes(st, now);
	bool found = index_get(x, key, sizeof key, &b) == 0 && b.n == 64 && memcmp(b.at, now, 32) == 0;
	if (found)
		memcpy(out, b.at + 32, HASH_SIZE);
	buffer_free(&b);
	return found;
}

void pin_record_local(struct index *x, const char *path, const struct file_stat *st,
                      const uint8_t pin[HASH_SIZE])
{
	uint8_t key[HASH_SIZE], value[64];
	path_key("local pin 1", path, key);
	stat_bytes(st, value);
	memcpy(value + 32, pin, HASH_SIZE);
	index_put(x, key, sizeof key, value, sizeof value);
}

bool pin_recall_http(struct pin_memory *m, const char *url, struct http_pin *out)
{
	struct buffer b = { 0 }, key = { 0 };
	bool found = buffer_printf(&key, "http %s", url) == 0 && pin_recall(m, (const char *)key.at, &b) &&
	             b.n >= 16 && b.n - 16 < sizeof out->etag && load_u64(b.at) > 0 &&
	             memchr(b.at + 16, 0, b.n - 16) == NULL;
	if (found) {
		*out = (struct http_pin){ .size = load_u64(b.at), .mtime = (int64_t)load_u64(b.at + 8) };
		memcpy(out->etag, b.at + 16, b.n - 16);
	}
	buffer_free(&key);
	buffer_free(&b);
	return found;
}

void pin_record_http(struct pin_memory *m, const char *url, const struct http_pin *pin)
{
	uint8_t value[16 + sizeof pin->etag];
	struct buffer key = { 0 };
	size_t n = strnlen(pin->etag, sizeof pin->etag - 1);
	store_u64(value, pin->size);
	store_u64(value + 8, (uint64_t)pin->mtime);
	memcpy(value + 16, pin->etag, n);
	if (buffer_printf(&key, "http %s", url) == 0)
		pin_record(m, (const char *)key.at, value, 16 + n);
	buffer_free(&key);
}

/* The name of the nth record of a key in the cache, where nothing is ever replaced: the last one counts. */
static void nth_key(const char *text, unsigned n, struct cache_key *key)
{
	struct hash *h = hash_new();
	_Static_assert(sizeof key->bytes == HASH_SIZE, "a key is a hash");
	hash_add_text(h, "remembered 1");
	hash_add_text(h, text);
	hash_add_u64(h, n);
	hash_end(h, key->bytes);
}

/* How many records of a key there are, the last one in *last. */
static unsigned records(struct cache *c, const char *text, struct buffer *last)
{
	struct buffer b = { 0 };
	struct cache_key key;
	unsigned n = 0;
	for (; n < PIN_RECORDS; n++) {
		nth_key(text, n, &key);
		if (cache_get_counts(c, &key, &b, NULL) != 0)
			break;
		struct buffer swap = *last;
		*last = b;
		b = swap;
	}
	buffer_free(&b);
	return n;
}

bool pin_recall(void *memory, const char *text, struct buffer *out)
{
	struct pin_memory *m = memory;
	uint8_t key[HASH_SIZE];
	if (m->cache != NULL && records(m->cache, text, out) > 0)
		return true;
	path_key("remembered 1", text, key);
	return m->index != NULL && index_get(m->index, key, sizeof key, out) == 0;
}

void pin_record(void *memory, const char *text, const void *bytes, size_t n)
{
	struct pin_memory *m = memory;
	uint8_t key[HASH_SIZE];
	struct cache_key nth;
	struct buffer last = { 0 };
	if (m->cache != NULL) {
		unsigned next = records(m->cache, text, &last);
		bool same = next > 0 && last.n == n && memcmp(last.at, bytes, n) == 0;
		buffer_free(&last);
		nth_key(text, next, &nth);
		if (same || (next < PIN_RECORDS && cache_put_counts(m->cache, &nth, bytes, n, NULL) == 0))
			return;
	}
	path_key("remembered 1", text, key);
	if (m->index != NULL)
		index_put(m->index, key, sizeof key, bytes, n);
}
