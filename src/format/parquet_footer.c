#include "format/parquet_footer.h"

#include <errno.h>
#include <inttypes.h>

#include "base/checked.h"

#define TAIL 8           /* length and magic */
#define GROUP_LEAST 5    /* bytes of a RowGroup that has what is read here */
#define CHUNK_LEAST 11   /* of a ColumnChunk */

int parquet_tail_read(struct source *s, size_t limit, struct parquet_tail *out, struct error *err)
{
	uint8_t tail[TAIL];
	if (s->size < 4 + TAIL)
		return fail(err, EBADMSG, "%s: %" PRIu64 " bytes are too few for a Parquet file", s->name,
			    s->size);
	int r = source_read(s, s->size - TAIL, tail, TAIL, err);
	if (r != 0)
		return r;
	if (memcmp(tail + 4, "PARE", 4) == 0)
		return fail(err, ENOTSUP, "%s: an encrypted Parquet file (PARE) is not supported", s->name);
	if (memcmp(tail + 4, "PAR1", 4) != 0)
		return fail(err, EBADMSG,
			    "%s: the last four bytes are not PAR1, so it is no whole Parquet file",
			    s->name);
	uint32_t n = load_u32(tail);
	if (n > s->size - 4 - TAIL)
		return fail(err, EBADMSG,
			    "%s: the footer is to have %" PRIu32 " bytes, the file has %" PRIu64,
			    s->name, n, s->size);
	if (n > limit)
		return fail(err, ENOTSUP,
			    "%s: a footer of %" PRIu32 " bytes is beyond the bound of %zu (memory)",
			    s->name, n, limit);
	*out = (struct parquet_tail){ .off = s->size - TAIL - n, .n = n };
	return 0;
}

const struct parquet_place *parquet_place(const struct parquet *p, uint32_t group, uint32_t leaf)
{
	const struct parquet_place *places = (const struct parquet_place *)(const void *)p->places.at;
	return places + (size_t)group * p->schema.leaves + leaf;
}

struct metadata {
	int32_t type, codec;
	int64_t n, data, dictionary;
	unsigned seen; /* bit of each required field */
};

#define SEEN_ALL (1u << 1 | 1u << 4 | 1u << 7 | 1u << 9)

static void read_metadata(struct thrift *t, struct metadata *m)
{
	struct thrift_field f = { 0 };
	while (thrift_next(t, &f)) {
		switch (f.id) {
		case 1: m->type = thrift_i32(t, &f); break;
		case 4: m->codec = thrift_i32(t, &f); break;
		case 7: m->n = thrift_i64(t, &f); break;
		case 9: m->data = thrift_i64(t, &f); break;
		case 11: m->dictionary = thrift_i64(t, &f); break;
		default: thrift_skip(t, &f); break;
		}
		if (f.id > 0 && f.id < 32)
			m->seen |= 1u << f.id;
	}
}

/* One column chunk; `end` is where the file's data ends. */
static int read_chunk(struct parquet *p, struct thrift *t, uint32_t leaf, uint64_t end, struct error *err)
{
	struct metadata m = { 0 };
	struct thrift_field f = { 0 };
	bool elsewhere = false, encrypted = false;
	while (thrift_next(t, &f)) {
		if (f.id == 3 && thrift_struct(t, &f)) {
			read_metadata(t, &m);
			continue;
		}
		elsewhere |= f.id == 1;
		encrypted |= f.id == 8 || f.id == 9;
		thrift_skip(t, &f);
	}
	if (t->why != NULL)
		return 0;
	if (encrypted)
		return fail(err, ENOTSUP, "an encrypted column chunk is not supported");
	if ((m.seen & SEEN_ALL) != SEEN_ALL)
		return fail(err, EBADMSG, "a column chunk lacks its type, codec, size or offset");
	if (m.type != parquet_schema_leaf(&p->schema, leaf)->type)
		return fail(err, EBADMSG, "a column chunk is of type %s, the schema says %s",
			    parquet_type_name(m.type),
			    parquet_type_name(parquet_schema_leaf(&p->schema, leaf)->type));
	/* Writers that make no dictionary leave its offset at 0, and some never write it. */
	int64_t off = m.dictionary > 0 && m.dictionary < m.data ? m.dictionary : m.data;
	if (!elsewhere && (off < 0 || m.n < 0 || (uint64_t)off > end || (uint64_t)m.n > end - (uint64_t)off))
		return fail(err, EBADMSG,
			    "a column chunk of %" PRId64 " bytes at %" PRId64 " is beyond the data, "
			    "which ends at %" PRIu64, m.n, off, end);
	struct parquet_place place = {
		.off = (uint64_t)off, .n = (uint64_t)m.n, .codec = m.codec, .elsewhere = elsewhere
	};
	return buffer_add(&p->places, &place, sizeof place, 0, err);
}

