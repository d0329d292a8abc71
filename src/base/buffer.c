#include "base/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/share.h"

int buffer_reserve(struct buffer *b, size_t more, size_t limit, struct error *err)
{
	size_t want;
	if (!add_size(b->n, more, &want))
		return fail(err, ENOMEM, "a buffer of more bytes than memory can have");
	if (limit != 0 && want > limit)
		return fail(err, ENOTSUP, "%zu bytes are needed, the bound is %zu", want, limit);
	if (want <= b->room)
		return 0;
	if (b->share != NULL)
		return share_grow(b, want, err);
	size_t room = b->room < 256 ? 256 : b->room;
	while (room < want)
		if (!mul_size(room, 2, &room))
			room = want;
	if (limit != 0 && room > limit)
		room = limit;
	uint8_t *at = realloc(b->at, room);
	if (at == NULL)
		return fail(err, ENOMEM, "out of memory for %zu bytes", room);
	b->at = at;
	b->room = room;
	return 0;
}

int buffer_add(struct buffer *b, const void *bytes, size_t n, size_t limit, struct error *err)
{
	int r = buffer_reserve(b, n, limit, err);
	if (r == 0 && n > 0) {
		memcpy(b->at + b->n, bytes, n);
		b->n += n;
	}
	return r;
}

int buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	int r = n < 0 ? -ENOMEM : buffer_reserve(b, (size_t)n + 1, 0, NULL);
	if (r == 0) {
		vsnprintf((char *)b->at + b->n, (size_t)n + 1, format, again);
		b->n += (size_t)n;
	}
	va_end(again);
	return r;
}

void buffer_free(struct buffer *b)
{
	if (b->share != NULL)
		share_release(b);
	else
		free(b->at);
	*b = (struct buffer){ 0 };
}
