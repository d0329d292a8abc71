/* Bytes written by hand from the compact protocol's specification. */
#include <string.h>

#include "format/thrift.h"
#include "unit/unit.h"

#define BYTES(...) span_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void test_values(void)
{
	struct thrift t;
	struct thrift_field f = { 0 };
	thrift_begin(&t, BYTES(0x15, 0x01,                         /* 1: i32 -1 */
			       0x26, 0xac, 0x04,                   /* 3: i64 278 */
			       0x11,                               /* 4: true */
			       0x12,                               /* 5: false */
			       0x18, 0x03, 'a', 'b', 'c',          /* 6: binary */
			       0x05, 0x80, 0x10, 0x02,             /* 1024, in the long form: i32 1 */
			       0xf5, 0xfe, 0xff, 0xff, 0xff, 0x0f, /* 1039: i32 INT32_MAX */
			       0x00, 0x77));
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 1);
	CU_ASSERT_EQUAL(thrift_i32(&t, &f), -1);
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 3);
	CU_ASSERT_EQUAL(thrift_i64(&t, &f), 278);
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 4);
	CU_ASSERT_TRUE(thrift_bool(&t, &f));
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 5);
	CU_ASSERT_FALSE(thrift_bool(&t, &f));
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 6);
	CU_ASSERT_TRUE(span_is(thrift_binary(&t, &f), "abc"));
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 1024);
	CU_ASSERT_EQUAL(thrift_i32(&t, &f), 1);
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 1039);
	CU_ASSERT_EQUAL(thrift_i32(&t, &f), INT32_MAX);
	CU_ASSERT_FALSE(thrift_next(&t, &f));
	CU_ASSERT_PTR_NULL(t.why);
	CU_ASSERT_EQUAL(t.in.n, 1);
}

static void test_ends_of_range(void)
{
	struct thrift t;
	struct thrift_field f = { 0 };
	thrift_begin(&t, BYTES(0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
			       0x16, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0));
	CU_ASSERT_TRUE(thrift_next(&t, &f));
	CU_ASSERT_EQUAL(thrift_i64(&t, &f), INT64_MIN);
	CU_ASSERT_TRUE(thrift_next(&t, &f));
	CU_ASSERT_EQUAL(thrift_i64(&t, &f), INT64_MAX);
	CU_ASSERT_FALSE(thrift_next(&t, &f));
	CU_ASSERT_PTR_NULL(t.why);
}

/* A list of structs in each form of its header, and a struct in a struct. */
static void test_containers(void)
{
	struct thrift t;
	struct thrift_field f = { 0 }, inner = { 0 };
	thrift_begin(&t, BYTES(0x19, 0x2c, 0x15, 0x02, 0x00, 0x15, 0x04, 0x00, /* 1: two structs */
			       0x19, 0xfc, 0x01, 0x00,                         /* 2: one, the long form */
			       0x19, 0x00,                                     /* 3: none, of no type */
			       0x1c, 0x15, 0x06, 0x00,                         /* 4: a struct */
			       0x00));
	CU_ASSERT_TRUE(thrift_next(&t, &f));
	CU_ASSERT_EQUAL(thrift_list(&t, &f, THRIFT_STRUCT), 2);
	for (int32_t i = 1; i <= 2; i++) {
		inner = (struct thrift_field){ 0 };
		CU_ASSERT_TRUE(thrift_next(&t, &inner) && inner.id == 1);
		CU_ASSERT_EQUAL(thrift_i32(&t, &inner), i);
		CU_ASSERT_FALSE(thrift_next(&t, &inner));
	}
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 2);
	CU_ASSERT_EQUAL(thrift_list(&t, &f, THRIFT_STRUCT), 1);
	inner = (struct thrift_field){ 0 };
	CU_ASSERT_FALSE(thrift_next(&t, &inner));
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 3);
	CU_ASSERT_EQUAL(thrift_list(&t, &f, THRIFT_STRUCT), 0);
	CU_ASSERT_TRUE(thrift_next(&t, &f) && f.id == 4);
	CU_ASSERT_TRUE(thrift_struct(&t, &f));
	inner = (struct thrift_field){ 0 };
	CU_ASSERT_TRUE(thrift_next(&t, &inner));
	CU_ASSERT_EQUAL(thrift_i32(&t, &inner), 3);
	CU_ASSERT_FALSE(thrift_next(&t, &inner));
	CU_ASSERT_FALSE(thrift_next(&t, &f));
	CU_ASSERT_PTR_NULL(t.why);
	CU_ASSERT_EQUAL(t.in.n, 0);
}

/* Every type is passed over, so that a later writer's fields do no harm. */
static void test_skip(void)
{
	struct thrift t;
	struct thrift_field f = { 0 };
	unsigned fields = 0;
	thrift_begin(&t, BYTES(0x11, 0x12, 0x13, 0x07, 0x14, 0x08, 0x15, 0x09, 0x16, 0x0a, /* bools … i64 */
			       0x17, 0, 0, 0, 0, 0, 0, 0, 0,                              /* double */
			       0x18, 0x02, 'x', 'y',                                      /* binary */
			       0x19, 0x31, 0x01, 0x02, 0x01,                              /* list of bools */
			       0x1a, 0x25, 0x02, 0x04,                                    /* set of i32 */
			       0x1b, 0x02, 0x85, 0x01, 'k', 0x02, 0x01, 'l', 0x04,        /* map: binary, i32 */
			       0x1b, 0x00,                                                /* map of nothing */
			       0x1c, 0x19, 0x1c, 0x00, 0x00,                              /* struct, list */
			       0x1d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,      /* uuid */
			       0x00, 0x42));
	for (; thrift_next(&t, &f); fields++)
		thrift_skip(&t, &f);
	CU_ASSERT_PTR_NULL(t.why);
	CU_ASSERT_EQUAL(fields, 14);
	CU_ASSERT_EQUAL(t.in.n, 1);
}

