/* The first byte chooses: a gzip or zstd stream, read in steps, or a page of one of the codecs. */
#include <stdint.h>
#include <stdlib.h>

#include "io/codec.h"

#define MOST (4u << 20) /* bytes read from one stream */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void read_stream(int kind, struct span in)
{
	uint8_t buf[4096];
	struct codec_stream *c = NULL;
	struct error err = { 0 };
	struct source *s = source_memory(in.at, in.n, "fuzz");
	size_t got = 1, total = 0;
	if (s != NULL && codec_stream_open(kind, s, &c, &err) == 0) {
		int r = 0;
		while (r == 0 && got > 0 && total < MOST) {
			r = codec_stream_read(c, buf, total % 3 == 0 ? sizeof buf : 7, &got, &err);
			total += got;
		}
		/* What has failed stays so, and what has ended too. */
		if (total < MOST && (codec_stream_read(c, buf, 1, &got, NULL) != r || got != 0))
			abort();
	}
	codec_stream_close(c);
	source_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct span in = span_of(bytes, n);
	uint8_t choice;
	if (!span_u8(&in, &choice))
		return 0;
	if (choice % 16 < 2) {
		read_stream(choice % 16 == 0 ? CODEC_GZIP : CODEC_ZSTD, in);
		return 0;
	}
	static uint8_t out[1 << 16];
	static const size_t sizes[] = { 0, 1, 44, 1000, sizeof out };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		codec_decompress(choice % 16 - 2, in, out, sizes[i], NULL);
	return 0;
}
