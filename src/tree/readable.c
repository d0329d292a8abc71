#include "tree/readable.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/checked.h"
#include "dataset/blocking.h"
#include "dataset/origin.h"
#include "token/tokenizer.h"
#include "tree/text.h"

struct kept {
	uint64_t key, used; /* used 0: a free place */
	struct buffer text;
};

struct readables {
	struct dataset *d;
	struct dataset_facts facts;
	pthread_mutex_t opening; /* guards these two, which are opened when the first text is made */
	struct origins *origins;
	struct tokenizer *tokenizer;
	pthread_mutex_t lock; /* guards what follows; never held while waiting */
	struct kept kept[READABLE_KEPT];
	uint64_t clock;
};

int readables_new(struct dataset *d, struct readables **out, struct error *err)
{
	struct readables *r = calloc(1, sizeof *r);
	if (r == NULL)
		return fail(err, ENOMEM, "no memory for the texts of batches");
	r->d = d;
	dataset_facts(d, &r->facts);
	pthread_mutex_init(&r->opening, NULL);
	pthread_mutex_init(&r->lock, NULL);
	*out = r;
	return 0;
}

void readables_free(struct readables *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < READABLE_KEPT; i++)
		buffer_free(&r->kept[i].text);
	origins_close(r->origins);
	tokenizer_close(r->tokenizer);
	pthread_mutex_destroy(&r->opening);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* With the lock held. */
static struct kept *find(struct readables *r, uint64_t key)
{
	for (struct kept *k = r->kept; k < r->kept + READABLE_KEPT; k++)
		if (k->used > 0 && k->key == key) {
			k->used = ++r->clock;
			return k;
		}
	return NULL;
}

static void give_up(struct kept *k)
{
	buffer_free(&k->text);
	*k = (struct kept){ 0 };
}

/* With the lock held: a free place with room for n bytes. */
static struct kept *make_room(struct readables *r, size_t n)
{
	for (;;) {
		struct kept *old = NULL, *place = NULL;
		size_t bytes = 0;
		for (struct kept *k = r->kept; k < r->kept + READABLE_KEPT; k++) {
			bytes += k->text.n;
			if (k->used == 0)
				place = k;
			else if (old == NULL || k->used < old->used)
				old = k;
		}
		if (place != NULL && (old == NULL || bytes + n <= READABLE_BYTES))
			return place;
		give_up(old);
	}
}

static void keep(struct readables *r, uint64_t key, struct buffer *text)
{
	pthread_mutex_lock(&r->lock);
	struct kept *same = find(r, key);
	if (same != NULL)
		give_up(same);
	*make_room(r, text->n) = (struct kept){ .key = key, .used = ++r->clock, .text = *text };
	pthread_mutex_unlock(&r->lock);
	*text = (struct buffer){ 0 };
}

static int prepare(struct readables *r, bool json, struct error *err)
{
	const struct options *o = r->facts.options;
	int result = 0;
	pthread_mutex_lock(&r->opening);
	if (r->origins == NULL)
		result = origins_open(r->d, &r->origins, err);
	if (result == 0 && !json && r->tokenizer == NULL)
		result = tokenizer_open(o->tokenizer, o->pattern, &r->tokenizer, err);
	pthread_mutex_unlock(&r->opening);
	return result;
}

static int write_text(struct readables *r, const struct dataset_object *batch, bool json, struct buffer *out,
                      struct error *err)
{
	const struct options *o = r->facts.options;
	const struct text_form form = { o->batch_size, o->seq_len + 1, r->facts.width,
		                        o->bos,        o->eos,         r->tokenizer };
	struct origin *rows = NULL;
	uint8_t *ids = NULL;
	int result = 0;
	if (!json && (ids = malloc((size_t)r->facts.batch_bytes)) == NULL)
		return fail(err, ENOMEM, "no memory for the text of a batch");
	if (!json)
		result = blocking_read(r->d, batch, 0, ids, (size_t)r->facts.batch_bytes, err);
	if (result == 0)
		result = origin_batch(r->origins, batch, json, &rows, err);
	if (result == 0)
		result = json ? text_of_origin(out, rows, o->batch_size, err)
		              : text_of_batch(out, ids, &form, batch->rank, rows, err);
	origin_free(rows, o->batch_size);
	free(ids);
	return result;
}

int readables_make(struct readables *r, uint64_t key, const struct dataset_object *batch, bool json,
                   struct error *err)
{
	struct buffer text = { 0 };
	uint64_t size;
	if (r->facts.batch_bytes > r->facts.options->memory / 64)
		return fail(err, ENOTSUP,
		            "a batch of %" PRIu64 " bytes is too large for a text: memory=%" PRIu64,
		            r->facts.batch_bytes, r->facts.options->memory);
	int result = readables_size_now(r, key, &size);
	if (result == -EAGAIN) {
		result = blocking_cover(r->d, batch, err);
		if (result == 0)
			result = prepare(r, json, err);
		if (result == 0)
			result = write_text(r, batch, json, &text, err);
		if (result == 0)
			keep(r, key, &text);
	}
	buffer_free(&text);
	return result;
}

int readables_size_now(struct readables *r, uint64_t key, uint64_t *size)
{
	pthread_mutex_lock(&r->lock);
	struct kept *k = find(r, key);
	if (k != NULL)
		*size = k->text.n;
	pthread_mutex_unlock(&r->lock);
	return k == NULL ? -EAGAIN : 0;
}

int64_t readables_read_now(struct readables *r, uint64_t key, uint64_t off, void *buf, size_t n)
{
	int64_t got = -EAGAIN;
	pthread_mutex_lock(&r->lock);
	struct kept *k = find(r, key);
	if (k != NULL) {
		got = off >= k->text.n ? 0 : (int64_t)min_u64(n, k->text.n - off);
		if (got > 0)
			memcpy(buf, (const char *)k->text.at + off, (size_t)got);
	}
	pthread_mutex_unlock(&r->lock);
	return got;
}
