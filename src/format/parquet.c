#include "format/parquet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "format/parquet_footer.h"
#include "format/parquet_reader.h"

#define FOOTER_MOST ((size_t)256 << 20)
#define PAGE_MOST ((size_t)512 << 20)
/* Of the footer's head: schemas are far shorter, and over a network this is one short request. */
#define HEAD ((size_t)64 << 10)

static struct parquet_limits limits_of(const struct parquet_limits *given)
{
	struct parquet_limits l = { .footer = FOOTER_MOST, .page = PAGE_MOST };
	if (given != NULL && given->footer != 0)
		l.footer = given->footer;
	if (given != NULL && given->page != 0)
		l.page = given->page;
	return l;
}

static int read_footer(struct source *s, const struct parquet_tail *tail, size_t n, uint8_t **out,
		       struct error *err)
{
	uint8_t *bytes = malloc(n > 0 ? n : 1);
	if (bytes == NULL)
		return fail(err, ENOMEM, "%s: out of memory for a footer of %zu bytes", s->name, n);
	int r = source_read(s, tail->off, bytes, n, err);
	if (r == 0)
		*out = bytes;
	else
		free(bytes);
	return r;
}

int parquet_open(struct source *s, const struct parquet_limits *limits, struct parquet **out,
		 struct error *err)
{
	struct parquet_limits l = limits_of(limits);
	struct parquet_tail tail;
	uint8_t *bytes = NULL;
	int r = parquet_tail_read(s, l.footer, &tail, err);
	if (r == 0)
		r = read_footer(s, &tail, tail.n, &bytes, err);
	if (r != 0)
		return r;
	struct parquet *p = malloc(sizeof *p);
	if (p == NULL) {
		free(bytes);
		return fail(err, ENOMEM, "%s: out of memory", s->name);
	}
	*p = (struct parquet){ .source = s, .limits = l };
	r = parquet_footer_read(p, span_of(bytes, tail.n), tail.off, err);
	free(bytes);
	if (r == 0)
		*out = p;
	else
		parquet_close(p);
	return r;
}

void parquet_close(struct parquet *p)
{
	if (p == NULL)
		return;
	parquet_schema_free(&p->schema);
	buffer_free(&p->rows);
	buffer_free(&p->places);
	free(p);
}

uint32_t parquet_row_groups(const struct parquet *p)
{
	return p->groups;
}

uint64_t parquet_rows(const struct parquet *p, uint32_t group)
{
	return ((const uint64_t *)(const void *)p->rows.at)[group];
}

int parquet_count_row_groups(struct source *s, const struct parquet_limits *limits, uint32_t *out,
			     struct error *err)
{
	struct parquet_tail tail;
	int r = parquet_tail_read(s, limits_of(limits).footer, &tail, err);
	if (r != 0)
		return r;
	size_t n = tail.n < HEAD ? tail.n : HEAD;
	for (;;) {
		uint8_t *bytes = NULL;
		r = read_footer(s, &tail, n, &bytes, err);
		if (r != 0)
			return r;
		r = parquet_footer_groups(span_of(bytes, n), tail.n, out, err);
		free(bytes);
		if (r != -EAGAIN)
			break;
		n = tail.n / 8 < n ? tail.n : n * 8;
	}
	if (r != 0 && err != NULL)
		fail_in(err, "%s", s->name);
	return r;
}

int parquet_column(const struct parquet *p, const char *path)
{
	int leaf = parquet_schema_find(&p->schema, path);
	return leaf < 0 ? -ENOENT : leaf;
}

uint32_t parquet_columns(const struct parquet *p)
{
	return p->schema.leaves;
}

void parquet_column_path(const struct parquet *p, uint32_t column, char *buf, size_t n)
{
	parquet_schema_path(&p->schema, parquet_schema_leaf(&p->schema, column)->node, buf, n);
}

