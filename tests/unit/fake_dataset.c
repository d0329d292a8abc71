#include "unit/fake_dataset.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/span.h"
#include "dataset/blocking.h"
#include "dataset/origin.h"

struct fake fake = { .batches = 1000, .known = 1000, .val = 3, .shards = 4 };

struct dataset {
	struct options options;
	bool sample;
	struct dataset_stats stats;
	pthread_mutex_t lock; /* guards fake.known */
	atomic_uint running;
};

static char *pins[] = { (char *)(uintptr_t) "made-up/source@1" };

int dataset_open(const struct options *options, bool sample, const atomic_bool *stop, struct dataset **out,
                 struct error *err)
{
	struct dataset *d = calloc(1, sizeof *d);
	if (d == NULL)
		return fail(err, ENOMEM, "no memory");
	d->options = *options;
	d->options.bos = d->options.bos == ID_AUTO ? 50256 : d->options.bos;
	d->options.list = d->options.list == LIST_AUTO ? LIST_ALL : d->options.list;
	d->sample = sample;
	pthread_mutex_init(&d->lock, NULL);
	if (fake.ignorant)
		for (unsigned i = 0; i < fake.delay_ms && !(stop != NULL && atomic_load(stop)); i++)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	if (stop != NULL && atomic_load(stop)) {
		dataset_close(d);
		return fail(err, EINTR, "interrupted");
	}
	*out = d;
	return 0;
}

