/* codec: decompression, by the libraries that do it best; the only room that includes them.
 *
 * Pure but for memory. Any thread, each call or stream by one thread at a time.
 */
#ifndef FW_IO_CODEC_H
#define FW_IO_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "io/source.h"

/* Numbers of parquet.thrift's CompressionCodec. LZO (3) and LZ4 (5, Hadoop's framing) are -ENOTSUP. */
enum codec {
	CODEC_NONE = 0,
	CODEC_SNAPPY = 1,
	CODEC_GZIP = 2,
	CODEC_BROTLI = 4,
	CODEC_ZSTD = 6,
	CODEC_LZ4_RAW = 7,
};

const char *codec_name(int codec);

/* Decompresses `in` into exactly n bytes at out. 0; -EBADMSG (does not decompress to exactly n bytes),
 * -ENOTSUP (codec), -ENOMEM. */
int codec_decompress(int codec, struct span in, void *out, size_t n, struct error *err);

/* A compressed file as a stream of bytes: gzip with any number of members (RFC 1952), zstd with any
 * number of frames (RFC 8878; windows up to 2^27 bytes). Fixed memory whatever the file's size. */
struct codec_stream;
/* kind: CODEC_GZIP or CODEC_ZSTD. The source must outlive the stream. */
int codec_stream_open(int kind, struct source *s, struct codec_stream **out, struct error *err);
/* Up to n bytes into buf; *got = 0 only at the true end. 0; -EBADMSG (damaged, or cut off: a file that ends inside a member or frame), or what source_read says. */
int codec_stream_read(struct codec_stream *c, void *buf, size_t n, size_t *got, struct error *err);
void codec_stream_close(struct codec_stream *c);

#endif
