/* Files of other writers, and what an independent reader found in them. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/parquet.h"
#include "io/file.h"
#include "unit/unit.h"

/* What a column must give, row after row. */
struct expected {
	const json_t *values; /* strings or integers, or null */
	size_t at;
	bool hashed;          /* the strings are SHA-256 of the texts */
	unsigned wrong;
};

static json_t *load(const char *name)
{
	const char *path = unit_data(name);
	return path == NULL ? NULL : json_load_file(path, 0, NULL);
}

static int see_text(void *arg, const struct document *d, struct error *err)
{
	struct expected *e = arg;
	const json_t *value = json_array_get(e->values, e->at);
	bool same;
	(void)err;
	if (d->text.at == NULL) {
		same = json_is_null(value);
	} else if (e->hashed) {
		uint8_t digest[HASH_SIZE];
		char hex[HASH_HEX];
		hash_of(d->text.at, d->text.n, digest);
		hash_hex(digest, HASH_SIZE, hex);
		same = json_is_string(value) && strcmp(json_string_value(value), hex) == 0;
	} else {
		same = json_is_string(value) && span_is(d->text, json_string_value(value));
	}
	e->wrong += !same || d->row != e->at;
	e->at++;
	return 0;
}

static int see_int(void *arg, bool null, int64_t got, struct error *err)
{
	struct expected *e = arg;
	const json_t *value = json_array_get(e->values, e->at++);
	(void)err;
	e->wrong += null ? !json_is_null(value) : !json_is_integer(value) || json_integer_value(value) != got;
	return 0;
}

struct opened {
	struct source *source;
	struct parquet *file;
	uint8_t *bytes;
};

/* A source that shows its bytes where they are gives the same as one that is read, and so does a file that ends with
 * an outline instead of its footer. */
static enum { FROM_FILE, FROM_MEMORY, FROM_OUTLINE } way;
static unsigned outlined;

static int load_into_memory(struct opened *o, struct error *err)
{
	struct source *file = o->source;
	o->source = NULL;
	o->bytes = malloc(file->size + 1);
	int r = o->bytes == NULL ? -ENOMEM : source_read(file, 0, o->bytes, file->size, err);
	if (r == 0 && (o->source = source_memory(o->bytes, file->size, file->name)) == NULL)
		r = -ENOMEM;
	source_close(file);
	return r;
}

/* Writes an outline of all columns that may stand in one over the file's last bytes, and opens it anew. */
static int outline(struct opened *o, struct error *err)
{
	struct buffer b = { 0 };
	int columns[64];
	unsigned n = 0;
	for (uint32_t i = 0; i < parquet_columns(o->file) && n < 64; i++) {
		columns[n] = (int)i;
		n += parquet_outline(o->file, &columns[n], 1, &b, NULL) == 0;
		b.n = 0;
	}
	int r = parquet_outline(o->file, columns, n, &b, err);
	uint64_t footer = load_u32(o->bytes + o->source->size - 8) + 8u;
	CU_ASSERT(r == 0 && b.n < footer);
	if (r == 0 && b.n < footer) {
		memset(o->bytes + o->source->size - footer, 0xEE, footer);
		memcpy(o->bytes + o->source->size - b.n, b.at, b.n);
		outlined += n > 0;
	}
	buffer_free(&b);
	parquet_close(o->file);
	o->file = NULL;
	return parquet_open(o->source, NULL, &o->file, err);
}

static int open_data(const char *name, struct opened *o, struct error *err)
{
	const char *path = unit_data(name);
	*o = (struct opened){ 0 };
	int r = path == NULL ? fail(err, ENOENT, "%s is not there", name) : file_open(path, &o->source, err);
	if (r == 0 && way != FROM_FILE)
		r = load_into_memory(o, err);
	if (r == 0)
		r = parquet_open(o->source, NULL, &o->file, err);
	return r == 0 && way == FROM_OUTLINE ? outline(o, err) : r;
}

static void close_data(struct opened *o)
{
	parquet_close(o->file);
	source_close(o->source);
	free(o->bytes);
}

/* Compares a whole column of a file. */
static bool column_is(struct opened *o, const char *path, bool ints, struct expected *e, struct error *err)
{
	int column = parquet_column(o->file, path), r = column;
	for (uint32_t g = 0; r >= 0 && g < parquet_row_groups(o->file); g++)
		r = ints ? parquet_ints(o->file, g, column, see_int, e, err) :
			   parquet_texts(o->file, g, column, -1, -1, NULL, see_text, e, err);
	bool same = r >= 0 && e->wrong == 0 && e->at == json_array_size(e->values);
	if (!same)
		printf("# column %s: %d, %zu of %zu rows, %u of them differ %s\n", path, r, e->at,
		       json_array_size(e->values), e->wrong, err->text);
	return same;
}

