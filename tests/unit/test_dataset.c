/* The batches of whole data sets against expected/batches.json, which an independent program made (pyarrow,
 * tiktoken, order.py). */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "dataset/dataset.h"
#include "dataset/view.h"

static char scratch[] = "/tmp/fineweb-dataset-XXXXXX";
static char data[PATH_MAX]; /* the folder that has sample/, edu/ ... */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void clean(void)
{
	nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct waiter {
	sem_t done;
	int result;
};

static void wake(struct dataset_request *r, int result)
{
	struct waiter *w = r->arg;
	w->result = result;
	sem_post(&w->done);
}

static int wait_for(struct dataset_request *r, struct waiter *w)
{
	(void)r;
	while (sem_wait(&w->done) != 0)
		;
	sem_destroy(&w->done);
	return w->result;
}

static int read_object(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n)
{
	int r = dataset_read_now(d, o, off, buf, n);
	if (r != -EAGAIN)
		return r;
	struct waiter w = { .result = 0 };
	struct dataset_request q = { .done = wake, .arg = &w };
	sem_init(&w.done, 0, 0);
	dataset_read(&q, d, o, off, buf, n);
	return wait_for(&q, &w);
}

static int object_size(struct dataset *d, const struct dataset_object *o, uint64_t *size)
{
	int r = dataset_size_now(d, o, size);
	if (r != -EAGAIN)
		return r;
	struct waiter w = { .result = 0 };
	struct dataset_request q = { .done = wake, .arg = &w };
	sem_init(&w.done, 0, 0);
	dataset_cover(&q, d, o);
	r = wait_for(&q, &w);
	return r != 0 ? r : dataset_size_now(d, o, size);
}

static int options_from(struct options *o, json_t *entry, struct error *err)
{
	char *text = strdup(json_string_value(json_object_get(entry, "options"))), *save = NULL;
	int r = 0;
	options_init(o);
	for (char *one = strtok_r(text, ",", &save); r == 0 && one != NULL;
	     one = strtok_r(NULL, ",", &save)) {
		char *value = strchr(one, '=');
		*value++ = 0;
		r = options_set(o, one, value, err);
	}
	size_t i;
	json_t *source;
	json_array_foreach(json_object_get(entry, "source"), i, source)
	{
		char path[2 * PATH_MAX];
		bool made = strncmp(json_string_value(source), "long/", 5) == 0;
		snprintf(path, sizeof path, "%s/%s", made ? scratch : data, json_string_value(source));
		if (r == 0)
			r = options_set(o, "source", path, err);
	}
	char cache[PATH_MAX];
	snprintf(cache, sizeof cache, "%s/cache", scratch);
	if (r == 0)
		r = options_set(o, "cache", cache, err);
	free(text);
	return r;
}

static bool parse_path(const char *path, struct dataset_object *o)
{
	*o = (struct dataset_object){ .kind = OBJECT_BATCH };
	o->val = strncmp(path, "val/", 4) == 0;
	if (o->val)
		return sscanf(path, "val/rank_%u/batch_%lu.bin", &o->rank, &o->number) == 2;
	return sscanf(path, "epoch_%u/rank_%u/batch_%lu.bin", &o->epoch, &o->rank, &o->number) == 3;
}

static unsigned complain(const char *what, const char *where, const char *got)
{
	printf("# %s %s: %s\n", what, where, got);
	return 1;
}

static unsigned check_counts(struct dataset *d, json_t *counts, bool val, const char *what)
{
	struct dataset_counts c;
	struct dataset_object beyond = { .kind = OBJECT_EPOCH, .val = val };
	struct dataset_facts f;
	uint64_t size;
	unsigned bad = 0;
	dataset_facts(d, &f);
	beyond.epoch = val ? 0 : f.options->epoch;
	object_size(d, &beyond, &size); /* counts to the end */
	dataset_counts(d, val, &c);
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{ "documents", c.documents },         { "tokens", c.tokens },
		{ "sequences", c.sequences },         { "dropped_tokens", c.dropped_tokens },
		{ "batches_known", c.batches_known },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		json_t *want = json_object_get(counts, all[i].name);
		if (json_is_integer(want) && (uint64_t)json_integer_value(want) != all[i].value) {
			char got[64];
			snprintf(got, sizeof got, "%lu, not %lld", all[i].value, json_integer_value(want));
			bad += complain(what, all[i].name, got);
		}
	}
	if (json_is_integer(json_object_get(counts, "batches")) != c.final)
		bad += complain(what, "batches", c.final ? "final" : "not final");
	return bad;
}

