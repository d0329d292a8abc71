#include "format/thrift.h"

void thrift_begin(struct thrift *t, struct span in)
{
	*t = (struct thrift){ .in = in, .begin = in.at };
}

size_t thrift_at(const struct thrift *t)
{
	return (size_t)(t->in.at - t->begin);
}

void thrift_wrong(struct thrift *t, const char *why)
{
	if (t->why == NULL)
		t->why = why;
}

static void ended(struct thrift *t)
{
	if (t->why == NULL) {
		t->why = "the bytes end too early";
		t->cut = true;
	}
}

static uint8_t take_u8(struct thrift *t)
{
	uint8_t v = 0;
	if (t->why == NULL && !span_u8(&t->in, &v))
		ended(t);
	return v;
}

static struct span take_bytes(struct thrift *t, uint64_t n)
{
	struct span bytes = { 0 };
	if (t->why == NULL && (n > t->in.n || !span_take(&t->in, (size_t)n, &bytes)))
		ended(t);
	return bytes;
}

static uint64_t take_varint(struct thrift *t)
{
	uint64_t v = 0;
	/* Most numbers are of one byte, and a footer of 3 MB is nothing but numbers. */
	if (t->why == NULL && t->in.n > 0 && t->in.at[0] < 0x80)
		return take_u8(t);
	if (t->why != NULL || span_uleb(&t->in, &v))
		return v;
	if (t->in.n < 10)
		ended(t);
	else
		thrift_wrong(t, "an integer has more than 64 bits");
	return 0;
}

static int64_t take_zigzag(struct thrift *t)
{
	uint64_t v = take_varint(t);
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

bool thrift_next(struct thrift *t, struct thrift_field *f)
{
	uint8_t b = take_u8(t);
	if (t->why != NULL || b == 0)
		return false;
	f->type = b & 0x0f;
	int64_t id = b >> 4 != 0 ? f->id + (b >> 4) : take_zigzag(t);
	if (id < INT16_MIN || id > INT16_MAX)
		thrift_wrong(t, "a field's number has more than 16 bits");
	if (f->type == 0 || f->type > THRIFT_UUID)
		thrift_wrong(t, "a field is of no known type");
	if (t->why != NULL)
		return false;
	f->id = (int16_t)id;
	return true;
}

static bool expect(struct thrift *t, const struct thrift_field *f, uint8_t type)
{
	if (f->type != type)
		thrift_wrong(t, "a field is of another type than its number says");
	return t->why == NULL;
}

int32_t thrift_i32(struct thrift *t, const struct thrift_field *f)
{
	if (!expect(t, f, THRIFT_I32))
		return 0;
	int64_t v = take_zigzag(t);
	if (v >= INT32_MIN && v <= INT32_MAX)
		return (int32_t)v;
	thrift_wrong(t, "an integer has more than 32 bits");
	return 0;
}

int64_t thrift_i64(struct thrift *t, const struct thrift_field *f)
{
	return expect(t, f, THRIFT_I64) ? take_zigzag(t) : 0;
}

bool thrift_bool(struct thrift *t, const struct thrift_field *f)
{
	/* A field's header holds the value itself. */
	if (f->type == THRIFT_TRUE)
		return t->why == NULL;
	expect(t, f, THRIFT_FALSE);
	return false;
}

struct span thrift_binary(struct thrift *t, const struct thrift_field *f)
{
	if (!expect(t, f, THRIFT_BINARY))
		return (struct span){ 0 };
	return take_bytes(t, take_varint(t));
}

bool thrift_struct(struct thrift *t, const struct thrift_field *f)
{
	return expect(t, f, THRIFT_STRUCT);
}

static uint64_t take_list_header(struct thrift *t, uint8_t *element)
{
	uint8_t b = take_u8(t);
	uint64_t n = b >> 4 == 0x0f ? take_varint(t) : b >> 4;
	*element = b & 0x0f;
	if (n > t->in.n)
		ended(t);
	return t->why == NULL ? n : 0;
}

uint32_t thrift_list(struct thrift *t, const struct thrift_field *f, uint8_t element)
{
	uint8_t type;
	if (!expect(t, f, THRIFT_LIST))
		return 0;
	uint64_t n = take_list_header(t, &type);
	if (n > INT32_MAX)
		thrift_wrong(t, "a list has 2^31 elements or more");
	if (n > 0 && type != element)
		thrift_wrong(t, "a list is of another type than its field says");
	return t->why == NULL ? (uint32_t)n : 0;
}

static void skip_value(struct thrift *t, uint8_t type, unsigned depth);

/* In a container a bool has a byte of its own. */
static void skip_element(struct thrift *t, uint8_t type, unsigned depth)
{
	if (type == THRIFT_TRUE || type == THRIFT_FALSE)
		take_u8(t);
	else
		skip_value(t, type, depth);
}

static void skip_list(struct thrift *t, unsigned depth)
{
	uint8_t type;
	uint64_t n = take_list_header(t, &type);
	for (; n > 0 && t->why == NULL; n--)
		skip_element(t, type, depth);
}

static void skip_map(struct thrift *t, unsigned depth)
{
	uint64_t n = take_varint(t);
	uint8_t types = n > 0 ? take_u8(t) : 0;
	for (; n > 0 && t->why == NULL; n--) {
		skip_element(t, types >> 4, depth);
		skip_element(t, types & 0x0f, depth);
	}
}

static void skip_value(struct thrift *t, uint8_t type, unsigned depth)
{
	struct thrift_field f = { 0 };
	if (depth == THRIFT_DEPTH) {
		thrift_wrong(t, "more values within one another than any writer makes");
		return;
	}
	switch (type) {
	case THRIFT_TRUE:
	case THRIFT_FALSE: break;
	case THRIFT_BYTE: take_u8(t); break;
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64: take_varint(t); break;
	case THRIFT_DOUBLE: take_bytes(t, 8); break;
	case THRIFT_BINARY: take_bytes(t, take_varint(t)); break;
	case THRIFT_LIST:
	case THRIFT_SET: skip_list(t, depth + 1); break;
	case THRIFT_MAP: skip_map(t, depth + 1); break;
	case THRIFT_STRUCT:
		while (thrift_next(t, &f))
			skip_value(t, f.type, depth + 1);
		break;
	case THRIFT_UUID: take_bytes(t, 16); break;
	default: thrift_wrong(t, "a value is of no known type"); break;
	}
}

void thrift_skip(struct thrift *t, const struct thrift_field *f)
{
	if (t->why == NULL)
		skip_value(t, f->type, 0);
}