static void test_writers(void)
{
	json_t *all = load("expected/writers.json");
	if (all == NULL) {
		unit_skip("no test data");
		return;
	}
	const char *name;
	json_t *what;
	json_object_foreach(json_object_get(all, "files"), name, what) {
		char path[256];
		struct opened o;
		struct error err = { 0 };
		uint32_t count = UINT32_MAX;
		const json_t *groups = json_object_get(what, "row_groups");
		snprintf(path, sizeof path, "writers/%s", name);
		int r = open_data(path, &o, &err);
		CU_ASSERT_EQUAL(r, 0);
		struct expected e = {
			.values = json_object_get(json_object_get(all, "tables"),
						  json_string_value(json_object_get(what, "table"))),
			.hashed = true
		};
		bool same = r == 0 &&
			    column_is(&o, json_string_value(json_object_get(what, "column")), false, &e,
				      &err) &&
			    parquet_row_groups(o.file) == json_array_size(groups);
		for (uint32_t g = 0; same && g < parquet_row_groups(o.file); g++)
			same = (json_int_t)parquet_rows(o.file, g) ==
			       json_integer_value(json_array_get(groups, g));
		if (!same)
			printf("# %s: %s\n", path, err.text);
		CU_ASSERT_TRUE(same);
		CU_ASSERT_EQUAL(r == 0 ? parquet_count_row_groups(o.source, NULL, &count, &err) : r, 0);
		CU_ASSERT_EQUAL(count, json_array_size(groups));
		close_data(&o);
	}
	json_decref(all);
}

static void test_odd_files(void)
{
	json_t *all = load("parquet/expected.json");
	const char *name, *column;
	json_t *what, *values;
	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	json_object_foreach(all, name, what) {
		char path[256];
		struct opened o;
		struct error err = { 0 };
		snprintf(path, sizeof path, "parquet/%s", name);
		CU_ASSERT_EQUAL(open_data(path, &o, &err), 0);
		json_object_foreach(json_object_get(what, "texts"), column, values) {
			struct expected e = { .values = values };
			CU_ASSERT_TRUE(o.file != NULL && column_is(&o, column, false, &e, &err));
		}
		json_object_foreach(json_object_get(what, "ints"), column, values) {
			struct expected e = { .values = values };
			CU_ASSERT_TRUE(o.file != NULL && column_is(&o, column, true, &e, &err));
		}
		close_data(&o);
	}
	json_decref(all);
}

/* Columns in lists and maps, groups, and parts of names are not found. */
static void test_columns(void)
{
	struct opened o;
	struct error err = { 0 };
	CU_ASSERT_EQUAL_FATAL(open_data("parquet/nested.parquet", &o, &err), 0);
	static const char *const absent[] = { "",     "text", "tags.list.element.text", "pairs.key_value.key",
					      "meta", ".a.b", "meta.doc.text.", "eta.doc.text", "b" };
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		CU_ASSERT_EQUAL(parquet_column(o.file, absent[i]), -ENOENT);
	CU_ASSERT_EQUAL(parquet_column(o.file, "meta.doc.text"), 1);
	CU_ASSERT_EQUAL(parquet_column(o.file, "a.b"), 6);
	struct expected e = { 0 };
	CU_ASSERT_EQUAL(parquet_texts(o.file, 0, 0, -1, -1, NULL, see_text, &e, &err), -ENOTSUP);
	CU_ASSERT_EQUAL(parquet_texts(o.file, 0, -2, -1, -1, NULL, see_text, &e, &err), -ENOENT);
	CU_ASSERT_EQUAL(parquet_texts(o.file, 0, 7, -1, -1, NULL, see_text, &e, &err), -ENOENT);
	CU_ASSERT_EQUAL(parquet_ints(o.file, 0, 1, see_int, &e, &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "BYTE_ARRAY"));
	close_data(&o);
	CU_ASSERT_EQUAL_FATAL(open_data("parquet/ints_plain.parquet", &o, &err), 0);
	CU_ASSERT_EQUAL(parquet_is_text(o.file, parquet_column(o.file, "narrow"), &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "INT32"));
	close_data(&o);
}

/* Running hash of a row group's texts, with ids and URLs held against what FineWeb's look like. */
struct rows {
	struct hash *hash;
	uint64_t row;
	unsigned n, wrong;
};

