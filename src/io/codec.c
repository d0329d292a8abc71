#include "io/codec.h"

#include <brotli/decode.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <lz4.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/checked.h"

#define GZIP_ONLY (15 + 16) /* zlib's windowBits for RFC 1952 and nothing else */
#define ZSTD_WINDOW_LOG 27

const char *codec_name(int codec)
{
	static const char *const names[] = { "UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
					     "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW" };
	if (codec < 0 || (size_t)codec >= sizeof names / sizeof *names)
		return "an unknown codec";
	return names[codec];
}

uint32_t codec_crc32(struct span bytes)
{
	return (uint32_t)crc32_z(0, bytes.at, bytes.n);
}

static bool plain_copy(struct span in, void *out, size_t n)
{
	if (in.n != n)
		return false;
	if (n > 0)
		memcpy(out, in.at, n);
	return true;
}

static bool snappy_whole(struct span in, void *out, size_t n)
{
	size_t length;
	const char *bytes = (const char *)in.at;
	if (snappy_uncompressed_length(bytes, in.n, &length) != SNAPPY_OK || length != n)
		return false;
	return snappy_uncompress(bytes, in.n, out, &length) == SNAPPY_OK && length == n;
}

static bool lz4_whole(struct span in, void *out, size_t n)
{
	if (in.n > INT_MAX || n > INT_MAX)
		return false;
	return LZ4_decompress_safe((const char *)in.at, out, (int)in.n, (int)n) == (int)n;
}

static bool brotli_whole(struct span in, void *out, size_t n)
{
	size_t length = n;
	return BrotliDecoderDecompress(in.n, in.at, &length, out) == BROTLI_DECODER_RESULT_SUCCESS &&
	       length == n;
}

static bool zstd_whole(struct span in, void *out, size_t n)
{
	return ZSTD_decompress(out, n, in.at, in.n) == n;
}

/* Members follow one another until the input ends; *memory tells a lack of it from damage. */
static bool gzip_whole(struct span in, void *out, size_t n, bool *memory)
{
	z_stream z = { 0 };
	uint8_t *to = out;
	int r = inflateInit2(&z, GZIP_ONLY);
	*memory = r == Z_MEM_ERROR;
	if (r != Z_OK)
		return false;
	do {
		uInt room = (uInt)min_u64(n, UINT_MAX), given = (uInt)min_u64(in.n, UINT_MAX);
		uint8_t none;
		z.next_in = (z_const Bytef *)(uintptr_t)in.at;
		z.avail_in = given;
		z.next_out = n > 0 ? to : &none;
		z.avail_out = room;
		r = inflate(&z, Z_NO_FLUSH);
		if (!span_skip(&in, given - z.avail_in))
			break;
		to += room - z.avail_out;
		n -= room - z.avail_out;
		if (r == Z_STREAM_END && in.n > 0)
			r = inflateReset(&z);
	} while (r == Z_OK);
	inflateEnd(&z);
	*memory = r == Z_MEM_ERROR;
	return r == Z_STREAM_END && in.n == 0 && n == 0;
}

int codec_decompress(int codec, struct span in, void *out, size_t n, struct error *err)
{
	bool good, memory = false;
	switch (codec) {
	case CODEC_NONE: good = plain_copy(in, out, n); break;
	case CODEC_SNAPPY: good = snappy_whole(in, out, n); break;
	case CODEC_GZIP: good = gzip_whole(in, out, n, &memory); break;
	case CODEC_BROTLI: good = brotli_whole(in, out, n); break;
	case CODEC_ZSTD: good = zstd_whole(in, out, n); break;
	case CODEC_LZ4_RAW: good = lz4_whole(in, out, n); break;
	default:
		return fail(err, ENOTSUP, "codec %d (%s) is not supported", codec, codec_name(codec));
	}
	if (memory)
		return fail(err, ENOMEM, "out of memory for %s", codec_name(codec));
	if (!good)
		return fail(err, EBADMSG, "%zu bytes of %s do not decompress to the %zu bytes promised",
			    in.n, codec_name(codec), n);
	return 0;
}

struct codec_stream {
	struct source *source;
	int kind;
	uint64_t off;    /* of the first byte of the file that is not in the window */
	struct span in;  /* what is left of the window */
	bool inside;     /* a member or frame has begun and not ended */
	bool begun;      /* some member or frame has been seen */
	int failed;      /* the errno once decompression itself has failed */
	z_stream z;
	ZSTD_DCtx *zstd;
	size_t room;
	uint8_t window[];
};

