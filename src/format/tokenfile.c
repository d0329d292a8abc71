#define _DEFAULT_SOURCE
#include "format/tokenfile.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/span.h"
#include "format/npy.h"

#define LLMC_HEADER 1024

static int has_size(const struct source *s, const struct tokenfile *t, struct error *err)
{
	uint64_t want;
	if (mul_u64(t->tokens, t->width, &want) && add_u64(want, t->offset, &want) && want == s->size)
		return 0;
	return fail(err, EBADMSG,
		    "%s: the header promises %" PRIu64 " ids of %u bytes from %" PRIu64
		    ", the file has %" PRIu64 " bytes",
		    s->name, t->tokens, t->width, t->offset, s->size);
}

static int open_npy(struct source *s, struct tokenfile *out, struct error *err)
{
	static const struct {
		const char *descr;
		uint8_t width;
		bool is_signed;
	} known[] = { { "<u2", 2, false }, { "<u4", 4, false }, { "<i4", 4, true }, { "<i8", 8, true } };
	struct npy npy;
	size_t n = (size_t)min_u64(NPY_MOST, s->size);
	uint8_t *head = malloc(n > 0 ? n : 1);
	if (head == NULL)
		return fail(err, ENOMEM, "%s: out of memory", s->name);
	int r = source_read(s, 0, head, n, err);
	if (r == 0) {
		r = npy_parse(span_of(head, n), &npy, err);
		if (r != 0)
			r = fail_in(err, "%s", s->name);
	}
	free(head);
	if (r != 0)
		return r;
	if (npy.dimensions != 1)
		return fail(err, ENOTSUP, "%s: an array of %u dimensions%s; one is supported", s->name,
			    npy.dimensions, npy.fortran ? " in Fortran order" : "");
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcmp(npy.descr, known[i].descr) != 0)
			continue;
		*out = (struct tokenfile){ .offset = npy.offset,
					   .tokens = npy.elements,
					   .width = known[i].width,
					   .is_signed = known[i].is_signed };
		return has_size(s, out, err);
	}
	return fail(err, ENOTSUP, "%s: descr '%s'; '<u2', '<u4', '<i4' and '<i8' are supported", s->name,
		    npy.descr);
}

/* The magic number decides: raw ids that begin so would be a document's start that no tokenizer gives. */
static bool is_llmc(uint32_t magic, uint32_t *version, uint8_t *width)
{
	*version = magic == 20240520 ? 1 : 7;
	*width = magic == 20240520 ? 2 : 4;
	return magic == 20240520 || magic == 20240801;
}

static int open_llmc(struct source *s, uint32_t expected, uint8_t width, struct tokenfile *out,
		     struct error *err)
{
	uint8_t head[12];
	if (s->size < LLMC_HEADER)
		return fail(err, EBADMSG, "%s: %" PRIu64 " bytes, llm.c's header alone has %d", s->name,
			    s->size, LLMC_HEADER);
	int r = source_read(s, 0, head, sizeof head, err);
	if (r != 0)
		return r;
	uint32_t version = load_u32(head + 4), tokens = load_u32(head + 8);
	if (version != expected)
		return fail(err, ENOTSUP,
			    "%s: llm.c's header of version %" PRIu32 "; %" PRIu32 " is supported", s->name,
			    version, expected);
	if (tokens > INT32_MAX)
		return fail(err, EBADMSG, "%s: llm.c's header has a negative number of tokens", s->name);
	*out = (struct tokenfile){ .offset = LLMC_HEADER, .tokens = tokens, .width = width };
	return has_size(s, out, err);
}

static int open_bin(struct source *s, unsigned raw_width, struct tokenfile *out, struct error *err)
{
	uint8_t first[4], width;
	uint32_t version;
	if (s->size >= sizeof first) {
		int r = source_read(s, 0, first, sizeof first, err);
		if (r != 0)
			return r;
		if (is_llmc(load_u32(first), &version, &width))
			return open_llmc(s, version, width, out, err);
	}
	if (s->size % raw_width != 0)
		return fail(err, EBADMSG, "%s: %" PRIu64 " bytes are no whole number of ids of %u bytes",
			    s->name, s->size, raw_width);
	*out = (struct tokenfile){ .tokens = s->size / raw_width, .width = (uint8_t)raw_width };
	return 0;
}

