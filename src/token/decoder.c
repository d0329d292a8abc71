#include "token/decoder.h"

#include <errno.h>
#include <string.h>

#include "token/utf8.h"

/* Bytes that are made valid in one go. */
#define CHUNK 4096

int decoder_put(struct decoder *d, const uint8_t *bytes, size_t n, struct buffer *out, struct error *err)
{
	uint8_t chunk[sizeof d->held + CHUNK];
	while (n > 0) {
		size_t more = n < CHUNK ? n : CHUNK, used = d->n + more;
		memcpy(chunk, d->held, d->n);
		memcpy(chunk + d->n, bytes, more);
		size_t tail = utf8_tail(chunk, used);
		if (buffer_reserve(out, 3 * used, 0, err) < 0)
			return -ENOMEM;
		out->n += utf8_replace(chunk, used - tail, out->at + out->n);
		memcpy(d->held, chunk + used - tail, tail);
		d->n = tail;
		bytes += more;
		n -= more;
	}
	return 0;
}

int decoder_end(struct decoder *d, struct buffer *out, struct error *err)
{
	if (buffer_reserve(out, 3 * sizeof d->held, 0, err) < 0)
		return -ENOMEM;
	out->n += utf8_replace(d->held, d->n, out->at + out->n);
	d->n = 0;
	return 0;
}