static int read_group(struct parquet *p, struct thrift *t, uint64_t end, uint64_t *total, struct error *err)
{
	struct thrift_field f = { 0 };
	bool chunks = false;
	int64_t rows = -1;
	int r = 0;
	while (r == 0 && thrift_next(t, &f)) {
		if (f.id == 3) {
			rows = thrift_i64(t, &f);
		} else if (f.id == 1 && !chunks) {
			uint32_t n = thrift_list(t, &f, THRIFT_STRUCT);
			if (n != p->schema.leaves && t->why == NULL)
				return fail(err, EBADMSG, "%" PRIu32 " column chunks, the schema has %" PRIu32
					    " columns", n, p->schema.leaves);
			for (uint32_t i = 0; r == 0 && t->why == NULL && i < n; i++)
				r = read_chunk(p, t, i, end, err);
			chunks = true;
		} else {
			thrift_skip(t, &f);
		}
	}
	if (r != 0 || t->why != NULL)
		return r;
	if (!chunks || rows < 0 || !add_u64(*total, (uint64_t)rows, total))
		return fail(err, EBADMSG, "a row group lacks its column chunks or its number of rows");
	uint64_t count = (uint64_t)rows;
	return buffer_add(&p->rows, &count, sizeof count, 0, err);
}

static int read_groups(struct parquet *p, struct thrift *t, uint32_t n, uint64_t end, struct error *err)
{
	uint64_t total = 0;
	/* What they would need at least is known, so that no number makes more memory than the footer has bytes. */
	if (t->why == NULL && n * (GROUP_LEAST + (uint64_t)p->schema.leaves * CHUNK_LEAST) > t->in.n)
		return fail(err, EBADMSG, "%" PRIu32 " row groups of %" PRIu32 " columns in %zu bytes", n,
			    p->schema.leaves, t->in.n);
	size_t rows = n * sizeof(uint64_t), places = n * (size_t)p->schema.leaves * sizeof(struct parquet_place);
	int r = buffer_reserve(&p->rows, rows, rows, err);
	if (r == 0)
		r = buffer_reserve(&p->places, places, places, err);
	if (r != 0)
		return r;
	for (p->groups = 0; p->groups < n && t->why == NULL; p->groups++) {
		r = read_group(p, t, end, &total, err);
		if (r != 0) {
			if (err != NULL)
				fail_in(err, "row group %" PRIu32, p->groups);
			return r;
		}
	}
	return 0;
}

static int read_file(struct parquet *p, struct thrift *t, uint64_t end, struct error *err)
{
	struct thrift_field f = { 0 };
	bool schema = false, groups = false, encrypted = false;
	int r = 0;
	while (r == 0 && thrift_next(t, &f)) {
		if (f.id == 2 && !schema) {
			r = parquet_schema_read(&p->schema, t, thrift_list(t, &f, THRIFT_STRUCT), err);
			schema = true;
		} else if (f.id == 4 && schema && !groups) {
			r = read_groups(p, t, thrift_list(t, &f, THRIFT_STRUCT), end, err);
			groups = true;
		} else {
			encrypted |= f.id == 8;
			thrift_skip(t, &f);
		}
	}
	if (r != 0 || t->why != NULL)
		return r;
	if (encrypted)
		return fail(err, ENOTSUP,
			    "an encrypted Parquet file (encryption_algorithm) is not supported");
	if (!schema || !groups)
		return fail(err, EBADMSG, "the footer lacks its schema or its row groups");
	return 0;
}

int parquet_footer_read(struct parquet *p, struct span footer, uint64_t off, struct error *err)
{
	struct thrift t;
	thrift_begin(&t, footer);
	int r = read_file(p, &t, off, err);
	if (r == 0 && t.why != NULL)
		r = fail(err, EBADMSG, "byte %zu of it: %s", thrift_at(&t), t.why);
	if (r != 0 && err != NULL)
		fail_in(err, "%s: footer at %" PRIu64, p->source->name, off);
	return r;
}

int parquet_footer_groups(struct span head, size_t whole, uint32_t *out, struct error *err)
{
	struct thrift t;
	struct thrift_field f = { 0 };
	thrift_begin(&t, head);
	while (thrift_next(&t, &f)) {
		if (f.id != 4) {
			thrift_skip(&t, &f);
			continue;
		}
		uint32_t n = thrift_list(&t, &f, THRIFT_STRUCT);
		if (t.why != NULL)
			break;
		if (n > (whole - thrift_at(&t)) / GROUP_LEAST)
			return fail(err, EBADMSG,
				    "the footer of %zu bytes can not hold %" PRIu32 " row groups", whole, n);
		*out = n;
		return 0;
	}
	if (t.cut && head.n < whole)
		return -EAGAIN;
	return fail(err, EBADMSG, "byte %zu of the footer: %s", thrift_at(&t),
		    t.why != NULL ? t.why : "it ends without a list of row groups");
}
