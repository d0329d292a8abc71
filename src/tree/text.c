#include "tree/text.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "token/decoder.h"
#include "token/utf8.h"

/* A document begins on a line of its own: before its bos, or behind the eos of the one before. */
static int decode_row(struct buffer *out, const uint8_t *ids, const struct text_form *f, struct error *err)
{
	struct decoder d = { 0 };
	uint8_t last = '\n';
	bool ended = false;
	int r = 0;
	for (uint32_t i = 0; i < f->columns && r == 0; i++) {
		size_t n;
		int64_t id = f->width == 2 ? load_u16(ids + 2 * i) : load_u32(ids + 4 * (size_t)i);
		const uint8_t *bytes = tokenizer_bytes(f->tokenizer, (uint32_t)id, &n);
		if (last != '\n' && (id == f->bos || ended))
			r = decoder_put(&d, (const uint8_t *)"\n", 1, out, err);
		if (n > 0 && r == 0)
			r = decoder_put(&d, bytes, n, out, err);
		if (n > 0)
			last = bytes[n - 1];
		ended = f->bos < 0 && id == f->eos;
	}
	return r == 0 ? decoder_end(&d, out, err) : r;
}

int text_of_batch(struct buffer *out, const void *ids, const struct text_form *f, uint32_t rank,
                  const struct origin *from, struct error *err)
{
	size_t bytes = (size_t)f->columns * f->width;
	int r = 0;
	for (uint32_t i = 0; i < f->rows && r == 0; i++) {
		r = buffer_printf(out,
		                  "=== rank %" PRIu32 ", row %" PRIu32 ": %s, piece %" PRIu32
		                  ", sequence %" PRIu64 "\n",
		                  rank, i, from[i].file, from[i].piece, from[i].sequence);
		if (r == 0)
			r = decode_row(out, (const uint8_t *)ids + i * bytes, f, err);
		if (r == 0)
			r = buffer_printf(out, "\n");
	}
	return r == 0 ? 0 : fail(err, ENOMEM, "out of memory");
}

/* Names and ids may be any bytes. */
static json_t *string_of(const char *text)
{
	if (text == NULL)
		return json_null();
	size_t n = strlen(text);
	uint8_t *valid = malloc(3 * n + 1);
	if (valid == NULL)
		return NULL;
	json_t *j = json_stringn((const char *)valid, utf8_replace((const uint8_t *)text, n, valid));
	free(valid);
	return j;
}

static json_t *document_of(const struct origin_document *d)
{
	json_t *j = json_object();
	int r = json_object_set_new(j, "id", string_of(d->id));
	r |= json_object_set_new(j, "url", string_of(d->url));
	r |= json_object_set_new(j, "offset", json_integer((json_int_t)d->offset));
	r |= json_object_set_new(j, "skipped", json_integer((json_int_t)d->skipped));
	if (r == 0)
		return j;
	json_decref(j);
	return NULL;
}

static json_t *row_of(const struct origin *from)
{
	json_t *j = json_object(), *documents = json_array();
	int r = json_object_set_new(j, "file", string_of(from->file));
	r |= json_object_set_new(j, "piece", json_integer(from->piece));
	r |= json_object_set_new(j, "sequence", json_integer((json_int_t)from->sequence));
	for (size_t i = 0; i < from->n; i++)
		r |= json_array_append_new(documents, document_of(&from->documents[i]));
	r |= json_object_set_new(j, "documents", documents);
	if (r == 0)
		return j;
	json_decref(j);
	return NULL;
}

int text_of_origin(struct buffer *out, const struct origin *from, uint32_t rows, struct error *err)
{
	json_t *list = json_array(), *j = json_object();
	int r = json_object_set(j, "rows", list);
	for (uint32_t i = 0; i < rows; i++)
		r |= json_array_append_new(list, row_of(&from[i]));
	char *text = r == 0 ? json_dumps(j, JSON_INDENT(1)) : NULL;
	r = text == NULL ? -ENOMEM : buffer_printf(out, "%s\n", text);
	free(text);
	json_decref(list);
	json_decref(j);
	return r == 0 ? 0 : fail(err, ENOMEM, "out of memory");
}
