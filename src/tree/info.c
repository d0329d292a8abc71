#include "tree/info.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tree/readme.h"

struct info {
	struct dataset *d;
	struct dataset_facts facts;
	struct buffer readme;
	pthread_mutex_t learning;          /* held while the fingerprint is found, taken before `lock` */
	pthread_mutex_t lock;              /* guards what follows; never held while waiting */
	char fingerprint[65];              /* "" until it is known */
	struct dataset_counts counts, val; /* of which `dataset` was made */
	struct buffer dataset;
	struct timespec changed;
};

int info_new(struct dataset *d, const char *place, struct info **out, struct error *err)
{
	struct info *i = calloc(1, sizeof *i);
	if (i == NULL)
		return fail(err, ENOMEM, "no memory for the texts of the mount");
	i->d = d;
	pthread_mutex_init(&i->learning, NULL);
	pthread_mutex_init(&i->lock, NULL);
	dataset_facts(d, &i->facts);
	if (readme_write(&i->readme, &i->facts, place) != 0) {
		info_free(i);
		return fail(err, ENOMEM, "no memory for README.txt");
	}
	*out = i;
	return 0;
}

void info_free(struct info *i)
{
	if (i == NULL)
		return;
	buffer_free(&i->readme);
	buffer_free(&i->dataset);
	pthread_mutex_destroy(&i->learning);
	pthread_mutex_destroy(&i->lock);
	free(i);
}

int info_learn(struct info *i, struct error *err)
{
	char found[65] = "";
	int r = 0;
	pthread_mutex_lock(&i->learning);
	pthread_mutex_lock(&i->lock);
	bool known = i->fingerprint[0] != 0;
	pthread_mutex_unlock(&i->lock);
	if (!known)
		r = dataset_fingerprint(i->d, found, err);
	if (!known && r == 0) {
		pthread_mutex_lock(&i->lock);
		memcpy(i->fingerprint, found, sizeof found);
		pthread_mutex_unlock(&i->lock);
	}
	pthread_mutex_unlock(&i->learning);
	return r;
}

/* A JSON string of any text: bytes that are not UTF-8, as paths may have, become '?'. */
static json_t *text_of(const char *text)
{
	if (text == NULL)
		return json_null();
	json_t *j = json_string(text);
	if (j != NULL)
		return j;
	char *copy = strdup(text);
	for (unsigned char *p = (unsigned char *)copy; p != NULL && *p != 0; p++)
		if (*p >= 0x80)
			*p = '?';
	j = copy == NULL ? NULL : json_string(copy);
	free(copy);
	return j;
}

/* An option as it is typed. A seed of 64 bits may be beyond JSON's integers here, and is then written as
 * text. */
static json_t *option_of(const struct options *o, const struct option_definition *d)
{
	char buf[64], *end;
	const char *text = options_text(o, d->name, buf, sizeof buf);
	if (text == NULL || (d->json == 'n' && strcmp(text, "none") == 0))
		return json_null();
	if (d->json == 'b')
		return json_boolean(strcmp(text, "true") == 0);
	errno = 0;
	long long v = d->json == 'n' ? strtoll(text, &end, 10) : 0;
	if (d->json == 'n' && errno == 0 && *end == 0)
		return json_integer(v);
	return text_of(text);
}

static int set_counts(json_t *j, const struct dataset_facts *f, const struct dataset_counts *c)
{
	int r = json_object_set_new(j, "documents",
	                            f->has_documents ? json_integer((json_int_t)c->documents) : json_null());
	r |= json_object_set_new(j, "tokens", json_integer((json_int_t)c->tokens));
	r |= json_object_set_new(j, "sequences", json_integer((json_int_t)c->sequences));
	r |= json_object_set_new(j, "dropped_tokens", json_integer((json_int_t)c->dropped_tokens));
	r |= json_object_set_new(j, "batches",
	                         c->final ? json_integer((json_int_t)c->batches_known) : json_null());
	r |= json_object_set_new(j, "batches_known", json_integer((json_int_t)c->batches_known));
	return r;
}

