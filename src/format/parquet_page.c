#include "format/parquet_page.h"

#include <errno.h>
#include <inttypes.h>

#include "base/checked.h"
#include "base/share.h"
#include "format/thrift.h"
#include "io/codec.h"

#define HEADER_FIRST 64u          /* bytes of a header that is looked at first; most are shorter */
#define HEADER_MOST (16u << 20)   /* statistics in a header can hold two whole texts */
#define ENCODING_RLE 3

enum page_type { DATA_PAGE = 0, INDEX_PAGE = 1, DICTIONARY_PAGE = 2, DATA_PAGE_V2 = 3 };

struct header {
	int32_t type, size, packed; /* size: decompressed; packed: as it is in the file */
	int32_t values, encoding, level_encoding;
	int32_t def_bytes, rep_bytes;
	uint32_t crc;
	bool has_crc, has_sizes, compressed;
};

const char *parquet_encoding_name(int encoding)
{
	static const char *const names[] = { "PLAIN",
					     "GROUP_VAR_INT",
					     "PLAIN_DICTIONARY",
					     "RLE",
					     "BIT_PACKED",
					     "DELTA_BINARY_PACKED",
					     "DELTA_LENGTH_BYTE_ARRAY",
					     "DELTA_BYTE_ARRAY",
					     "RLE_DICTIONARY",
					     "BYTE_STREAM_SPLIT" };
	if (encoding < 0 || (size_t)encoding >= sizeof names / sizeof *names)
		return "an unknown encoding";
	return names[encoding];
}

void parquet_pages_begin(struct parquet_pages *p, struct source *s, int codec, bool levels, size_t limit,
			 struct share *share, uint64_t off, uint64_t n)
{
	*p = (struct parquet_pages){
		.source = s, .codec = codec, .levels = levels, .limit = limit,
		.off = off, .end = off + n, .at = off,
		.window.share = share, .data.share = share, .dictionary.share = share
	};
	source_view(s, off, (size_t)n, &p->view);
}

void parquet_pages_end(struct parquet_pages *p)
{
	if (p->source != NULL)
		source_unview(p->source, &p->view);
	buffer_free(&p->window);
	buffer_free(&p->data);
	buffer_free(&p->dictionary);
}

/* The bytes of the window from p->off on. */
static struct span ahead(const struct parquet_pages *p)
{
	size_t gone = (size_t)(p->off - p->at);
	struct span all = p->view.held != NULL ? p->view.bytes : span_of(p->window.at, p->window.n);
	if (gone >= all.n)
		return (struct span){ 0 };
	return span_of(all.at + gone, all.n - gone);
}

/* Makes the window hold n bytes from p->off on, n <= end - off. Earlier spans into it are stale. */
static int need(struct parquet_pages *p, size_t n, struct error *err)
{
	struct span kept = ahead(p);
	if (kept.n >= n)
		return 0;
	const struct share *share = p->window.share;
	uint64_t most = share == NULL ? p->limit : max_u64(share->pool->small / 16, 64u << 10);
	uint64_t step = max_u64(n, min_u64(PARQUET_WINDOW, most));
	size_t want = (size_t)min_u64(step, p->end - p->off);
	if (kept.n > 0)
		memmove(p->window.at, kept.at, kept.n);
	p->window.n = kept.n;
	p->at = p->off;
	int r = buffer_reserve(&p->window, want - kept.n, p->window.share == NULL ? want : 0, err);
	if (r == 0)
		r = source_read(p->source, p->off + kept.n, p->window.at + kept.n, want - kept.n, err);
	if (r == 0)
		p->window.n = want;
	return r;
}

/* DataPageHeader, and DictionaryPageHeader, whose first two fields are the same and whose third is a bool. */
static void read_data_header(struct thrift *t, struct header *h)
{
	struct thrift_field f = { 0 };
	while (thrift_next(t, &f)) {
		switch (f.id) {
		case 1: h->values = thrift_i32(t, &f); break;
		case 2: h->encoding = thrift_i32(t, &f); break;
		case 3:
			if (f.type == THRIFT_I32)
				h->level_encoding = thrift_i32(t, &f);
			else
				thrift_skip(t, &f);
			break;
		default: thrift_skip(t, &f); break;
		}
	}
}

