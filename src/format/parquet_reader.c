#include "format/parquet_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

static int explain(const struct parquet_reader *r, int code, struct error *err)
{
	if (code == 0 || err == NULL)
		return code;
	const struct parquet_schema *s = &r->file->schema;
	struct span name = parquet_schema_name(s, r->leaf->node);
	fail_in(err, "%s: row group %" PRIu32 ", column %.*s, page at %" PRIu64, r->file->source->name,
		r->group,
		(int)(name.n < 128 ? name.n : 128), (const char *)name.at, r->page);
	return code;
}

int parquet_reader_begin(struct parquet_reader *r, const struct parquet *p, uint32_t group, uint32_t leaf,
			 struct share *share, struct error *err)
{
	const struct parquet_place *place = parquet_place(p, group, leaf);
	*r = (struct parquet_reader){ .file = p, .group = group, .leaf = parquet_schema_leaf(&p->schema,
											     leaf) };
	r->page = place->off;
	if (place->elsewhere)
		return explain(r, fail(err, ENOTSUP, "a column chunk in another file is not supported"), err);
	if (r->leaf->max_rep > 0)
		return explain(r, fail(err, ENOTSUP, "a column inside a list is not supported"), err);
	parquet_pages_begin(&r->pages, p->source, place->codec, r->leaf->max_def > 0, p->limits.page,
			    share, place->off, place->n);
	r->text.share = r->starts.share = share;
	return 0;
}

void parquet_reader_end(struct parquet_reader *r)
{
	parquet_pages_end(&r->pages);
	buffer_free(&r->text);
	buffer_free(&r->starts);
}

static bool is_text(const struct parquet_reader *r)
{
	return r->leaf->type == PARQUET_BYTE_ARRAY;
}

static unsigned int_size(const struct parquet_reader *r)
{
	return r->leaf->type == PARQUET_INT32 ? 4 : 8;
}

static bool plain_text(struct span *in, struct span *out)
{
	uint32_t n;
	return span_u32(in, &n) && span_take(in, n, out);
}

static int64_t plain_int(const struct parquet_reader *r, const uint8_t *at)
{
	return r->leaf->type == PARQUET_INT32 ? (int64_t)(int32_t)load_u32(at) : (int64_t)load_u64(at);
}

/* A text's place is kept as four bytes: where it starts behind its length. Its end is four before the next
 * one's start. */
static int index_texts(struct parquet_reader *r, uint32_t n, struct error *err)
{
	struct span in = r->dictionary, text;
	if (n > in.n / 4)
		return fail(err, EBADMSG, "a dictionary of %" PRIu32 " texts in %zu bytes", n, in.n);
	int code = buffer_reserve(&r->starts, ((size_t)n + 1) * sizeof(uint32_t), 0, err);
	if (code != 0)
		return code;
	uint32_t *starts = (uint32_t *)(void *)r->starts.at;
	for (uint32_t i = 0; i < n; i++) {
		starts[i] = (uint32_t)(r->dictionary.n - in.n + 4);
		if (!plain_text(&in, &text))
			return fail(err, EBADMSG,
				    "text %" PRIu32 " of the dictionary is longer than its page", i);
	}
	starts[n] = (uint32_t)(r->dictionary.n - in.n + 4);
	if (in.n != 0)
		return fail(err, EBADMSG, "%zu bytes are left behind the %" PRIu32 " texts of the dictionary",
			    in.n, n);
	return 0;
}

static int read_dictionary(struct parquet_reader *r, const struct parquet_page *page, struct error *err)
{
	r->dictionary = page->body;
	r->entries = page->values;
	if (is_text(r))
		return index_texts(r, page->values, err);
	if (page->values > page->body.n / int_size(r))
		return fail(err, EBADMSG, "a dictionary of %" PRIu32 " numbers in %zu bytes", page->values,
			    page->body.n);
	return 0;
}

static int begin_indices(struct parquet_reader *r, struct error *err)
{
	uint8_t width = 0;
	/* A page of nothing but nulls may have no byte for it, and no dictionary. */
	if (r->body.n > 0 && (!span_u8(&r->body, &width) || width > 32))
		return fail(err, EBADMSG, "dictionary indices of %u bits", width);
	parquet_rle_begin(&r->indices, r->body, width);
	r->body.n = 0;
	return 0;
}

static int begin_deltas(struct parquet_reader *r, struct error *err)
{
	bool narrow = is_text(r) || int_size(r) == 4;
	r->deltas = r->prefixes = (struct parquet_delta){ 0 };
	if (r->body.n == 0)
		return 0;
	bool good = true;
	if (r->encoding == PARQUET_DELTA_BYTE_ARRAY)
		good = parquet_delta_begin(&r->prefixes, &r->body, narrow);
	if (!good || !parquet_delta_begin(&r->deltas, &r->body, narrow))
		return fail(err, EBADMSG, "%s is malformed", parquet_encoding_name(r->encoding));
	r->text.n = 0;
	return 0;
}

static int begin_body(struct parquet_reader *r, struct error *err)
{
	switch (r->encoding) {
	case PARQUET_PLAIN: return 0;
	case PARQUET_PLAIN_DICTIONARY:
	case PARQUET_RLE_DICTIONARY: return begin_indices(r, err);
	case PARQUET_DELTA_BINARY_PACKED:
		if (!is_text(r))
			return begin_deltas(r, err);
		break;
	case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
	case PARQUET_DELTA_BYTE_ARRAY:
		if (is_text(r))
			return begin_deltas(r, err);
		break;
	default: break;
	}
	return fail(err, ENOTSUP, "encoding %d (%s) of %s is not supported", r->encoding,
		    parquet_encoding_name(r->encoding), parquet_type_name(r->leaf->type));
}