static int see_row(void *arg, const struct document *d, struct error *err)
{
	struct rows *s = arg;
	(void)err;
	hash_add_u64(s->hash, d->text.n);
	hash_add(s->hash, d->text.at, d->text.n);
	s->wrong += d->row != s->row++ || d->id.n != 47 || memcmp(d->id.at, "<urn:uuid:", 10) != 0 ||
		    d->url.n < 8 || memcmp(d->url.at, "http", 4) != 0;
	s->n++;
	return 0;
}

static int group_hash(const struct parquet *p, uint32_t group, uint8_t digest[HASH_SIZE], struct error *err)
{
	struct rows s = { .hash = hash_new(), .row = 4 * (uint64_t)group };
	int r = parquet_texts(p, group, parquet_column(p, "text"), parquet_column(p, "id"),
			      parquet_column(p, "url"), NULL, see_row, &s, err);
	hash_end(s.hash, digest);
	if (r == 0)
		CU_ASSERT_EQUAL(s.n, 4);
	CU_ASSERT_EQUAL(s.wrong, 0);
	return r;
}

/* A file that opens; whether one row group of it is damaged, its neighbours are not. */
static void check_groups(struct opened *o, const char *name, bool damaged)
{
	struct opened good;
	struct error err = { 0 };
	CU_ASSERT_EQUAL_FATAL(open_data("bad/good.parquet", &good, &err), 0);
	CU_ASSERT_EQUAL_FATAL(parquet_row_groups(o->file), 3);
	for (uint32_t g = 0; g < 3; g++) {
		uint8_t got[HASH_SIZE], right[HASH_SIZE];
		CU_ASSERT_EQUAL(group_hash(good.file, g, right, &err), 0);
		int r = group_hash(o->file, g, got, &err);
		if (damaged && g == 1) {
			CU_ASSERT_EQUAL(r, -EBADMSG);
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, name));
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "row group 1"));
		} else {
			CU_ASSERT_EQUAL(r, 0);
			CU_ASSERT_EQUAL(memcmp(got, right, HASH_SIZE), 0);
		}
	}
	close_data(&good);
}

static void test_bad_files(void)
{
	json_t *all = load("expected/errors.json");
	if (all == NULL) {
		unit_skip("no test data");
		return;
	}
	const char *name;
	json_t *value;
	json_object_foreach(all, name, value) {
		const char *what = json_string_value(value);
		char path[256];
		struct opened o;
		struct error err = { 0 };
		if (strstr(name, ".parquet") == NULL)
			continue;
		snprintf(path, sizeof path, "bad/%s", name);
		int r = open_data(path, &o, &err);
		bool group = strstr(what, "row group 1 only") != NULL;
		if (group || strcmp(what, "none") == 0) {
			CU_ASSERT_EQUAL_FATAL(r, 0);
			check_groups(&o, name, group);
		} else {
			CU_ASSERT_EQUAL(r, strncmp(what, "ENOTSUP", 7) == 0 ? -ENOTSUP : -EBADMSG);
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, name));
		}
		close_data(&o);
	}
	json_decref(all);
}

/* A source that counts what is asked of another. */
struct counting {
	struct source source;
	struct source *under;
	unsigned reads;
	size_t bytes;
};

static int counting_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err)
{
	struct counting *c = (struct counting *)s;
	c->reads++;
	c->bytes += n;
	return source_read(c->under, off, buf, n, err);
}

/* Over a network each read is a request. */
static void test_reads(void)
{
	static const struct source_ops ops = { .read_at = counting_read };
	struct opened o;
	struct error err = { 0 };
	CU_ASSERT_EQUAL_FATAL(open_data("parquet/pages_v1.parquet", &o, &err), 0);
	struct counting c = { .source = { .ops = &ops, .size = o.source->size, .name = "counted" },
			      .under = o.source };
	struct parquet *p = NULL;
	uint32_t groups = 0;
	CU_ASSERT_EQUAL(parquet_count_row_groups(&c.source, NULL, &groups, &err), 0);
	CU_ASSERT_EQUAL(groups, 1);
	CU_ASSERT_EQUAL(c.reads, 2);
	CU_ASSERT_EQUAL_FATAL(parquet_open(&c.source, NULL, &p, &err), 0);
	CU_ASSERT_EQUAL(c.reads, 4);
	struct parquet_range range;
	int column = parquet_column(p, "noise");
	parquet_chunk(p, 0, column, &range);
	json_t *all = load("parquet/expected.json");
	struct expected e = { .values = json_object_get(
				      json_object_get(json_object_get(all, "pages_v1.parquet"), "texts"),
				      "noise") };
	c.bytes = 0;
	CU_ASSERT_EQUAL(parquet_texts(p, 0, column, -1, -1, NULL, see_text, &e, &err), 0);
	CU_ASSERT_EQUAL(e.wrong, 0);
	CU_ASSERT_EQUAL(c.reads, 5);
	CU_ASSERT_EQUAL(c.bytes, range.n);
	json_decref(all);
	parquet_close(p);
	close_data(&o);
}