static void read_data_header_v2(struct thrift *t, struct header *h)
{
	struct thrift_field f = { 0 };
	while (thrift_next(t, &f)) {
		switch (f.id) {
		case 1: h->values = thrift_i32(t, &f); break;
		case 4: h->encoding = thrift_i32(t, &f); break;
		case 5: h->def_bytes = thrift_i32(t, &f); break;
		case 6: h->rep_bytes = thrift_i32(t, &f); break;
		case 7: h->compressed = thrift_bool(t, &f); break;
		default: thrift_skip(t, &f); break;
		}
	}
}

static void read_header(struct thrift *t, struct header *h)
{
	struct thrift_field f = { 0 };
	unsigned seen = 0; /* bit of each field */
	*h = (struct header){ .type = -1, .values = -1, .encoding = -1, .level_encoding = ENCODING_RLE,
			     .compressed = true };
	while (thrift_next(t, &f)) {
		switch (f.id) {
		case 1: h->type = thrift_i32(t, &f); break;
		case 2: h->size = thrift_i32(t, &f); break;
		case 3: h->packed = thrift_i32(t, &f); break;
		case 4: h->crc = (uint32_t)thrift_i32(t, &f); break;
		case 5:
		case 7:
			if (thrift_struct(t, &f))
				read_data_header(t, h);
			break;
		case 8:
			if (thrift_struct(t, &f))
				read_data_header_v2(t, h);
			break;
		default: thrift_skip(t, &f); break;
		}
		if (f.id > 0 && f.id < 32)
			seen |= 1u << f.id;
	}
	h->has_sizes = (seen & 12) == 12;
	h->has_crc = (seen & 16) != 0;
}

/* Parses the header at p->off and moves p->off behind it. Its length is not written anywhere, so it is tried
 * with more bytes until it does not end too early. */
static int next_header(struct parquet_pages *p, struct header *h, struct error *err)
{
	uint64_t rest = p->end - p->off;
	size_t n = (size_t)min_u64(rest, HEADER_FIRST);
	for (;;) {
		struct thrift t;
		int r = need(p, n, err);
		if (r != 0)
			return r;
		struct span bytes = ahead(p);
		bytes.n = (size_t)min_u64(bytes.n, HEADER_MOST);
		thrift_begin(&t, bytes);
		read_header(&t, h);
		if (t.why == NULL) {
			p->off += thrift_at(&t);
			return 0;
		}
		if (!t.cut || bytes.n >= HEADER_MOST || bytes.n == rest)
			return fail(err, EBADMSG, "page header, byte %zu: %s", thrift_at(&t), t.why);
		n = (size_t)min_u64(rest, min_u64(bytes.n * 2, HEADER_MOST));
	}
}

static int check_header(const struct parquet_pages *p, const struct header *h, struct error *err)
{
	if (!h->has_sizes || h->size < 0 || h->packed < 0 || (uint64_t)h->packed > p->end - p->off)
		return fail(err, EBADMSG,
			    "a page of %" PRId32 " bytes (%" PRId32 " decompressed) in a chunk that has %"
			    PRIu64 " left", h->packed, h->size, p->end - p->off);
	if (h->type == INDEX_PAGE)
		return 0;
	if (h->type != DATA_PAGE && h->type != DICTIONARY_PAGE && h->type != DATA_PAGE_V2)
		return fail(err, EBADMSG, "page type %" PRId32 " is not known", h->type);
	if (h->values < 0 || h->encoding < 0)
		return fail(err, EBADMSG, "a page header that lacks its number of values or their encoding");
	if (p->window.share == NULL && ((size_t)h->packed > p->limit || (size_t)h->size > p->limit))
		return fail(err, ENOTSUP,
			    "a page of %" PRId32 " bytes (%" PRId32 " decompressed) is beyond the bound of "
			    "%zu (memory)", h->packed, h->size, p->limit);
	return 0;
}

/* Decompresses into b, or gives the bytes themselves where that does nothing. */
static int unpack(const struct parquet_pages *p, int codec, struct span packed, size_t size, struct buffer *b,
		  struct span *out, struct error *err)
{
	if (codec == CODEC_NONE && packed.n == size) {
		*out = packed;
		return 0;
	}
	b->n = 0;
	int r = buffer_reserve(b, size, b->share == NULL ? p->limit : 0, err);
	/* Some writers compress nothing to nothing. */
	if (r == 0 && size > 0)
		r = codec_decompress(codec, packed, b->at, size, err);
	if (r == 0) {
		b->n = size;
		*out = span_of(b->at, size);
	}
	return r;
}

