/* parquet_schema: the leaf columns of a Parquet file and where they stand in its tree.
 *
 * Source: SchemaElement of parquet.thrift 2.10, "Nested Encoding" of the format's README. Belongs to struct
 * parquet.
 */
#ifndef FW_FORMAT_PARQUET_SCHEMA_H
#define FW_FORMAT_PARQUET_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "format/thrift.h"

/* Groups within one another, and elements of a schema, that are taken. */
#define PARQUET_SCHEMA_DEPTH 64
#define PARQUET_SCHEMA_ELEMENTS (1u << 20)

/* Physical types of parquet.thrift. */
enum parquet_type {
	PARQUET_INT32 = 1,
	PARQUET_INT64 = 2,
	PARQUET_BYTE_ARRAY = 6,
};

struct parquet_leaf {
	uint32_t node;    /* its element */
	int32_t type;     /* physical type */
	uint8_t max_def;  /* OPTIONAL and REPEATED elements on the way from the root */
	uint8_t max_rep;  /* REPEATED ones */
};

/* A zeroed struct is an empty schema. */
struct parquet_schema {
	struct buffer nodes;   /* each element's name and parent */
	struct buffer names;
	struct buffer columns; /* struct parquet_leaf, in the order of column chunks */
	uint32_t leaves;
};

/* Reads the n elements of FileMetaData.schema. What is malformed is noted in t, with 0 returned; -ENOTSUP
 * beyond the bounds above, -ENOMEM. */
int parquet_schema_read(struct parquet_schema *s, struct thrift *t, uint32_t n, struct error *err);
void parquet_schema_free(struct parquet_schema *s);

/* i < leaves. */
const struct parquet_leaf *parquet_schema_leaf(const struct parquet_schema *s, uint32_t i);

/* The name of an element, without those above it. */
struct span parquet_schema_name(const struct parquet_schema *s, uint32_t node);

/* Whether an element stands right below the root. */
bool parquet_schema_is_top(const struct parquet_schema *s, uint32_t node);

/* The leaf outside lists and maps whose names from below the root down, joined by dots, are `path`; -1 when
 * there is none. */
int parquet_schema_find(const struct parquet_schema *s, const char *path);

/* The names from below the root down to an element, joined by dots; cut at n - 1 bytes, n >= 1. */
void parquet_schema_path(const struct parquet_schema *s, uint32_t node, char *buf, size_t n);

/* "BYTE_ARRAY", or "an unknown type". */
const char *parquet_type_name(int32_t type);

#endif
