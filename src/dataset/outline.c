#include "dataset/outline.h"

#include "base/hash.h"
#include "dataset/internal.h"

/* It depends on the file and on the column that was chosen. */
static bool find_key(struct dataset *d, uint32_t file, uint8_t key[HASH_SIZE])
{
	uint8_t pin[HASH_SIZE];
	if (d->index == NULL || manifest_pin(d->manifest, file, pin, NULL) != 0)
		return false;
	struct hash *h = hash_new();
	if (h == NULL)
		return false;
	hash_add_text(h, "outline 1");
	hash_add_text(h, d->options.column != NULL ? d->options.column : "");
	hash_add(h, pin, sizeof pin);
	hash_end(h, key);
	return true;
}

bool outline_recall(void *dataset, uint32_t file, struct buffer *out)
{
	struct dataset *d = dataset;
	uint8_t key[HASH_SIZE];
	return find_key(d, file, key) && index_get(d->index, key, sizeof key, out) == 0;
}

void outline_remember(void *dataset, uint32_t file, const struct buffer *outline)
{
	struct dataset *d = dataset;
	uint8_t key[HASH_SIZE];
	if (find_key(d, file, key))
		index_put(d->index, key, sizeof key, outline->at, outline->n);
}