static unsigned check_batches(struct dataset *d, json_t *sha256, const char *what)
{
	const char *path;
	json_t *want;
	unsigned bad = 0;
	struct dataset_facts f;
	dataset_facts(d, &f);
	uint8_t *buf = malloc(f.batch_bytes);
	json_object_foreach(sha256, path, want)
	{
		struct dataset_object o;
		uint64_t size = 0;
		uint8_t digest[HASH_SIZE];
		char hex[HASH_HEX];
		if (!parse_path(path, &o)) {
			bad += complain(what, path, "path");
			continue;
		}
		int r = object_size(d, &o, &size);
		if (r == 0)
			r = read_object(d, &o, 0, buf, f.batch_bytes);
		hash_of(buf, f.batch_bytes, digest);
		hash_hex(digest, sizeof digest, hex);
		const char *got = r == 0 ? hex : errno_name(-r);
		if (strcmp(got, json_string_value(want)) != 0)
			bad += complain(what, path, got);
	}
	free(buf);
	return bad;
}

static unsigned check_entry(json_t *entry)
{
	struct options o;
	struct error err = { 0 };
	struct dataset *d = NULL;
	char what[512];
	unsigned bad = 0;
	snprintf(what, sizeof what, "%s %s",
	         json_string_value(json_array_get(json_object_get(entry, "source"), 0)),
	         json_string_value(json_object_get(entry, "options")));
	int r = options_from(&o, entry, &err);
	if (r == 0)
		r = dataset_open(&o, false, NULL, &d, &err);
	if (r != 0) {
		bad += complain(what, "open", err.text);
	} else {
		bad += check_batches(d, json_object_get(entry, "sha256"), what);
		bad += check_counts(d, json_object_get(entry, "counts"), false, what);
		if (json_object_get(entry, "val") != NULL)
			bad += check_counts(d, json_object_get(entry, "val"), true, what);
	}
	dataset_close(d);
	options_free(&o);
	return bad;
}

static bool find_data(void)
{
	const char *found = unit_data("sample/10BT/000_00000.parquet");
	if (found == NULL || realpath(found, data) == NULL) {
		unit_skip("the expected batches are not here");
		return false;
	}
	for (int i = 0; i < 3; i++)
		dirname(data);
	return true;
}

static void make_long(void)
{
	char command[3 * PATH_MAX];
	snprintf(command, sizeof command, "python3 '%s/long.py' '%s/long' >/dev/null", data, scratch);
	CU_ASSERT_EQUAL(system(command), 0);
}

static void test_batches(void)
{
	char path[2 * PATH_MAX];
	if (!find_data())
		return;
	make_long();
	snprintf(path, sizeof path, "%s/expected/batches.json", data);
	json_t *all = json_load_file(path, 0, NULL), *entry;
	CU_ASSERT_TRUE_FATAL(json_is_array(all));
	size_t i;
	/* Twice: what was counted and cached by the first pass must give the same in the second. */
	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(all, i, entry) CU_ASSERT_EQUAL(check_entry(entry), 0);
	json_decref(all);
}

static void sample_options(struct options *o, const char *more, const char *value)
{
	char path[2 * PATH_MAX];
	options_init(o);
	snprintf(path, sizeof path, "%s/sample/10BT", data);
	CU_ASSERT_EQUAL(options_set(o, "source", path, NULL), 0);
	snprintf(path, sizeof path, "%s/cache", scratch);
	CU_ASSERT_EQUAL(options_set(o, "cache", path, NULL), 0);
	if (more != NULL)
		CU_ASSERT_EQUAL(options_set(o, more, value, NULL), 0);
}

static void test_second_open_makes_nothing(void)
{
	struct options o;
	struct dataset *d;
	struct error err;
	struct dataset_stats s;
	if (!find_data())
		return;
	for (int pass = 0; pass < 2; pass++) {
		sample_options(&o, "batch_size", "2");
		CU_ASSERT_EQUAL_FATAL(dataset_open(&o, false, NULL, &d, &err), 0);
		struct dataset_facts f;
		dataset_facts(d, &f);
		uint8_t *buf = malloc(f.batch_bytes);
		for (uint64_t b = 0; b < 100; b++) {
			struct dataset_object batch = { .kind = OBJECT_BATCH, .number = b };
			CU_ASSERT_EQUAL(read_object(d, &batch, 0, buf, f.batch_bytes), 0);
		}
		free(buf);
		dataset_stats(d, &s);
		dataset_close(d);
		options_free(&o);
	}
	CU_ASSERT_EQUAL(s.pieces_tokenized, 0);
	CU_ASSERT_EQUAL(s.pieces_fetched, 0);
	CU_ASSERT_TRUE(s.cache_hits > 0);
}