static int dictionary_page(struct parquet_pages *p, const struct header *h, struct span bytes,
			   struct parquet_page *out, struct error *err)
{
	if (p->dictionary.at != NULL)
		return fail(err, EBADMSG, "a second dictionary page in a column chunk");
	if (h->encoding != PARQUET_PLAIN && h->encoding != PARQUET_PLAIN_DICTIONARY)
		return fail(err, ENOTSUP, "a dictionary by encoding %" PRId32 " (%s)", h->encoding,
			    parquet_encoding_name(h->encoding));
	/* One more byte, so that a dictionary of nothing is there too. */
	int r = buffer_reserve(&p->dictionary, (size_t)h->size + 1, 0, err);
	if (r != 0)
		return r;
	r = unpack(p, p->codec, bytes, (size_t)h->size, &p->dictionary, &out->body, err);
	if (r != 0)
		return r;
	/* The window moves on, the dictionary stays. */
	if (out->body.at != p->dictionary.at && p->view.held == NULL) {
		if (out->body.n > 0)
			memcpy(p->dictionary.at, out->body.at, out->body.n);
		out->body.at = p->dictionary.at;
	}
	out->kind = PARQUET_DICTIONARY;
	return 0;
}

static int data_page(struct parquet_pages *p, const struct header *h, struct span bytes,
		     struct parquet_page *out, struct error *err)
{
	int r = unpack(p, p->codec, bytes, (size_t)h->size, &p->data, &out->body, err);
	if (r != 0 || !p->levels || h->values == 0)
		return r;
	if (h->level_encoding != ENCODING_RLE)
		return fail(err, ENOTSUP, "definition levels by encoding %" PRId32 " (%s)", h->level_encoding,
			    parquet_encoding_name(h->level_encoding));
	uint32_t n;
	if (!span_u32(&out->body, &n) || !span_take(&out->body, n, &out->levels))
		return fail(err, EBADMSG, "definition levels that are longer than their page");
	return 0;
}

/* Levels stand before the values and are never compressed. */
static int data_page_v2(struct parquet_pages *p, const struct header *h, struct span bytes,
			struct parquet_page *out, struct error *err)
{
	struct span skipped;
	if (h->rep_bytes < 0 || h->def_bytes < 0 || !span_take(&bytes, (size_t)h->rep_bytes, &skipped) ||
	    !span_take(&bytes, (size_t)h->def_bytes, &out->levels) ||
	    (size_t)h->rep_bytes + (size_t)h->def_bytes > (size_t)h->size)
		return fail(err, EBADMSG, "levels that are longer than their page");
	size_t size = (size_t)h->size - (size_t)h->rep_bytes - (size_t)h->def_bytes;
	return unpack(p, h->compressed ? p->codec : CODEC_NONE, bytes, size, &p->data, &out->body, err);
}

int parquet_pages_next(struct parquet_pages *p, struct parquet_page *out, struct error *err)
{
	struct header h;
	int r;
	do {
		*out = (struct parquet_page){ .off = p->off };
		if (p->off == p->end)
			return fail(err, EBADMSG, "the column chunk ends before its rows do");
		r = next_header(p, &h, err);
		if (r == 0)
			r = check_header(p, &h, err);
		if (r == 0 && h.type == INDEX_PAGE)
			p->off += (uint64_t)h.packed;
	} while (r == 0 && h.type == INDEX_PAGE);
	if (r == 0)
		r = need(p, (size_t)h.packed, err);
	if (r != 0)
		return r;
	struct span bytes = ahead(p);
	bytes.n = (size_t)h.packed;
	p->off += bytes.n;
	if (h.has_crc && codec_crc32(bytes) != h.crc)
		return fail(err, EBADMSG, "the page's CRC is %08" PRIx32 ", its header says %08" PRIx32,
			    codec_crc32(bytes), h.crc);
	out->kind = PARQUET_DATA;
	out->values = (uint32_t)h.values;
	out->encoding = h.encoding;
	if (h.type == DICTIONARY_PAGE)
		return dictionary_page(p, &h, bytes, out, err);
	return h.type == DATA_PAGE ? data_page(p, &h, bytes, out, err) : data_page_v2(p, &h, bytes, out, err);
}
