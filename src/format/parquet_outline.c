#include <errno.h>

#include "format/parquet_footer.h"

/* A struct of Thrift's compact protocol that is being written; the first failure is kept. */
struct writer {
	struct buffer *out;
	struct error *err;
	int r;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
	if (w->r == 0)
		w->r = buffer_add(w->out, bytes, n, 0, w->err);
}

static void put_byte(struct writer *w, unsigned value)
{
	uint8_t byte = (uint8_t)value;
	put(w, &byte, 1);
}

static void put_varint(struct writer *w, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(w, (unsigned)(value & 0x7f) | 0x80);
	put_byte(w, (unsigned)value);
}

/* The header of a field whose id is `step` above the one before it, 1 ... 15. */
static void put_field(struct writer *w, unsigned step, enum thrift_type type)
{
	put_byte(w, step << 4 | type);
}

/* Zigzag; what is written here is never negative. */
static void put_number(struct writer *w, unsigned step, enum thrift_type type, uint64_t value)
{
	put_field(w, step, type);
	put_varint(w, value << 1);
}

static void put_structs(struct writer *w, unsigned step, uint32_t n)
{
	put_field(w, step, THRIFT_LIST);
	if (n < 15) {
		put_byte(w, n << 4 | THRIFT_STRUCT);
	} else {
		put_byte(w, 15 << 4 | THRIFT_STRUCT);
		put_varint(w, n);
	}
}

static void put_name(struct writer *w, unsigned step, struct span name)
{
	put_field(w, step, THRIFT_BINARY);
	put_varint(w, name.n);
	put(w, name.at, name.n);
}

#define END 0 /* of a struct */

static void put_schema(struct writer *w, const struct parquet *p, const int *columns, unsigned n)
{
	put_structs(w, 2, n + 1);
	put_name(w, 4, span_text("schema"));
	put_number(w, 1, THRIFT_I32, n);
	put_byte(w, END);
	for (unsigned i = 0; i < n; i++) {
		const struct parquet_leaf *leaf = parquet_schema_leaf(&p->schema, (uint32_t)columns[i]);
		put_number(w, 1, THRIFT_I32, (uint32_t)leaf->type);
		put_number(w, 2, THRIFT_I32, leaf->max_def);
		put_name(w, 1, parquet_schema_name(&p->schema, leaf->node));
		put_byte(w, END);
	}
}

static void put_group(struct writer *w, const struct parquet *p, uint32_t group, const int *columns,
                      unsigned n)
{
	put_structs(w, 1, n);
	for (unsigned i = 0; i < n; i++) {
		const struct parquet_place *place = parquet_place(p, group, (uint32_t)columns[i]);
		const struct parquet_leaf *leaf = parquet_schema_leaf(&p->schema, (uint32_t)columns[i]);
		put_field(w, 3, THRIFT_STRUCT);
		put_number(w, 1, THRIFT_I32, (uint32_t)leaf->type);
		put_number(w, 3, THRIFT_I32, (uint32_t)place->codec);
		put_number(w, 3, THRIFT_I64, place->n);
		put_number(w, 2, THRIFT_I64, place->off);
		put_byte(w, END);
		put_byte(w, END);
	}
	put_number(w, 2, THRIFT_I64, parquet_rows(p, group));
	put_byte(w, END);
}

/* Whether all that is known of a column can be said in an outline. */
static bool is_plain(const struct parquet *p, int column)
{
	const struct parquet_leaf *leaf = parquet_schema_leaf(&p->schema, (uint32_t)column);
	if (!parquet_schema_is_top(&p->schema, leaf->node) || leaf->max_rep > 0)
		return false;
	for (uint32_t g = 0; g < p->groups; g++) {
		const struct parquet_place *place = parquet_place(p, g, (uint32_t)column);
		if (place->elsewhere || place->codec < 0)
			return false;
	}
	return true;
}

int parquet_outline(const struct parquet *p, const int *columns, unsigned n, struct buffer *out,
                    struct error *err)
{
	struct writer w = { .out = out, .err = err };
	size_t begun = out->n;
	uint8_t tail[8] = { [4] = 'P', 'A', 'R', '1' };
	for (unsigned i = 0; i < n; i++)
		if (!is_plain(p, columns[i]))
			return fail(err, ENOTSUP, "%s: column %d is nested, or in another file",
			            p->source->name, columns[i]);
	put_schema(&w, p, columns, n);
	put_structs(&w, 2, p->groups);
	for (uint32_t g = 0; g < p->groups && w.r == 0; g++)
		put_group(&w, p, g, columns, n);
	put_byte(&w, END);
	if (w.r == 0 && out->n - begun > UINT32_MAX)
		w.r = fail(err, ENOTSUP, "%s: an outline of more than 4 GiB", p->source->name);
	store_u32(tail, (uint32_t)(out->n - begun));
	put(&w, tail, sizeof tail);
	return w.r;
}