static void check_bad(struct span bytes, bool cut)
{
	struct thrift t;
	struct thrift_field f = { 0 };
	thrift_begin(&t, bytes);
	while (thrift_next(&t, &f))
		thrift_skip(&t, &f);
	CU_ASSERT_PTR_NOT_NULL(t.why);
	CU_ASSERT_EQUAL(t.cut, cut);
	CU_ASSERT_TRUE(thrift_at(&t) <= bytes.n);
	/* Nothing is read any more. */
	size_t at = thrift_at(&t);
	CU_ASSERT_EQUAL(thrift_i64(&t, &(struct thrift_field){ .type = THRIFT_I64 }), 0);
	CU_ASSERT_EQUAL(thrift_list(&t, &(struct thrift_field){ .type = THRIFT_LIST }, THRIFT_STRUCT), 0);
	CU_ASSERT_EQUAL(thrift_binary(&t, &(struct thrift_field){ .type = THRIFT_BINARY }).n, 0);
	CU_ASSERT_FALSE(thrift_bool(&t, &(struct thrift_field){ .type = THRIFT_TRUE }));
	CU_ASSERT_EQUAL(thrift_at(&t), at);
}

static void test_damage(void)
{
	check_bad(span_of("", 0), true);
	check_bad(BYTES(0x15), true);                         /* no value */
	check_bad(BYTES(0x15, 0x80), true);                   /* half a value */
	check_bad(BYTES(0x15, 0x02), true);                   /* no end of the struct */
	check_bad(BYTES(0x18, 0x05, 'a'), true);              /* binary beyond the end */
	check_bad(BYTES(0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), true);
	check_bad(BYTES(0x19, 0xfc, 0xff, 0xff, 0x7f, 0x00), true); /* more elements than bytes */
	check_bad(BYTES(0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0), false);
	check_bad(BYTES(0x1e, 0x00), false);                  /* type 14 */
	check_bad(BYTES(0x10, 0x00), false);                  /* type 0 of a field */
	check_bad(BYTES(0x19, 0x10, 0x00, 0x00), false);      /* type 0 of an element */
	check_bad(BYTES(0x05, 0x80, 0x80, 0x08, 0x02), false); /* field number 65536 */
}

static void test_types(void)
{
	struct thrift t;
	thrift_begin(&t, BYTES(0x02, 0x00));
	thrift_i32(&t, &(struct thrift_field){ .type = THRIFT_I64 });
	CU_ASSERT_PTR_NOT_NULL(t.why);
	thrift_begin(&t, BYTES(0xfe, 0xff, 0xff, 0xff, 0x1f)); /* INT32_MAX + 2^31 */
	CU_ASSERT_EQUAL(thrift_i32(&t, &(struct thrift_field){ .type = THRIFT_I32 }), 0);
	CU_ASSERT_PTR_NOT_NULL(t.why);
	thrift_begin(&t, BYTES(0x15, 0x02));                   /* a list of i32 */
	CU_ASSERT_EQUAL(thrift_list(&t, &(struct thrift_field){ .type = THRIFT_LIST }, THRIFT_STRUCT), 0);
	CU_ASSERT_PTR_NOT_NULL(t.why);
	thrift_begin(&t, BYTES(0x02));
	CU_ASSERT_FALSE(thrift_struct(&t, &(struct thrift_field){ .type = THRIFT_I32 }));
	thrift_wrong(&t, "later");
	CU_ASSERT_STRING_NOT_EQUAL(t.why, "later");
}

static void test_depth(void)
{
	uint8_t deep[2 * THRIFT_DEPTH + 8];
	struct thrift t;
	memset(deep, 0x1c, sizeof deep / 2);
	memset(deep + sizeof deep / 2, 0, sizeof deep / 2);
	thrift_begin(&t, span_of(deep, sizeof deep));
	thrift_skip(&t, &(struct thrift_field){ .type = THRIFT_STRUCT });
	CU_ASSERT_PTR_NOT_NULL(t.why);
	CU_ASSERT_FALSE(t.cut);
	thrift_begin(&t, span_of(deep + 16, sizeof deep - 16));
	thrift_skip(&t, &(struct thrift_field){ .type = THRIFT_STRUCT });
	CU_ASSERT_PTR_NULL(t.why);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "values of fields", test_values },
		{ "the ends of the range", test_ends_of_range },
		{ "lists and structs", test_containers },
		{ "unknown fields are passed over", test_skip },
		{ "damage ends everything", test_damage },
		{ "a field of another type", test_types },
		{ "depth is bounded", test_depth },
		CU_TEST_INFO_NULL,
	};
	return unit_main("thrift", tests);
}
