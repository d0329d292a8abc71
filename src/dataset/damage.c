#include "dataset/damage.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct damage {
	pthread_mutex_t lock;
	/* Open addressing; an entry is file << 32 | piece, plus 1, in the low 63 bits, and the verdict in the
	 * top one. */
	uint64_t *table;
	size_t room, n;
};

#define BAD (UINT64_C(1) << 63)

static uint64_t name_of(uint32_t file, uint32_t piece)
{
	return ((uint64_t)(file & INT32_MAX) << 32 | piece) + 1;
}

static uint64_t *slot(uint64_t *table, size_t room, uint64_t name)
{
	size_t i = (size_t)(name * 0x9E3779B97F4A7C15u) & (room - 1);
	while (table[i] != 0 && (table[i] & ~BAD) != name)
		i = (i + 1) & (room - 1);
	return &table[i];
}

struct damage *damage_new(void)
{
	struct damage *d = calloc(1, sizeof *d);
	if (d != NULL)
		pthread_mutex_init(&d->lock, NULL);
	return d;
}

void damage_free(struct damage *d)
{
	if (d == NULL)
		return;
	pthread_mutex_destroy(&d->lock);
	free(d->table);
	free(d);
}

bool damage_known(struct damage *d, uint32_t file, uint32_t piece, bool *bad)
{
	uint64_t found = 0;
	pthread_mutex_lock(&d->lock);
	if (d->room > 0)
		found = *slot(d->table, d->room, name_of(file, piece));
	pthread_mutex_unlock(&d->lock);
	*bad = (found & BAD) != 0;
	return found != 0;
}

/* Doubles the table, up to twice DAMAGE_KEPT entries; then it begins anew. */
static void grow(struct damage *d)
{
	if (d->n >= DAMAGE_KEPT) {
		memset(d->table, 0, d->room * sizeof *d->table);
		d->n = 0;
		return;
	}
	size_t room = d->room == 0 ? 1024 : 2 * d->room;
	uint64_t *table = calloc(room, sizeof *table);
	if (table == NULL)
		return;
	for (size_t i = 0; i < d->room; i++)
		if (d->table[i] != 0)
			*slot(table, room, d->table[i] & ~BAD) = d->table[i];
	free(d->table);
	d->table = table;
	d->room = room;
}

void damage_note(struct damage *d, uint32_t file, uint32_t piece, bool bad)
{
	pthread_mutex_lock(&d->lock);
	if (2 * d->n >= d->room)
		grow(d);
	if (2 * d->n < d->room) {
		uint64_t name = name_of(file, piece), *at = slot(d->table, d->room, name);
		d->n += *at == 0;
		*at = bad ? name | BAD : name;
	}
	pthread_mutex_unlock(&d->lock);
}