static int set_options(json_t *j, const struct dataset_facts *f)
{
	int r = 0;
	json_t *source = json_array();
	for (size_t k = 0; k < f->pins; k++)
		r |= json_array_append_new(source, text_of(f->pinned[k]));
	r |= json_object_set_new(j, "source", source);
	for (size_t k = 0; k < option_count; k++) {
		const struct option_definition *d = &option_definitions[k];
		if (!d->listed_in_json || d->json == 'a')
			continue;
		r |= json_object_set_new(j, d->name, option_of(f->options, d));
		if (strcmp(d->name, "tokenizer") == 0)
			r |= json_object_set_new(j, "tokenizer_sha256", text_of(f->tokenizer_sha256));
	}
	return r;
}

/* With the lock held. */
static int make_dataset(struct info *i)
{
	const struct dataset_facts *f = &i->facts;
	json_t *j = json_object(), *val = json_object();
	char *text = NULL;
	int r = 0;
	if (f->sample)
		r |= json_object_set_new(j, "sample", json_true());
	r |= json_object_set_new(j, "dtype", text_of(f->dtype));
	r |= json_object_set_new(
	        j, "shape",
	        json_pack("[I,I]", (json_int_t)f->options->batch_size, (json_int_t)f->options->seq_len + 1));
	r |= set_options(j, f);
	r |= json_object_set_new(j, "fingerprint", text_of(i->fingerprint));
	r |= set_counts(j, f, &i->counts);
	if (f->options->val_tokens > 0)
		r |= set_counts(val, f, &i->val) | json_object_set(j, "val", val);
	else
		r |= json_object_set_new(j, "val", json_null());
	if (r == 0)
		text = json_dumps(j, JSON_INDENT(2));
	i->dataset.n = 0;
	if (text == NULL || buffer_printf(&i->dataset, "%s\n", text) != 0)
		r = -ENOMEM;
	free(text);
	json_decref(val);
	json_decref(j);
	return r == 0 ? 0 : -ENOMEM;
}

static bool same_counts(const struct dataset_counts *a, const struct dataset_counts *b)
{
	return a->documents == b->documents && a->tokens == b->tokens && a->sequences == b->sequences &&
	       a->dropped_tokens == b->dropped_tokens && a->batches_known == b->batches_known &&
	       a->final == b->final;
}

int info_dataset_size(struct info *i, size_t *size, struct timespec *changed)
{
	struct dataset_counts counts, val;
	int r = 0;
	dataset_counts(i->d, false, &counts);
	dataset_counts(i->d, true, &val);
	pthread_mutex_lock(&i->lock);
	if (i->fingerprint[0] == 0) {
		r = -EAGAIN;
	} else if (i->dataset.n == 0 || !same_counts(&counts, &i->counts) || !same_counts(&val, &i->val)) {
		i->counts = counts;
		i->val = val;
		r = make_dataset(i);
		clock_gettime(CLOCK_REALTIME, &i->changed);
	}
	*size = i->dataset.n;
	*changed = i->changed;
	pthread_mutex_unlock(&i->lock);
	return r;
}

size_t info_readme_size(struct info *i)
{
	return i->readme.n;
}

static int64_t copy(const void *text, size_t size, uint64_t off, void *buf, size_t n)
{
	if (off >= size)
		return 0;
	if (n > size - off)
		n = (size_t)(size - off);
	memcpy(buf, (const char *)text + off, n);
	return (int64_t)n;
}

int64_t info_read_readme(struct info *i, uint64_t off, void *buf, size_t n)
{
	return copy(i->readme.at, i->readme.n, off, buf, n);
}

int64_t info_read_dataset(struct info *i, uint64_t off, void *buf, size_t n)
{
	pthread_mutex_lock(&i->lock);
	int64_t r = i->dataset.n == 0 ? -EAGAIN : copy(i->dataset.at, i->dataset.n, off, buf, n);
	pthread_mutex_unlock(&i->lock);
	return r;
}