static void test_epoch_is_all_batches(void)
{
	struct options o;
	struct dataset *d;
	struct error err;
	uint64_t size = 0;
	if (!find_data())
		return;
	sample_options(&o, "batch_size", "3");
	CU_ASSERT_EQUAL_FATAL(dataset_open(&o, false, NULL, &d, &err), 0);
	struct dataset_facts f;
	dataset_facts(d, &f);
	struct dataset_object epoch = { .kind = OBJECT_EPOCH };
	CU_ASSERT_EQUAL(object_size(d, &epoch, &size), 0);
	CU_ASSERT_EQUAL(size, 78 * f.batch_bytes);
	uint8_t *whole = malloc(size), *one = malloc(f.batch_bytes);
	/* Odd offsets and lengths: parts of tokens, of rows and of batches. */
	for (uint64_t off = 0, n = 1; off < size; off += n, n = n * 3 % 70001 + 1) {
		n = n < size - off ? n : size - off;
		CU_ASSERT_EQUAL_FATAL(read_object(d, &epoch, off, whole + off, n), 0);
	}
	for (uint64_t b = 0; b < 78; b++) {
		struct dataset_object batch = { .kind = OBJECT_BATCH, .number = b };
		CU_ASSERT_EQUAL(read_object(d, &batch, 0, one, f.batch_bytes), 0);
		CU_ASSERT_EQUAL(memcmp(one, whole + b * f.batch_bytes, f.batch_bytes), 0);
	}
	free(one);
	free(whole);
	dataset_close(d);
	options_free(&o);
}

/* More epochs than orders are kept: what is known of each stays known, and its bytes are the same. */
static void test_many_epochs(void)
{
	enum { EPOCHS = 3 * VIEWS };
	struct options o;
	struct dataset *d;
	struct error err;
	uint64_t size;
	if (!find_data())
		return;
	sample_options(&o, "batch_size", "4");
	CU_ASSERT_EQUAL_FATAL(dataset_open(&o, false, NULL, &d, &err), 0);
	struct dataset_facts f;
	dataset_facts(d, &f);
	uint8_t *first = malloc(EPOCHS * f.batch_bytes), *again = malloc(f.batch_bytes);
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t e = 0; e < EPOCHS; e++) {
			struct dataset_object batch = { .kind = OBJECT_BATCH, .epoch = e, .number = 3 };
			uint8_t *to = pass == 0 ? first + e * f.batch_bytes : again;
			CU_ASSERT_EQUAL(pass == 0 ? object_size(d, &batch, &size)
			                          : dataset_size_now(d, &batch, &size),
			                0);
			CU_ASSERT_EQUAL(read_object(d, &batch, 0, to, f.batch_bytes), 0);
			CU_ASSERT_EQUAL(memcmp(to, first + e * f.batch_bytes, f.batch_bytes), 0);
			CU_ASSERT_TRUE(e == 0 || memcmp(to, first, f.batch_bytes) != 0);
		}
	free(again);
	free(first);
	dataset_close(d);
	options_free(&o);
}

static void test_refusals(void)
{
	static const struct {
		const char *option, *value, *says;
		int code;
	} all[] = {
		{ "batch_size", "1000", "no batch", EINVAL },
		{ "val_tokens", "1000000", "holds out everything", EINVAL },
		{ "fingerprint", "0123456789", "fingerprint", ESTALE },
		{ "source", "/nowhere/at/all", "/nowhere/at/all", ENOENT },
		{ "column", "body", "no column 'body'", EBADMSG },
		{ "bos", "50257", "bos=50257", EINVAL },
		{ "start", "1000", "start=1000", EINVAL },
	};
	if (!find_data())
		return;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct options o;
		struct dataset *d = NULL;
		struct error err = { 0 };
		sample_options(&o, all[i].option, all[i].value);
		CU_ASSERT_EQUAL(dataset_open(&o, false, NULL, &d, &err), -all[i].code);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, all[i].says));
		if (err.code != all[i].code || strstr(err.text, all[i].says) == NULL)
			printf("# %s=%s: %s: %s\n", all[i].option, all[i].value, errno_name(err.code),
			       err.text);
		options_free(&o);
	}
}

static void test_cancel(void)
{
	struct options o;
	struct dataset *d;
	struct error err;
	if (!find_data())
		return;
	sample_options(&o, NULL, NULL);
	CU_ASSERT_EQUAL_FATAL(dataset_open(&o, false, NULL, &d, &err), 0);
	/* A batch that is not there is answered; a cancelled one is answered once, by whichever came first.
	 */
	struct dataset_object none = { .kind = OBJECT_BATCH, .number = 1u << 30 };
	struct waiter w = { .result = 1 };
	struct dataset_request q = { .done = wake, .arg = &w };
	sem_init(&w.done, 0, 0);
	dataset_cover(&q, d, &none);
	dataset_cancel(&q);
	int r = wait_for(&q, &w);
	CU_ASSERT_TRUE(r == -ENOENT || r == -EINTR);
	dataset_close(d);
	options_free(&o);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "every expected batch and count, twice", test_batches },
		{ "a second open tokenises and fetches nothing", test_second_open_makes_nothing },
		{ "epoch.bin is all batches, read anyhow", test_epoch_is_all_batches },
		{ "more epochs than orders are kept", test_many_epochs },
		{ "what cannot be mounted says why", test_refusals },
		{ "a cancelled request is answered once", test_cancel },
		CU_TEST_INFO_NULL,
	};
	if (mkdtemp(scratch) == NULL)
		return 99;
	log_open(false, LOG_LEVEL_ERROR);
	int r = unit_main("dataset", tests);
	clean();
	return r;
}
