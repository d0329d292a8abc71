#include "store/header.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"

#define VERSION 1

void header_store(const struct header *h, uint8_t out[HEADER_SIZE])
{
	memcpy(out, h->magic, 8);
	store_u32(out + 8, VERSION);
	store_u32(out + 12, h->width);
	store_u64(out + 16, h->tokens);
	store_u64(out + 24, h->documents);
	memcpy(out + 32, h->key, HEADER_KEY);
	memcpy(out + HEADER_SUMMED, h->sum, HEADER_KEY);
}

static bool width_is_of(const char *magic, uint32_t width)
{
	return strcmp(magic, HEADER_COUNT) == 0 ? width == 1 : width == 2 || width == 4;
}

int header_parse(struct span in, const char *magic, const uint8_t *key, uint64_t file_size,
		 struct header *out, struct error *err)
{
	struct span magic_here, key_here, sum;
	uint32_t version, width;
	uint64_t tokens, documents, want;
	if (!span_take(&in, 8, &magic_here) || !span_u32(&in, &version) || !span_u32(&in, &width) ||
	    !span_u64(&in, &tokens) || !span_u64(&in, &documents) || !span_take(&in, HEADER_KEY, &key_here) ||
	    !span_take(&in, HEADER_KEY, &sum))
		return fail(err, EBADMSG, "%" PRIu64 " bytes, the header alone has %d", file_size,
			    HEADER_SIZE);
	if (!span_is(magic_here, magic))
		return fail(err, EBADMSG, "does not begin with %s", magic);
	if (version != VERSION)
		return fail(err, EBADMSG, "version %" PRIu32 ", expected %d", version, VERSION);
	if (!width_is_of(magic, width))
		return fail(err, EBADMSG, "ids of %" PRIu32 " bytes", width);
	if (!mul_u64(tokens, width, &want) || !add_u64(want, HEADER_SIZE, &want) || want != file_size)
		return fail(err, EBADMSG,
			    "%" PRIu64 " ids of %" PRIu32 " bytes do not make the file's %" PRIu64 " bytes",
			    tokens, width, file_size);
	if (memcmp(key_here.at, key, HEADER_KEY) != 0)
		return fail(err, EBADMSG, "the key in the header is not that of the name");
	*out = (struct header){ .magic = magic, .width = width, .tokens = tokens, .documents = documents };
	memcpy(out->key, key_here.at, HEADER_KEY);
	memcpy(out->sum, sum.at, HEADER_KEY);
	return 0;
}