const char *parquet_column_type(const struct parquet *p, uint32_t column)
{
	return parquet_type_name(parquet_schema_leaf(&p->schema, column)->type);
}

static int type_is(const struct parquet *p, int column, bool text, struct error *err)
{
	if (column < 0 || (uint32_t)column >= p->schema.leaves)
		return fail(err, ENOENT, "%s: no column %d, there are %" PRIu32, p->source->name, column,
			    p->schema.leaves);
	const struct parquet_leaf *leaf = parquet_schema_leaf(&p->schema, (uint32_t)column);
	bool is_int = leaf->type == PARQUET_INT32 || leaf->type == PARQUET_INT64;
	if (text ? leaf->type == PARQUET_BYTE_ARRAY : is_int)
		return 0;
	struct span name = parquet_schema_name(&p->schema, leaf->node);
	return fail(err, ENOTSUP, "%s: column %.*s is of type %s, %s is expected", p->source->name,
		    (int)min_u64(name.n, 128), (const char *)name.at, parquet_type_name(leaf->type),
		    text ? "BYTE_ARRAY" : "INT64 or INT32");
}

int parquet_is_text(const struct parquet *p, int column, struct error *err)
{
	return type_is(p, column, true, err);
}

void parquet_chunk(const struct parquet *p, uint32_t group, int column, struct parquet_range *out)
{
	const struct parquet_place *place = parquet_place(p, group, (uint32_t)column);
	*out = (struct parquet_range){ 0 };
	if (!place->elsewhere)
		*out = (struct parquet_range){ .off = place->off, .n = place->n };
}

enum { TEXT, ID, URL, COLUMNS };

int parquet_texts(const struct parquet *p, uint32_t group, int text, int id, int url, struct share *share,
		  document_fn *fn, void *arg, struct error *err)
{
	const int columns[COLUMNS] = { [TEXT] = text, [ID] = id, [URL] = url };
	struct parquet_reader readers[COLUMNS] = { 0 };
	struct document d = { 0 };
	struct span *const spans[COLUMNS] = { [TEXT] = &d.text, [ID] = &d.id, [URL] = &d.url };
	uint64_t rows = parquet_rows(p, group);
	int r = 0;
	for (int i = 0; r == 0 && i < COLUMNS; i++) {
		if (columns[i] < 0 && i != TEXT)
			continue;
		r = type_is(p, columns[i], true, err);
		if (r == 0)
			r = parquet_reader_begin(&readers[i], p, group, (uint32_t)columns[i], share, err);
	}
	for (uint32_t g = 0; g < group; g++)
		d.row += parquet_rows(p, g);
	for (uint64_t row = 0; r == 0 && row < rows; row++, d.row++) {
		for (int i = 0; r == 0 && i < COLUMNS; i++)
			if (columns[i] >= 0)
				r = parquet_reader_text(&readers[i], spans[i], err);
		if (r == 0)
			r = fn(arg, &d, err);
	}
	for (int i = 0; i < COLUMNS; i++) {
		if (r == 0 && columns[i] >= 0)
			r = parquet_reader_finish(&readers[i], err);
		parquet_reader_end(&readers[i]);
	}
	return r;
}

int parquet_ints(const struct parquet *p, uint32_t group, int column, parquet_int_fn *fn, void *arg,
		 struct error *err)
{
	struct parquet_reader reader = { 0 };
	uint64_t rows = parquet_rows(p, group);
	int r = type_is(p, column, false, err);
	if (r == 0)
		r = parquet_reader_begin(&reader, p, group, (uint32_t)column, NULL, err);
	for (uint64_t row = 0; r == 0 && row < rows; row++) {
		bool null;
		int64_t value;
		r = parquet_reader_int(&reader, &null, &value, err);
		if (r == 0)
			r = fn(arg, null, value, err);
	}
	if (r == 0)
		r = parquet_reader_finish(&reader, err);
	parquet_reader_end(&reader);
	return r;
}