void dataset_close(struct dataset *d)
{
	while (atomic_load(&d->running) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

void dataset_facts(struct dataset *d, struct dataset_facts *out)
{
	*out = (struct dataset_facts){
		.options = &d->options,
		.sample = d->sample,
		.width = 2,
		.dtype = "uint16",
		.batch_bytes = (uint64_t)d->options.batch_size * (d->options.seq_len + 1) * 2,
		.tokenizer = "gpt2",
		.tokenizer_sha256 = "00ff",
		.pinned = pins,
		.pins = 1,
		.files = 1,
		.date = 1700000000,
		.has_documents = true,
	};
}

int dataset_fingerprint(struct dataset *d, char out[65], struct error *err)
{
	(void)d;
	(void)err;
	if (fake.ignorant)
		nanosleep(&(struct timespec){ .tv_sec = fake.delay_ms / 1000 }, NULL);
	memset(out, 'a', 64);
	out[64] = 0;
	return 0;
}

void dataset_counts(struct dataset *d, bool val, struct dataset_counts *out)
{
	pthread_mutex_lock(&d->lock);
	*out = (struct dataset_counts){ .documents = 5,
		                        .tokens = 123456,
		                        .sequences = 100,
		                        .dropped_tokens = 56,
		                        .batches_known = val ? fake.val : fake.known,
		                        .final = val || fake.known == fake.batches };
	pthread_mutex_unlock(&d->lock);
}

void dataset_stats(struct dataset *d, struct dataset_stats *out)
{
	*out = d->stats;
}

void dataset_batches_now(struct dataset *d, bool val, uint32_t epoch, uint64_t *known, bool *final,
                         int *stopped)
{
	(void)epoch;
	pthread_mutex_lock(&d->lock);
	*known = val ? fake.val : fake.known;
	*final = val || fake.known == fake.batches;
	*stopped = val ? 0 : fake.stopped;
	pthread_mutex_unlock(&d->lock);
}

int dataset_size_now(struct dataset *d, const struct dataset_object *o, uint64_t *size)
{
	uint64_t known;
	bool final;
	int stopped;
	struct dataset_facts f;
	dataset_facts(d, &f);
	dataset_batches_now(d, o->val, o->epoch, &known, &final, &stopped);
	*size = f.batch_bytes;
	if (o->kind == OBJECT_BATCH && o->number < known)
		return 0;
	if (!final)
		return stopped != 0 ? stopped : -EAGAIN;
	if (o->kind == OBJECT_BATCH || (o->kind == OBJECT_SHARD && o->number >= fake.shards) || known == 0)
		return -ENOENT;
	*size = o->kind == OBJECT_EPOCH ? known * f.batch_bytes : 2000;
	return 0;
}

int dataset_shards_now(struct dataset *d, uint64_t *n)
{
	uint64_t known;
	bool final;
	int stopped;
	dataset_batches_now(d, false, 0, &known, &final, &stopped);
	*n = fake.shards;
	return final ? 0 : stopped != 0 ? stopped : -EAGAIN;
}

int dataset_shard_name(struct dataset *d, uint64_t number, char *buf)
{
	(void)d;
	snprintf(buf, 64, "fineweb_train_%06u.bin", (unsigned)number);
	return number < fake.shards ? 0 : -ENOENT;
}

int dataset_shard_number(struct dataset *d, const char *name, uint64_t *number)
{
	(void)d;
	unsigned n;
	char end;
	if (sscanf(name, "fineweb_train_%6u.bi%c", &n, &end) != 2 || end != 'n')
		return -ENOENT;
	*number = n;
	return 0;
}

uint16_t fake_token(const struct dataset_object *o, uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + o->rank * 1000003u + o->epoch * 7919u +
	             (unsigned)o->kind * 31u + o->val;
	return (uint16_t)(x >> 40);
}

static void fill(struct dataset *d, const struct dataset_object *o, uint64_t off, uint8_t *buf, size_t n)
{
	struct dataset_object stream = *o;
	struct dataset_facts f;
	dataset_facts(d, &f);
	if (o->kind == OBJECT_BATCH) { /* epoch.bin has the same bytes */
		stream.kind = OBJECT_EPOCH;
		off += o->number * f.batch_bytes;
	} else if (o->kind == OBJECT_SHARD) {
		off += o->number * 2000;
	}
	if (off % 2 == 0)
		for (; n >= 2; n -= 2, buf += 2, off += 2)
			store_u16(buf, fake_token(&stream, off / 2));
	for (size_t i = 0; i < n; i++, off++)
		buf[i] = (uint8_t)(fake_token(&stream, off / 2) >> 8 * (off % 2));
}

static int damaged(const struct dataset_object *o)
{
	return o->kind == OBJECT_BATCH && fake.damaged > 0 && o->number % fake.damaged == fake.damaged - 1
	               ? -EBADMSG
	               : 0;
}

int dataset_read_now(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n)
{
	if (o->kind == OBJECT_BATCH && fake.cold > 0 && o->number % fake.cold == fake.cold - 1)
		return -EAGAIN;
	if (damaged(o) == 0)
		fill(d, o, off, buf, n);
	return damaged(o);
}

static void *answer(void *arg)
{
	struct dataset_request *r = arg;
	struct dataset *d = r->dataset;
	for (unsigned ms = 0; ms < fake.delay_ms && !atomic_load(&r->cancelled); ms++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	int result = 0;
	if (atomic_load(&r->cancelled)) {
		result = -EINTR;
	} else if (r->buf != NULL) {
		result = damaged(&r->object);
		if (result == 0)
			fill(d, &r->object, r->off, r->buf, r->n);
	} else {
		pthread_mutex_lock(&d->lock);
		uint64_t want = r->object.kind == OBJECT_BATCH ? r->object.number + 10 : fake.batches;
		if (want > fake.batches)
			want = fake.batches;
		if (fake.stopped == 0 && fake.known < want)
			fake.known = want;
		pthread_mutex_unlock(&d->lock);
		uint64_t size;
		result = dataset_size_now(d, &r->object, &size);
	}
	r->done(r, result);
	atomic_fetch_sub(&d->running, 1);
	return NULL;
}

static void ask(struct dataset_request *r, struct dataset *d, const struct dataset_object *o)
{
	pthread_t thread;
	r->dataset = d;
	r->object = *o;
	atomic_fetch_add(&d->running, 1);
	if (pthread_create(&thread, NULL, answer, r) == 0)
		pthread_detach(thread);
	else
		answer(r);
}

void dataset_read(struct dataset_request *r, struct dataset *d, const struct dataset_object *o, uint64_t off,
                  void *buf, size_t n)
{
	r->off = off;
	r->buf = buf;
	r->n = n;
	ask(r, d, o);
}

void dataset_cover(struct dataset_request *r, struct dataset *d, const struct dataset_object *o)
{
	r->buf = NULL;
	ask(r, d, o);
}

void dataset_cancel(struct dataset_request *r)
{
	atomic_store(&r->cancelled, true);
}

int blocking_cover(struct dataset *d, const struct dataset_object *o, struct error *err)
{
	uint64_t known;
	bool final;
	int stopped;
	dataset_batches_now(d, o->val, o->epoch, &known, &final, &stopped);
	return o->number < (o->val ? known : fake.batches) ? 0 : fail(err, ENOENT, "no such batch");
}

int blocking_read(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n,
                  struct error *err)
{
	if (damaged(o) != 0)
		return fail(err, EBADMSG, "damaged");
	fill(d, o, off, buf, n);
	return 0;
}

int origins_open(struct dataset *d, struct origins **out, struct error *err)
{
	(void)err;
	*out = (struct origins *)d;
	return 0;
}

void origins_close(struct origins *o)
{
	(void)o;
}

int origin_batch(struct origins *o, const struct dataset_object *batch, bool documents, struct origin **out,
                 struct error *err)
{
	const struct options *options = &((struct dataset *)o)->options;
	(void)documents;
	*out = calloc(options->batch_size, sizeof **out);
	if (*out == NULL)
		return fail(err, ENOMEM, "no memory");
	for (uint32_t i = 0; i < options->batch_size; i++)
		(*out)[i] = (struct origin){ .file = "made-up", .piece = i, .sequence = batch->number };
	return 0;
}

void origin_free(struct origin *rows, uint32_t n)
{
	(void)n;
	free(rows);
}
