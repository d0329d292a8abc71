#include "store/seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/span.h"

#define FIRST_PLACES 1024
#define MARK_SECONDS 60

void seen_init(struct seen *s)
{
	*s = (struct seen){ 0 };
	pthread_mutex_init(&s->lock, NULL);
}

void seen_free(struct seen *s)
{
	pthread_mutex_destroy(&s->lock);
	free(s->at);
}

static uint64_t prefix(const uint8_t *key)
{
	uint64_t p = load_u64(key);
	return p == 0 ? 1 : p;
}

/* The place of key, or the empty one where it belongs. At most half of the places are taken. */
static struct seen_entry *place_of(struct seen_entry *at, size_t places, uint64_t key)
{
	size_t i = (size_t)key & (places - 1);
	while (at[i].key != 0 && at[i].key != key)
		i = (i + 1) & (places - 1);
	return at + i;
}

bool seen_find(struct seen *s, const uint8_t key[HASH_SIZE], uint64_t inode, uint32_t now, bool *mark)
{
	bool found = false;
	*mark = false;
	pthread_mutex_lock(&s->lock);
	if (s->places > 0) {
		struct seen_entry *e = place_of(s->at, s->places, prefix(key));
		found = e->key != 0 && e->inode == (uint32_t)inode;
		if (found && now - e->used >= MARK_SECONDS) {
			*mark = true;
			e->used = now;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

static bool grow(struct seen *s)
{
	size_t places = s->places == 0 ? FIRST_PLACES : 2 * s->places;
	struct seen_entry *at = calloc(places, sizeof *at);
	if (at == NULL)
		return false;
	for (size_t i = 0; i < s->places; i++)
		if (s->at[i].key != 0)
			*place_of(at, places, s->at[i].key) = s->at[i];
	free(s->at);
	s->at = at;
	s->places = places;
	return true;
}

void seen_add(struct seen *s, const uint8_t key[HASH_SIZE], uint64_t inode, uint32_t now)
{
	pthread_mutex_lock(&s->lock);
	if (s->n == SEEN_ENTRIES) {
		memset(s->at, 0, s->places * sizeof *s->at);
		s->n = 0;
	}
	if (2 * (s->n + 1) <= s->places || grow(s)) {
		struct seen_entry *e = place_of(s->at, s->places, prefix(key));
		s->n += e->key == 0;
		*e = (struct seen_entry){ .key = prefix(key), .inode = (uint32_t)inode, .used = now };
	}
	pthread_mutex_unlock(&s->lock);
}
