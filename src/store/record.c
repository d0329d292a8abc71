#include "store/record.h"

#include <errno.h>
#include <zlib.h>

static uint32_t sum_of(struct span key, struct span rest)
{
	uLong sum = crc32(0, Z_NULL, 0);
	sum = crc32(sum, key.at, (uInt)key.n);
	return (uint32_t)crc32(sum, rest.at, (uInt)rest.n);
}

int record_store(struct span key, struct span value, struct buffer *out)
{
	uint8_t head[RECORD_HEAD] = { 0 };
	if (value.n > RECORD_VALUE)
		return -EINVAL;
	size_t at = out->n;
	store_u32(head + 4, (uint32_t)value.n);
	int r = buffer_reserve(out, sizeof head + value.n, 0, NULL);
	if (r != 0)
		return r;
	buffer_add(out, head, sizeof head, 0, NULL);
	buffer_add(out, value.at, value.n, 0, NULL);
	store_u32(out->at + at, sum_of(key, span_of(out->at + at + 4, value.n + 4)));
	return 0;
}

int record_parse(struct span key, struct span in, struct span *value)
{
	uint32_t sum, n;
	struct span rest = in;
	if (!span_u32(&rest, &sum))
		return -EBADMSG;
	*value = rest;
	if (!span_u32(value, &n) || n > RECORD_VALUE || n != value->n || sum != sum_of(key, rest))
		return -EBADMSG;
	return 0;
}