int codec_stream_open(int kind, struct source *s, struct codec_stream **out, struct error *err)
{
	if (kind != CODEC_GZIP && kind != CODEC_ZSTD)
		return fail(err, ENOTSUP, "%s: files of %s are not supported", s->name, codec_name(kind));
	size_t room = (size_t)min_u64(s->size, CODEC_WINDOW);
	struct codec_stream *c = malloc(sizeof *c + room);
	bool good = c != NULL;
	if (good) {
		*c = (struct codec_stream){ .source = s, .kind = kind, .room = room };
		if (kind == CODEC_GZIP) {
			good = inflateInit2(&c->z, GZIP_ONLY) == Z_OK;
		} else {
			c->zstd = ZSTD_createDCtx();
			good = c->zstd != NULL && !ZSTD_isError(ZSTD_DCtx_setParameter(
							  c->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
		}
	}
	if (!good) {
		codec_stream_close(c);
		return fail(err, ENOMEM, "%s: out of memory for %s", s->name, codec_name(kind));
	}
	*out = c;
	return 0;
}

void codec_stream_close(struct codec_stream *c)
{
	if (c == NULL)
		return;
	if (c->kind == CODEC_GZIP)
		inflateEnd(&c->z);
	ZSTD_freeDCtx(c->zstd);
	free(c);
}

static int give_up(struct codec_stream *c, int code, const char *what, struct error *err)
{
	c->failed = code;
	return fail(err, code, "%s: %s, before byte %" PRIu64 " of %" PRIu64, c->source->name, what,
		    c->off - c->in.n, c->source->size);
}

static int fill(struct codec_stream *c, struct error *err)
{
	size_t n = (size_t)min_u64(c->source->size - c->off, c->room);
	int r = source_read(c->source, c->off, c->window, n, err);
	if (r == 0) {
		c->off += n;
		c->in = span_of(c->window, n);
	}
	return r;
}

/* Decompresses from the window into buf; *got of n bytes. */
static int gzip_some(struct codec_stream *c, void *buf, size_t n, size_t *got, struct error *err)
{
	/* The one place where a member may begin; what is there must be one. */
	if (!c->inside && c->begun && inflateReset(&c->z) != Z_OK)
		return give_up(c, EBADMSG, "gzip's state is broken", err);
	uInt room = (uInt)min_u64(n, UINT_MAX), given = (uInt)c->in.n;
	c->z.next_in = (z_const Bytef *)(uintptr_t)c->in.at;
	c->z.avail_in = given;
	c->z.next_out = buf;
	c->z.avail_out = room;
	bool first = !c->inside;
	int r = inflate(&c->z, Z_NO_FLUSH);
	span_skip(&c->in, given - c->z.avail_in);
	*got = room - c->z.avail_out;
	c->inside = r != Z_STREAM_END;
	c->begun = true;
	switch (r) {
	case Z_OK:
	case Z_BUF_ERROR:
	case Z_STREAM_END:
		return 0;
	case Z_MEM_ERROR:
		return give_up(c, ENOMEM, "out of memory for gzip", err);
	default:
		return give_up(c, EBADMSG, first ? "not a gzip member" : "a damaged gzip member", err);
	}
}

static int zstd_some(struct codec_stream *c, void *buf, size_t n, size_t *got, struct error *err)
{
	ZSTD_inBuffer in = { c->in.at, c->in.n, 0 };
	ZSTD_outBuffer out = { buf, n, 0 };
	bool first = !c->inside;
	size_t r = ZSTD_decompressStream(c->zstd, &out, &in);
	if (ZSTD_isError(r)) {
		switch (ZSTD_getErrorCode(r)) {
		case ZSTD_error_frameParameter_windowTooLarge:
			return give_up(c, ENOTSUP, "a zstd frame with a window beyond 2^27 bytes", err);
		case ZSTD_error_dictionary_wrong:
			return give_up(c, ENOTSUP, "a zstd frame that needs a dictionary", err);
		case ZSTD_error_memory_allocation:
			return give_up(c, ENOMEM, "out of memory for zstd", err);
		default:
			return give_up(c, EBADMSG, first ? "not a zstd frame" : "a damaged zstd frame", err);
		}
	}
	span_skip(&c->in, in.pos);
	*got = out.pos;
	c->inside = r != 0;
	c->begun = true;
	return 0;
}

int codec_stream_read(struct codec_stream *c, void *buf, size_t n, size_t *got, struct error *err)
{
	*got = 0;
	if (c->failed != 0)
		return fail(err, c->failed, "%s: the stream has failed before", c->source->name);
	while (*got == 0) {
		if (c->in.n == 0 && c->off < c->source->size) {
			int r = fill(c, err);
			if (r != 0)
				return r;
			continue;
		}
		if (c->in.n == 0 && !c->inside) {
			if (!c->begun)
				return give_up(c, EBADMSG, "an empty file is no compressed file", err);
			return 0;
		}
		size_t before = c->in.n;
		int r = c->kind == CODEC_GZIP ? gzip_some(c, buf, n, got, err) :
						zstd_some(c, buf, n, got, err);
		if (r != 0)
			return r;
		/* All input is given and nothing moves: the rest of the member is not there. */
		if (*got == 0 && c->inside && c->in.n == before)
			return give_up(c, EBADMSG, "the file is cut off", err);
	}
	return 0;
}
