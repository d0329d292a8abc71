#include "store/counts.h"

#include <errno.h>
#include <stdlib.h>

#define VERSION 1
#define VARINT_MOST 5 /* bytes of a number below 2^32 */

static size_t store_varint(uint8_t *to, uint32_t v)
{
	size_t n = 0;
	while (v >= 0x80) {
		to[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	to[n++] = (uint8_t)v;
	return n;
}

int counts_encode(const struct counts *c, struct buffer *out)
{
	uint8_t head[24] = "FWC1";
	if (c->n > COUNTS_NUMBERS)
		return -EINVAL;
	store_u32(head + 4, VERSION);
	store_u64(head + 8, c->documents);
	store_u32(head + 16, c->n);
	store_u32(head + 20, 0);
	int r = buffer_add(out, head, sizeof head, 0, NULL);
	for (uint32_t i = 0; r == 0 && i < c->n; i++) {
		uint8_t bytes[VARINT_MOST];
		/* COUNTS_BAD + 1 is 0. */
		r = buffer_add(out, bytes, store_varint(bytes, c->numbers[i] + 1u), 0, NULL);
	}
	return r;
}

/* Takes the shortest form of a number below 2^32 and no other, so that a record has one spelling. */
static bool take_varint(struct span *in, uint32_t *out)
{
	uint8_t shortest[VARINT_MOST];
	size_t before = in->n;
	uint64_t v;
	if (!span_uleb(in, &v) || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return before - in->n == store_varint(shortest, *out);
}

int counts_decode(struct span in, struct counts *out)
{
	struct span magic;
	uint32_t version, n, flags, v;
	uint64_t documents;
	if (!span_take(&in, 4, &magic) || !span_is(magic, "FWC1") || !span_u32(&in, &version) ||
	    version != VERSION || !span_u64(&in, &documents) || !span_u32(&in, &n) ||
	    !span_u32(&in, &flags) || flags != 0)
		return -EBADMSG;
	/* Each number has a byte or more: what is allocated is bounded by what is there. */
	if (n > COUNTS_NUMBERS || n > in.n)
		return -EBADMSG;
	uint32_t *numbers = malloc(n > 0 ? n * sizeof *numbers : 1);
	if (numbers == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (!take_varint(&in, &v))
			goto bad;
		numbers[i] = v - 1u;
	}
	if (in.n > 0)
		goto bad;
	*out = (struct counts){ .documents = documents, .n = n, .numbers = numbers };
	return 0;
bad:
	free(numbers);
	return -EBADMSG;
}
