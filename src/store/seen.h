/* seen: which files of the cache this process has verified, and when it last marked them as used.
 *
 * A bounded hash table; when it is full it forgets everything, which costs a second verification. Any thread.
 */
#ifndef FW_STORE_SEEN_H
#define FW_STORE_SEEN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define SEEN_ENTRIES (1u << 20) /* most entries; 16 bytes each, twice as many places */

struct seen_entry {
	uint64_t key;	/* first 8 bytes, 0: no entry */
	uint32_t inode; /* low bits: a file made anew is verified anew */
	uint32_t used;	/* seconds, any clock that goes forward */
};

struct seen {
	pthread_mutex_t lock;
	struct seen_entry *at;
	size_t n, places; /* places: a power of 2, or 0 */
};

void seen_init(struct seen *s);
void seen_free(struct seen *s);

/* True when the file was added. Then *mark says that it was last marked a minute or more before `now`, and
 * the mark becomes now. */
bool seen_find(struct seen *s, const uint8_t key[HASH_SIZE], uint64_t inode, uint32_t now, bool *mark);
/* Remembers a verified file, marked `now`. Out of memory: it is just not remembered. */
void seen_add(struct seen *s, const uint8_t key[HASH_SIZE], uint64_t inode, uint32_t now);

#endif