/* fastparquet puts eight zeros behind the values of a page. */
static bool is_padding(struct span bytes)
{
	return bytes.n == 0 || (bytes.n <= 8 && memcmp(bytes.at, "\0\0\0\0\0\0\0", bytes.n) == 0);
}

int parquet_reader_finish(struct parquet_reader *r, struct error *err)
{
	if (r->left != 0)
		return explain(r, fail(err, EBADMSG, "%" PRIu32 " values more than the row group has rows",
				       r->left), err);
	if (!is_padding(r->body))
		return explain(r, fail(err, EBADMSG, "%zu bytes are left behind the last value", r->body.n),
			       err);
	return 0;
}

/* Goes on to the next page that has values. */
static int next_page(struct parquet_reader *r, struct error *err)
{
	while (r->left == 0) {
		struct parquet_page page;
		int code = parquet_reader_finish(r, err);
		if (code != 0)
			return code;
		code = parquet_pages_next(&r->pages, &page, err);
		r->page = page.off;
		if (code == 0 && page.kind == PARQUET_DICTIONARY) {
			code = read_dictionary(r, &page, err);
		} else if (code == 0 && page.values > 0) {
			unsigned width = 0;
			while (r->leaf->max_def >> width != 0)
				width++;
			parquet_rle_begin(&r->levels, page.levels, width);
			r->encoding = page.encoding;
			r->body = page.body;
			r->left = page.values;
			code = begin_body(r, err);
		}
		if (code != 0)
			return explain(r, code, err);
	}
	return 0;
}

/* Takes the next row's definition level. */
static int next_row(struct parquet_reader *r, bool *null, struct error *err)
{
	uint32_t level = 0;
	int code = r->left == 0 ? next_page(r, err) : 0;
	if (code != 0)
		return code;
	if (r->leaf->max_def > 0 && (!parquet_rle_next(&r->levels, &level) || level > r->leaf->max_def))
		return explain(r, fail(err, EBADMSG,
				       "definition levels are malformed, %" PRIu32 " values before the end",
				       r->left), err);
	*null = level < r->leaf->max_def;
	r->left--;
	return 0;
}

/* Takes one index and checks it; false: malformed. */
static bool next_entry(struct parquet_reader *r, uint32_t *entry)
{
	return parquet_rle_next(&r->indices, entry) && *entry < r->entries;
}

static bool dictionary_text(struct parquet_reader *r, struct span *out)
{
	uint32_t entry;
	if (!next_entry(r, &entry))
		return false;
	const uint32_t *starts = (const uint32_t *)(const void *)r->starts.at + entry;
	*out = span_of(r->dictionary.at + starts[0], starts[1] - 4 - starts[0]);
	return true;
}

/* Takes the bytes of a DELTA_LENGTH_BYTE_ARRAY's next text. */
static bool delta_text(struct parquet_reader *r, struct span *out)
{
	int64_t n;
	return parquet_delta_next(&r->deltas, &n) && n >= 0 && span_take(&r->body, (size_t)n, out);
}

/* Puts them behind what the text shares with the one before it. */
static int prefixed_text(struct parquet_reader *r, struct span *out, bool *good, struct error *err)
{
	int64_t shared;
	struct span rest;
	*good = delta_text(r, &rest) && parquet_delta_next(&r->prefixes, &shared) && shared >= 0 &&
		(uint64_t)shared <= r->text.n;
	if (!*good)
		return 0;
	r->text.n = (size_t)shared;
	int code = buffer_add(&r->text, rest.at, rest.n, r->text.share == NULL ? r->pages.limit : 0, err);
	/* Room for a byte, so that an empty text is not null. */
	if (code == 0)
		code = buffer_reserve(&r->text, 1, 0, err);
	*out = span_of(r->text.at, r->text.n);
	return code;
}

int parquet_reader_text(struct parquet_reader *r, struct span *out, struct error *err)
{
	bool null, good = false;
	*out = (struct span){ 0 };
	int code = next_row(r, &null, err);
	if (code != 0 || null)
		return code;
	switch (r->encoding) {
	case PARQUET_PLAIN: good = plain_text(&r->body, out); break;
	case PARQUET_DELTA_LENGTH_BYTE_ARRAY: good = delta_text(r, out); break;
	case PARQUET_DELTA_BYTE_ARRAY: code = prefixed_text(r, out, &good, err); break;
	default: good = dictionary_text(r, out); break;
	}
	if (code == 0 && !good)
		code = fail(err, EBADMSG, "a text by %s is malformed, %" PRIu32 " values before the end",
			    parquet_encoding_name(r->encoding), r->left);
	return explain(r, code, err);
}

int parquet_reader_int(struct parquet_reader *r, bool *null, int64_t *out, struct error *err)
{
	uint32_t entry;
	struct span value;
	bool good;
	*out = 0;
	int code = next_row(r, null, err);
	if (code != 0 || *null)
		return code;
	switch (r->encoding) {
	case PARQUET_PLAIN:
		good = span_take(&r->body, int_size(r), &value);
		if (good)
			*out = plain_int(r, value.at);
		break;
	case PARQUET_DELTA_BINARY_PACKED: good = parquet_delta_next(&r->deltas, out); break;
	default:
		good = next_entry(r, &entry);
		if (good)
			*out = plain_int(r, r->dictionary.at + (size_t)entry * int_size(r));
		break;
	}
	if (good)
		return 0;
	return explain(r, fail(err, EBADMSG, "a number by %s is malformed, %" PRIu32 " values before the end",
			       parquet_encoding_name(r->encoding), r->left), err);
}