static int stop(void *arg, const struct document *d, struct error *err)
{
	unsigned *left = arg;
	(void)d;
	return --*left == 0 ? fail(err, EINTR, "stopped") : 0;
}

static void test_stop_and_limits(void)
{
	struct opened o;
	struct error err = { 0 };
	unsigned left = 2;
	CU_ASSERT_EQUAL_FATAL(open_data("bad/good.parquet", &o, &err), 0);
	CU_ASSERT_EQUAL(parquet_texts(o.file, 0, 0, -1, -1, NULL, stop, &left, &err), -EINTR);
	CU_ASSERT_STRING_EQUAL(err.text, "stopped");
	CU_ASSERT_EQUAL(left, 0);
	struct parquet *p = NULL;
	struct parquet_limits limits = { .page = 1000 };
	left = 100;
	CU_ASSERT_EQUAL_FATAL(parquet_open(o.source, &limits, &p, &err), 0);
	CU_ASSERT_EQUAL(parquet_texts(p, 0, 0, -1, -1, NULL, stop, &left, &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "memory"));
	parquet_close(p);
	limits = (struct parquet_limits){ .footer = 100 };
	CU_ASSERT_EQUAL(parquet_open(o.source, &limits, &p, &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "memory"));
	close_data(&o);
}

/* One file, row groups and columns read by many threads at once. */
static void *read_many(void *arg)
{
	struct opened *o = arg;
	uintptr_t wrong = 0;
	for (uint32_t i = 0; i < 30; i++) {
		unsigned left = 1000;
		wrong += parquet_texts(o->file, i % 3, 0, 1, -1, NULL, stop, &left, NULL) != 0 || left != 996;
	}
	return (void *)wrong;
}

static void test_threads(void)
{
	struct opened o;
	struct error err = { 0 };
	pthread_t threads[4];
	CU_ASSERT_EQUAL_FATAL(open_data("bad/good.parquet", &o, &err), 0);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_many, &o), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong = &o;
		pthread_join(threads[i], &wrong);
		CU_ASSERT_PTR_NULL(wrong);
	}
	close_data(&o);
}

static void test_in_memory(void)
{
	way = FROM_MEMORY;
	test_writers();
	test_odd_files();
	test_bad_files();
	way = FROM_FILE;
}

static void test_outline(void)
{
	struct opened o;
	struct error err = { 0 };
	way = FROM_OUTLINE;
	test_writers();
	CU_ASSERT(outlined > 10);
	CU_ASSERT_EQUAL_FATAL(open_data("bad/good.parquet", &o, &err), 0);
	way = FROM_FILE;
	struct opened whole;
	CU_ASSERT_EQUAL_FATAL(open_data("bad/good.parquet", &whole, &err), 0);
	int a = parquet_column(o.file, "text"), b = parquet_column(whole.file, "text");
	CU_ASSERT_EQUAL_FATAL(parquet_row_groups(o.file), parquet_row_groups(whole.file));
	for (uint32_t g = 0; g < parquet_row_groups(o.file); g++) {
		struct parquet_range x, y;
		parquet_chunk(o.file, g, a, &x);
		parquet_chunk(whole.file, g, b, &y);
		CU_ASSERT(x.off == y.off && x.n == y.n);
		CU_ASSERT_EQUAL(parquet_rows(o.file, g), parquet_rows(whole.file, g));
	}
	close_data(&whole);
	close_data(&o);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "files of four writers give their texts", test_writers },
		{ "nested columns, numbers, many pages", test_odd_files },
		{ "columns are found by their path", test_columns },
		{ "damage stays within its row group", test_bad_files },
		{ "the same of bytes in memory", test_in_memory },
		{ "an outline in the place of the footer gives the same", test_outline },
		{ "a chunk is one read", test_reads },
		{ "a caller stops, a bound is kept", test_stop_and_limits },
		{ "many threads read one file", test_threads },
		CU_TEST_INFO_NULL,
	};
	return unit_main("parquet", tests);
}
