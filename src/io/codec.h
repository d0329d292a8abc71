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

/* The name as the specification writes it ("SNAPPY"), "an unknown codec" for a number it does not have. */
const char *codec_name(int codec);

/* CRC-32 of the bytes as gzip and Parquet's pages have it (RFC 1952, polynomial 0x04C11DB7). */
uint32_t codec_crc32(struct span bytes);

/* Decompresses `in` into exactly n bytes at out; GZIP may have several members. 0; -EBADMSG (does not
 * decompress to exactly n bytes), -ENOTSUP (codec), -ENOMEM. */
int codec_decompress(int codec, struct span in, void *out, size_t n, struct error *err);

/* A compressed file as a stream of bytes: gzip with any number of members (RFC 1952), zstd with any
 * number of frames (RFC 8878; windows up to 2^27 bytes). Fixed memory whatever the file's size. */
struct codec_stream;
/* kind: CODEC_GZIP or CODEC_ZSTD. The source must outlive the stream; it is read forward, at most
 * CODEC_WINDOW bytes at a time. 0; -ENOTSUP (another kind), -ENOMEM. */
#define CODEC_WINDOW (4u << 20)
int codec_stream_open(int kind, struct source *s, struct codec_stream **out, struct error *err);
/* Up to n > 0 bytes into buf; *got = 0 only at the true end. 0; -EBADMSG (damaged, empty, something else
 * behind the last member or frame, or cut off: a file that ends inside one), -ENOTSUP (zstd with a larger
 * window or a dictionary), -ENOMEM: each stays for all later calls; or what source_read says: the next call
 * tries again. */
int codec_stream_read(struct codec_stream *c, void *buf, size_t n, size_t *got, struct error *err);
void codec_stream_close(struct codec_stream *c);

#endif