int tokenfile_open(struct source *s, bool npy, unsigned raw_width, struct tokenfile *out, struct error *err)
{
	return npy ? open_npy(s, out, err) : open_bin(s, raw_width, out, err);
}

/* Ids are looked at a block at a time: the largest of a block of constant size is a loop that compilers turn
 * into vector code, and only a block that has a bad id is searched for it. */
#define BLOCK 128

#define LARGEST(name, type, to_host)                             \
	static type name(const uint8_t *in)                      \
	{                                                        \
		type most = 0;                                   \
		for (size_t i = 0; i < BLOCK; i++) {             \
			type v;                                  \
			memcpy(&v, in + i * sizeof v, sizeof v); \
			v = to_host(v);                          \
			most = v > most ? v : most;              \
		}                                                \
		return most;                                     \
	}
LARGEST(largest_2, uint16_t, le16toh)
LARGEST(largest_4, uint32_t, le32toh)
LARGEST(largest_8, uint64_t, le64toh)

#define RESIZE(name, from, to, to_host, to_file)                    \
	static void name(const uint8_t *in, size_t n, uint8_t *out) \
	{                                                           \
		for (size_t i = 0; i < n; i++) {                    \
			from v;                                     \
			memcpy(&v, in + i * sizeof v, sizeof v);    \
			to w = to_file((to)to_host(v));             \
			memcpy(out + i * sizeof w, &w, sizeof w);   \
		}                                                   \
	}
RESIZE(resize_2_4, uint16_t, uint32_t, le16toh, htole32)
RESIZE(resize_4_2, uint32_t, uint16_t, le32toh, htole16)
RESIZE(resize_8_2, uint64_t, uint16_t, le64toh, htole16)
RESIZE(resize_8_4, uint64_t, uint32_t, le64toh, htole32)

static uint64_t id_at(const uint8_t *in, unsigned width)
{
	return width == 2 ? load_u16(in) : width == 4 ? load_u32(in) : load_u64(in);
}

static bool is_block_good(const uint8_t *in, unsigned width, uint64_t limit)
{
	return (width == 2 ? largest_2(in) : width == 4 ? largest_4(in) : largest_8(in)) < limit;
}

/* The place of the first id that is not below limit; n when there is none. */
static size_t find_bad(const uint8_t *in, size_t n, unsigned width, uint64_t limit)
{
	size_t i = 0;
	while (n - i >= BLOCK && is_block_good(in + i * width, width, limit))
		i += BLOCK;
	while (i < n && id_at(in + i * width, width) < limit)
		i++;
	return i;
}

int tokenfile_convert(const struct tokenfile *t, const void *in, size_t n, uint32_t vocab, unsigned to,
		      void *out, size_t *bad, int64_t *id)
{
	const uint8_t *from = in;
	/* A negative number is a large unsigned one: above every limit that leaves the sign bit out. */
	uint64_t limit = vocab;
	if (t->width == 4 && t->is_signed)
		limit = min_u64(limit, (uint64_t)INT32_MAX + 1);
	if (to == 2)
		limit = min_u64(limit, UINT16_MAX + 1);
	size_t place = find_bad(from, n, t->width, limit);
	if (place < n) {
		uint64_t v = id_at(from + place * t->width, t->width);
		*bad = place;
		*id = t->width == 4 && t->is_signed ? (int32_t)(uint32_t)v : (int64_t)v;
		return -EBADMSG;
	}
	if (t->width == to) {
		if (in != out && n > 0)
			memcpy(out, in, n * to);
	} else if (t->width == 2) {
		resize_2_4(from, n, out);
	} else if (t->width == 4) {
		resize_4_2(from, n, out);
	} else if (to == 2) {
		resize_8_2(from, n, out);
	} else {
		resize_8_4(from, n, out);
	}
	return 0;
}
