#include "dataset/fingerprint.h"

#include "dataset/internal.h"

int fingerprint_step(struct dataset *d, uint32_t *at, struct hash **h, struct error *err)
{
	uint8_t pin[HASH_SIZE], digest[HASH_SIZE];
	uint32_t files = manifest_files(d->manifest);
	for (unsigned i = 0; i < 256 && *at < files; i++, ++*at) {
		int r = manifest_pin(d->manifest, *at, pin, err);
		if (r != 0)
			return r;
		hash_add_text(*h, manifest_file(d->manifest, *at)->name);
		hash_add(*h, pin, sizeof pin);
	}
	if (*at < files)
		return 0;
	hash_end(*h, digest);
	*h = NULL;
	pthread_mutex_lock(&d->lock);
	hash_hex(digest, sizeof digest, d->fingerprint);
	d->fingerprinted = true;
	pthread_mutex_unlock(&d->lock);
	return FINGERPRINT_DONE;
}

struct hash *fingerprint_begin(struct dataset *d)
{
	const struct options *o = &d->options;
	struct hash *h = hash_new();
	hash_add_text(h, "fineweb layout 1");
	hash_add_text(h, d->tokenizer.sha256);
	hash_add_text(h, o->pattern == NULL ? "" : o->pattern);
	hash_add_text(h, o->column == NULL ? "" : o->column);
	const uint64_t numbers[] = {
		(uint64_t)o->bos, (uint64_t)o->eos, d->by_column, o->seq_len,    o->batch_size, o->world_size,
		o->seed,          o->epoch,         o->shuffle,   o->stride,     o->tail,       o->on_error,
		o->block,         o->mix_files,     o->start,     o->max_tokens, o->val_tokens,
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash_add_u64(h, numbers[i]);
	if (d->tokenizer.revision > 0)
		hash_add_u64(h, d->tokenizer.revision);
	return h;
}

void fingerprint_now(struct dataset *d)
{
	struct hash *h = manifest_pinned(d->manifest) ? fingerprint_begin(d) : NULL;
	uint32_t at = 0;
	int r = 0;
	while (h != NULL && r == 0)
		r = fingerprint_step(d, &at, &h, NULL);
	uint8_t none[HASH_SIZE];
	hash_end(h, none);
}
