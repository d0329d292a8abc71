#include "format/parquet_schema.h"

#include <errno.h>
#include <inttypes.h>

enum repetition { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };

struct node {
	size_t name;     /* first byte in names */
	uint32_t length;
	uint32_t parent;
};

struct element {
	struct span name;
	int32_t type, repetition, children;
	bool has_type, has_repetition;
};

/* A group whose children are being read. */
struct level {
	uint32_t node;
	int32_t left; /* children to come */
	uint8_t def, rep;
};

const char *parquet_type_name(int32_t type)
{
	static const char *const names[] = { "BOOLEAN", "INT32",  "INT64",      "INT96",
					     "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY" };
	if (type < 0 || (size_t)type >= sizeof names / sizeof *names)
		return "an unknown type";
	return names[type];
}

static const struct node *node_at(const struct parquet_schema *s, uint32_t i)
{
	return (const struct node *)(const void *)s->nodes.at + i;
}

const struct parquet_leaf *parquet_schema_leaf(const struct parquet_schema *s, uint32_t i)
{
	return (const struct parquet_leaf *)(const void *)s->columns.at + i;
}

static void read_element(struct thrift *t, struct element *e)
{
	struct thrift_field f = { 0 };
	*e = (struct element){ 0 };
	while (thrift_next(t, &f)) {
		switch (f.id) {
		case 1:
			e->type = thrift_i32(t, &f);
			e->has_type = true;
			break;
		case 3:
			e->repetition = thrift_i32(t, &f);
			e->has_repetition = true;
			break;
		case 4: e->name = thrift_binary(t, &f); break;
		case 5: e->children = thrift_i32(t, &f); break;
		default: thrift_skip(t, &f); break;
		}
	}
	if (e->children < 0)
		thrift_wrong(t, "a schema element has fewer than no children");
	if (e->name.n > UINT32_MAX)
		thrift_wrong(t, "a column's name is longer than 4 GiB");
}

static int add_node(struct parquet_schema *s, const struct element *e, uint32_t parent, struct error *err)
{
	struct node node = { .name = s->names.n, .length = (uint32_t)e->name.n, .parent = parent };
	int r = buffer_add(&s->nodes, &node, sizeof node, 0, err);
	return r != 0 ? r : buffer_add(&s->names, e->name.at, e->name.n, 0, err);
}

static int add_leaf(struct parquet_schema *s, const struct element *e, const struct level *at,
		    struct error *err)
{
	struct parquet_leaf leaf = {
		.node = at->node, .type = e->type, .max_def = at->def, .max_rep = at->rep
	};
	s->leaves++;
	return buffer_add(&s->columns, &leaf, sizeof leaf, 0, err);
}

/* Elements come depth first; a group says how many children follow it. */
int parquet_schema_read(struct parquet_schema *s, struct thrift *t, uint32_t n, struct error *err)
{
	struct level open[PARQUET_SCHEMA_DEPTH];
	unsigned depth = 0;
	if (n > PARQUET_SCHEMA_ELEMENTS)
		return fail(err, ENOTSUP, "a schema of %" PRIu32 " elements, more than %u are not supported",
			    n,
			    PARQUET_SCHEMA_ELEMENTS);
	for (uint32_t i = 0; i < n; i++) {
		struct element e;
		read_element(t, &e);
		while (depth > 0 && open[depth - 1].left == 0)
			depth--;
		if (i > 0 && depth == 0)
			thrift_wrong(t, "the schema has elements outside its tree");
		if (i > 0 && (!e.has_repetition || e.repetition < REQUIRED || e.repetition > REPEATED))
			thrift_wrong(t, "a schema element is not required, optional or repeated");
		if (i == 0 && e.has_type)
			thrift_wrong(t, "the schema's root is no group");
		if (t->why != NULL)
			return 0;

		struct level here = { .node = i, .left = e.children };
		uint32_t parent = 0;
		if (i > 0) {
			struct level *up = &open[depth - 1];
			up->left--;
			parent = up->node;
			here.def = (uint8_t)(up->def + (e.repetition != REQUIRED));
			here.rep = (uint8_t)(up->rep + (e.repetition == REPEATED));
		}
		int r = add_node(s, &e, parent, err);
		if (r == 0 && e.has_type && e.children == 0)
			r = add_leaf(s, &e, &here, err);
		else if (r == 0 && depth == PARQUET_SCHEMA_DEPTH)
			r = fail(err, ENOTSUP,
				 "a schema of more than %u groups within one another is not supported",
				 PARQUET_SCHEMA_DEPTH);
		else if (r == 0)
			open[depth++] = here;
		if (r != 0)
			return r;
	}
	while (depth > 0 && open[depth - 1].left == 0)
		depth--;
	if (depth > 0 || n == 0)
		thrift_wrong(t, "the schema ends before its tree does");
	return 0;
}

void parquet_schema_free(struct parquet_schema *s)
{
	buffer_free(&s->nodes);
	buffer_free(&s->names);
	buffer_free(&s->columns);
	s->leaves = 0;
}

struct span parquet_schema_name(const struct parquet_schema *s, uint32_t node)
{
	const struct node *n = node_at(s, node);
	return n->length == 0 ? span_text("") : span_of(s->names.at + n->name, n->length);
}

bool parquet_schema_is_top(const struct parquet_schema *s, uint32_t node)
{
	return node != 0 && node_at(s, node)->parent == 0;
}

/* From the end, for a node knows its parent only; names may have dots of their own. */
static bool path_is(const struct parquet_schema *s, uint32_t i, const char *path)
{
	size_t n = strlen(path);
	for (;;) {
		struct span name = parquet_schema_name(s, i);
		if (name.n > n || memcmp(path + n - name.n, name.at, name.n) != 0)
			return false;
		n -= name.n;
		i = node_at(s, i)->parent;
		if (i == 0)
			return n == 0;
		if (n == 0 || path[--n] != '.')
			return false;
	}
}

int parquet_schema_find(const struct parquet_schema *s, const char *path)
{
	for (uint32_t i = 0; i < s->leaves; i++) {
		const struct parquet_leaf *leaf = parquet_schema_leaf(s, i);
		if (leaf->max_rep == 0 && path_is(s, leaf->node, path))
			return (int)i;
	}
	return -1;
}

void parquet_schema_path(const struct parquet_schema *s, uint32_t node, char *buf, size_t n)
{
	uint32_t up[PARQUET_SCHEMA_DEPTH];
	unsigned depth = 0;
	size_t used = 0;
	for (; node != 0 && depth < PARQUET_SCHEMA_DEPTH; node = node_at(s, node)->parent)
		up[depth++] = node;
	while (depth > 0) {
		struct span name = parquet_schema_name(s, up[--depth]);
		for (size_t i = 0; i < name.n && used + 1 < n; i++)
			buf[used++] = (char)name.at[i];
		if (depth > 0 && used + 1 < n)
			buf[used++] = '.';
	}
	buf[used] = '\0';
}
