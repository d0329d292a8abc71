/* pin: what fixes a file's bytes, and where pins are remembered.
 *
 * Local: SHA-256 over the size and the first PIN_HEAD and last PIN_TAIL bytes (header, footer). Remote: over
 * size and ETag, or Last-Modified where the server sends none. Inode and mtime only tell that a file should
 * be looked at again. Any thread.
 */
#ifndef FW_DATASET_PIN_H
#define FW_DATASET_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "io/file.h"
#include "io/http.h"
#include "io/source.h"
#include "store/cache.h"
#include "store/index.h"

#define PIN_HEAD 4096u
#define PIN_TAIL 65536u

/* Reads head and tail. 0 or what source_read says. */
int pin_of_source(struct source *s, uint8_t out[HASH_SIZE], struct error *err);
/* With the URL's path: an ETag tells versions of one resource apart (RFC 9110, 8.8.3); two files of a size
 * and time have the same one on nginx. */
void pin_of_http(const char *url, const struct http_pin *pin, uint8_t out[HASH_SIZE]);

/* The pin that was recorded for a path whose stat is still the same. */
bool pin_recall_local(struct index *x, const char *path, const struct file_stat *st, uint8_t out[HASH_SIZE]);
void pin_record_local(struct index *x, const char *path, const struct file_stat *st,
                      const uint8_t pin[HASH_SIZE]);
/* Where it is remembered what remote sources were when they were first mounted: in the cache, which all mounts
 * share, else in this process's index. Either may be NULL. Both outlive it. */
struct pin_memory {
	struct cache *cache;
	struct index *index;
};

/* The pin that the first mount of a URL recorded, or the last with repin. */
bool pin_recall_http(struct pin_memory *m, const char *url, struct http_pin *out);
void pin_record_http(struct pin_memory *m, const char *url, const struct http_pin *pin);

/* What a listing remembers: struct listing_memory; memory is a struct pin_memory. What is put takes the place
 * of what was put before. */
bool pin_recall(void *memory, const char *key, struct buffer *out);
void pin_record(void *memory, const char *key, const void *bytes, size_t n);

#endif
