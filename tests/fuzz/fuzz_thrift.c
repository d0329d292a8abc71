/* The compact protocol's reader: every function over any bytes, and a skip that must end where reading
 * ends. */
#include <stdint.h>
#include <stdlib.h>

#include "format/thrift.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void read_struct(struct thrift *t, unsigned depth)
{
	struct thrift_field f = { 0 };
	while (thrift_next(t, &f)) {
		struct thrift tried = *t;
		switch (f.type) {
		case THRIFT_TRUE:
		case THRIFT_FALSE: thrift_bool(t, &f); break;
		case THRIFT_I32: thrift_i32(t, &f); break;
		case THRIFT_I64: thrift_i64(t, &f); break;
		case THRIFT_BINARY: thrift_binary(t, &f); break;
		case THRIFT_STRUCT:
			if (depth < THRIFT_DEPTH && thrift_struct(t, &f))
				read_struct(t, depth + 1);
			else
				thrift_skip(t, &f);
			break;
		case THRIFT_LIST:
			for (uint32_t i = thrift_list(t, &f, THRIFT_STRUCT); i > 0 && t->why == NULL; i--)
				read_struct(t, depth + 1);
			break;
		default: thrift_skip(t, &f); break;
		}
		thrift_skip(&tried, &f);
		if (t->why == NULL && tried.why == NULL && thrift_at(t) != thrift_at(&tried))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct thrift t;
	/* Each level is skipped too, which is exponential in the depth; n bounds it. */
	thrift_begin(&t, span_of(bytes, n < 64 ? n : 64));
	read_struct(&t, 0);
	thrift_begin(&t, span_of(bytes, n));
	while (t.why == NULL && t.in.n > 0)
		thrift_skip(&t, &(struct thrift_field){ .type = THRIFT_STRUCT });
	if (thrift_at(&t) > n)
		abort();
	return 0;
}
