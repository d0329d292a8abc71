/* thrift: a reader of Thrift's compact protocol over bytes that nobody vouches for.
 *
 * Source: "Thrift Compact protocol encoding" (apache/thrift, doc/specs/thrift-compact-protocol.md). A
 * reader never allocates; binaries are spans into its input. The first thing that is wrong is kept in `why`
 * and ends every loop: from then on each function gives 0, an empty span or false, so that a parser asks
 * once, at its end. One thread.
 *
 *	struct thrift_field f = { 0 };
 *	while (thrift_next(&t, &f))
 *		switch (f.id) {
 *		case 1: x = thrift_i32(&t, &f); break;
 *		default: thrift_skip(&t, &f);
 *		}
 *	if (t.why != NULL)
 *		...
 */
#ifndef FW_FORMAT_THRIFT_H
#define FW_FORMAT_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* Types as a field header writes them. */
enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_BYTE = 3,
	THRIFT_I16 = 4,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_DOUBLE = 7,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_SET = 10,
	THRIFT_MAP = 11,
	THRIFT_STRUCT = 12,
	THRIFT_UUID = 13,
};

/* Containers and structs within one another that thrift_skip follows. */
#define THRIFT_DEPTH 32

struct thrift {
	struct span in;       /* what is not read yet */
	const uint8_t *begin;
	const char *why;      /* NULL, or what is wrong */
	bool cut;             /* it is wrong only in that the input ends too early */
};

/* A field's header; zeroed before the first field of each struct. */
struct thrift_field {
	int16_t id;
	uint8_t type;
};

void thrift_begin(struct thrift *t, struct span in);
/* Bytes read so far: where it went wrong, if it did. */
size_t thrift_at(const struct thrift *t);
/* Notes that the value just read can not be; keeps the first cause. `why` must be a literal. */
void thrift_wrong(struct thrift *t, const char *why);

/* Reads the next field's header; false at the struct's end or when something is wrong. The field's value
 * must then be read, or skipped. The struct inside a field of type STRUCT, and each struct of a list, is
 * read in the same way. */
bool thrift_next(struct thrift *t, struct thrift_field *f);

/* The field's value; wrong when its type is another. */
int32_t thrift_i32(struct thrift *t, const struct thrift_field *f);
int64_t thrift_i64(struct thrift *t, const struct thrift_field *f);
bool thrift_bool(struct thrift *t, const struct thrift_field *f);
struct span thrift_binary(struct thrift *t, const struct thrift_field *f);
/* Checks that the field is a struct, whose fields come next. */
bool thrift_struct(struct thrift *t, const struct thrift_field *f);
/* Number of elements of a list, which come next and must be of type `element`. Never more than
 * there are bytes left, for an element has at least one. */
uint32_t thrift_list(struct thrift *t, const struct thrift_field *f, uint8_t element);

/* Passes over the field's value, whatever it is. */
void thrift_skip(struct thrift *t, const struct thrift_field *f);

#endif
