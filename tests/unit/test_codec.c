/* Pages compressed by other programs, and streams made here by the libraries' compressors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buffer.h"
#include "io/codec.h"
#include "io/file.h"
#include "unit/unit.h"

#define FOX "The quick brown fox jumps over the lazy dog."
#define SIZE 44 /* of FOX */

struct page {
	int codec;
	const char *bytes;
	size_t n;
};

#define PAGE(codec, bytes) { codec, bytes, sizeof(bytes) - 1 }

/* FOX as pyarrow's codecs and Python's gzip write it. */
static const struct page pages[] = {
	PAGE(CODEC_NONE, FOX),
	PAGE(CODEC_SNAPPY,
	     "\x2c\xac\x54\x68\x65\x20\x71\x75\x69\x63\x6b\x20\x62\x72\x6f\x77\x6e\x20\x66\x6f"
	     "\x78\x20\x6a\x75\x6d\x70\x73\x20\x6f\x76\x65\x72\x20\x74\x68\x65\x20\x6c\x61\x7a"
	     "\x79\x20\x64\x6f\x67\x2e"),
	PAGE(CODEC_GZIP,
	     "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x0b\xc9\x48\x55\x28\x2c\xcd\x4c\xce\x56"
	     "\x48\x2a\xca\x2f\xcf\x53\x48\xcb\xaf\x50\xc8\x2a\xcd\x2d\x28\x56\xc8\x2f\x4b\x2d"
	     "\x52\x28\x01\x4a\xe7\x24\x56\x55\x2a\xa4\xe4\xa7\xeb\x01\x00\xe9\x25\x90\x51\x2c"
	     "\x00\x00\x00"),
	PAGE(CODEC_BROTLI,
	     "\x1b\x2b\x00\x00\x44\xdb\x46\xa9\x2e\x24\x5b\x32\x14\xc5\x53\x91\x67\x72\xf2\xe7"
	     "\x28\xba\x40\x55\xd9\xca\x66\x81\xf9\xc2\x2b\x4f\x47\xe4\x45\x59\x6d\x4c\x70\x8b"
	     "\x1e\x18\x5b\xdd\x7f\x08\x4c\x06"),
	PAGE(CODEC_ZSTD,
	     "\x28\xb5\x2f\xfd\x20\x2c\x61\x01\x00\x54\x68\x65\x20\x71\x75\x69\x63\x6b\x20\x62"
	     "\x72\x6f\x77\x6e\x20\x66\x6f\x78\x20\x6a\x75\x6d\x70\x73\x20\x6f\x76\x65\x72\x20"
	     "\x74\x68\x65\x20\x6c\x61\x7a\x79\x20\x64\x6f\x67\x2e"),
	PAGE(CODEC_LZ4_RAW,
	     "\xf0\x1d\x54\x68\x65\x20\x71\x75\x69\x63\x6b\x20\x62\x72\x6f\x77\x6e\x20\x66\x6f"
	     "\x78\x20\x6a\x75\x6d\x70\x73\x20\x6f\x76\x65\x72\x20\x74\x68\x65\x20\x6c\x61\x7a"
	     "\x79\x20\x64\x6f\x67\x2e"),
	/* two members */
	PAGE(CODEC_GZIP,
	     "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x0b\xc9\x48\x55\x28\x2c\xcd\x4c\xce\x56"
	     "\x48\x2a\xca\x2f\xcf\x53\x48\xcb\xaf\x50\x00\x00\xe2\x75\xb0\x88\x14\x00\x00\x00"
	     "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x2a\xcd\x2d\x28\x56\xc8\x2f\x4b\x2d"
	     "\x52\x28\xc9\x48\x55\xc8\x49\xac\xaa\x54\x48\xc9\x4f\xd7\x03\x00\x78\xcd\xae\xf9"
	     "\x18\x00\x00\x00"),
};

static void test_pages(void)
{
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
		const struct page *p = &pages[i];
		struct error err = { 0 };
		char out[SIZE + 1];
		struct span in = span_of(p->bytes, p->n);
		memset(out, '?', sizeof out);
		CU_ASSERT_EQUAL(codec_decompress(p->codec, in, out, SIZE, &err), 0);
		CU_ASSERT_EQUAL(memcmp(out, FOX "?", SIZE + 1), 0);
		CU_ASSERT_EQUAL(codec_decompress(p->codec, in, out, SIZE - 1, &err), -EBADMSG);
		CU_ASSERT_EQUAL(codec_decompress(p->codec, in, out, SIZE + 1, &err), -EBADMSG);
		CU_ASSERT_EQUAL(codec_decompress(p->codec, in, out, 0, &err), -EBADMSG);
		in.n--;
		CU_ASSERT_EQUAL(codec_decompress(p->codec, in, out, SIZE, &err), -EBADMSG);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, codec_name(p->codec)));
		in.n = 0;
		CU_ASSERT_EQUAL(codec_decompress(p->codec, in, out, SIZE, &err), -EBADMSG);
	}
}

static void test_unknown_codecs(void)
{
	static const int codecs[] = { 3, 5, 8, -1 };
	char out[4];
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
		CU_ASSERT_EQUAL(codec_decompress(codecs[i], span_text("abcd"), out, 4, NULL), -ENOTSUP);
	CU_ASSERT_STRING_EQUAL(codec_name(5), "LZ4");
}

static void test_crc(void)
{
	/* The check value of this CRC in every catalogue. */
	CU_ASSERT_EQUAL(codec_crc32(span_text("123456789")), 0xcbf43926);
	CU_ASSERT_EQUAL(codec_crc32(span_of(NULL, 0)), 0);
}

/* Bytes that compress somewhat. */
static void make_text(struct buffer *b, size_t n)
{
	uint64_t state = 7;
	CU_ASSERT_EQUAL_FATAL(buffer_reserve(b, n, 0, NULL), 0);
	for (; b->n < n; b->n++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		b->at[b->n] = (uint8_t)('a' + (state >> 60));
	}
}

static void add_gzip(struct buffer *out, const uint8_t *bytes, size_t n)
{
	z_stream z = { 0 };
	CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	size_t bound = deflateBound(&z, n);
	CU_ASSERT_EQUAL_FATAL(buffer_reserve(out, bound, 0, NULL), 0);
	z.next_in = (z_const Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)n;
	z.next_out = out->at + out->n;
	z.avail_out = (uInt)bound;
	CU_ASSERT_EQUAL(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->n += bound - z.avail_out;
	deflateEnd(&z);
}

static void add_zstd(struct buffer *out, const uint8_t *bytes, size_t n)
{
	size_t bound = ZSTD_compressBound(n);
	CU_ASSERT_EQUAL_FATAL(buffer_reserve(out, bound, 0, NULL), 0);
	size_t got = ZSTD_compress(out->at + out->n, bound, bytes, n, 1);
	CU_ASSERT_FALSE_FATAL(ZSTD_isError(got));
	out->n += got;
}

static void add_skippable(struct buffer *out)
{
	buffer_add(out, "\x50\x2a\x4d\x18\x03\0\0\0abc", 11, 0, NULL);
}

/* Reads a stream to its end; *out is what came. */
static int read_all(int kind, struct span in, size_t step, struct buffer *out, struct error *err)
{
	struct codec_stream *c = NULL;
	struct source *s = source_memory(in.at, in.n, "memory");
	size_t got = 1;
	int r = codec_stream_open(kind, s, &c, err);
	CU_ASSERT_EQUAL_FATAL(r, 0);
	while (r == 0 && got > 0) {
		buffer_reserve(out, step, 0, NULL);
		r = codec_stream_read(c, out->at + out->n, step, &got, err);
		out->n += r == 0 ? got : 0;
	}
	/* The end, or the failure, stays. */
	char more;
	CU_ASSERT_EQUAL(codec_stream_read(c, &more, 1, &got, NULL), r);
	CU_ASSERT_EQUAL(got, 0);
	codec_stream_close(c);
	source_close(s);
	return r;
}

static void check_stream(int kind, const struct buffer *packed, const struct buffer *text, size_t step)
{
	struct buffer out = { 0 };
	struct error err = { 0 };
	CU_ASSERT_EQUAL(read_all(kind, span_of(packed->at, packed->n), step, &out, &err), 0);
	CU_ASSERT_EQUAL(out.n, text->n);
	CU_ASSERT_TRUE(out.n == text->n && memcmp(out.at, text->at, text->n) == 0);
	buffer_free(&out);
}

/* More than the window, as one member and as many, some of them empty, read in large and small steps. */
static void test_streams(void)
{
	struct buffer text = { 0 }, packed[4] = { 0 };
	make_text(&text, 12000000);
	add_gzip(&packed[0], text.at, text.n);
	add_zstd(&packed[1], text.at, text.n);
	CU_ASSERT_TRUE(packed[0].n > CODEC_WINDOW && packed[1].n > CODEC_WINDOW);
	add_skippable(&packed[3]);
	for (size_t i = 0; i < 12; i++) {
		size_t n = text.n / 12;
		add_gzip(&packed[2], text.at + i * n, n);
		add_gzip(&packed[2], text.at, 0);
		add_zstd(&packed[3], text.at + i * n, n);
		add_zstd(&packed[3], text.at, 0);
		add_skippable(&packed[3]);
	}
	for (int i = 0; i < 4; i++) {
		check_stream(i % 2 == 0 ? CODEC_GZIP : CODEC_ZSTD, &packed[i], &text, 1 << 20);
		check_stream(i % 2 == 0 ? CODEC_GZIP : CODEC_ZSTD, &packed[i], &text, 1009);
		buffer_free(&packed[i]);
	}
	buffer_free(&text);
}

static void check_bad(int kind, struct span in, int code, const char *why)
{
	struct buffer out = { 0 };
	struct error err = { 0 };
	CU_ASSERT_EQUAL(read_all(kind, in, 1000, &out, &err), code);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
	if (strstr(err.text, why) == NULL)
		printf("# %s\n", err.text);
	buffer_free(&out);
}

/* Cut at every byte, with something behind, with another magic. */
static void check_damage(int kind, void (*add)(struct buffer *, const uint8_t *, size_t))
{
	struct buffer text = { 0 }, packed = { 0 };
	make_text(&text, 300);
	add(&packed, text.at, text.n);
	size_t first = packed.n;
	add(&packed, text.at, text.n);
	for (size_t n = 1; n < packed.n; n++)
		if (n != first)
			check_bad(kind, span_of(packed.at, n), -EBADMSG, "cut off");
	buffer_add(&packed, "junk", 4, 0, NULL);
	check_bad(kind, span_of(packed.at, packed.n), -EBADMSG, "not a");
	packed.at[0] ^= 1;
	check_bad(kind, span_of(packed.at, packed.n), -EBADMSG, "not a");
	check_bad(kind, span_of("", 0), -EBADMSG, "empty");
	buffer_free(&text);
	buffer_free(&packed);
}

static void test_damage(void)
{
	check_damage(CODEC_GZIP, add_gzip);
	check_damage(CODEC_ZSTD, add_zstd);
	struct buffer text = { 0 }, packed = { 0 };
	make_text(&text, 3000);
	add_gzip(&packed, text.at, text.n);
	packed.at[packed.n - 6] ^= 1; /* the CRC */
	check_bad(CODEC_GZIP, span_of(packed.at, packed.n), -EBADMSG, "damaged");
	buffer_free(&text);
	buffer_free(&packed);
}

/* Frame headers alone: a window of 2^28 bytes, a dictionary's id. */
static void test_zstd_bounds(void)
{
	check_bad(CODEC_ZSTD, span_of("\x28\xb5\x2f\xfd\x00\x90\x01\0\0", 9), -ENOTSUP, "2^27");
	check_bad(CODEC_ZSTD, span_of("\x28\xb5\x2f\xfd\x01\x00\x07\x01\0\0", 10), -ENOTSUP, "dictionary");
	struct buffer out = { 0 };
	CU_ASSERT_EQUAL(read_all(CODEC_ZSTD, span_of("\x28\xb5\x2f\xfd\x00\x88\x01\0\0", 9), 10, &out, NULL),
			0);
	CU_ASSERT_EQUAL(out.n, 0);
	buffer_free(&out);
}

static void test_truncated_files(void)
{
	static const struct {
		int kind;
		const char *name;
	} files[] = { { CODEC_GZIP, "bad/truncated.jsonl.gz" }, { CODEC_ZSTD, "bad/truncated.jsonl.zst" } };
	for (size_t i = 0; i < 2; i++) {
		const char *path = unit_data(files[i].name);
		struct source *s = NULL;
		struct codec_stream *c = NULL;
		struct error err = { 0 };
		char buf[1000];
		size_t got = 1;
		if (path == NULL) {
			unit_skip("no test data");
			return;
		}
		CU_ASSERT_EQUAL_FATAL(file_open(path, &s, &err), 0);
		CU_ASSERT_EQUAL_FATAL(codec_stream_open(files[i].kind, s, &c, &err), 0);
		int r = 0;
		while (r == 0 && got > 0)
			r = codec_stream_read(c, buf, sizeof buf, &got, &err);
		CU_ASSERT_EQUAL(r, -EBADMSG);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "truncated"));
		codec_stream_close(c);
		source_close(s);
	}
}

/* A read that fails is tried again by the next call, at the same place. */
struct flaky {
	struct source source;
	struct source *under;
	unsigned calls;
};

static int flaky_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err)
{
	struct flaky *f = (struct flaky *)s;
	if (f->calls++ % 2 == 0)
		return fail(err, EIO, "no answer");
	return source_read(f->under, off, buf, n, err);
}

static void test_read_errors(void)
{
	static const struct source_ops ops = { .read_at = flaky_read };
	struct buffer packed = { 0 };
	struct codec_stream *c = NULL;
	struct error err = { 0 };
	char buf[SIZE + 1];
	size_t got;
	add_gzip(&packed, (const uint8_t *)FOX, SIZE);
	struct source *under = source_memory(packed.at, packed.n, "under");
	struct flaky f = { .source = { .ops = &ops, .size = packed.n, .name = "flaky" }, .under = under };
	CU_ASSERT_EQUAL_FATAL(codec_stream_open(CODEC_GZIP, &f.source, &c, &err), 0);
	CU_ASSERT_EQUAL(codec_stream_read(c, buf, sizeof buf, &got, &err), -EIO);
	CU_ASSERT_EQUAL(codec_stream_read(c, buf, sizeof buf, &got, &err), 0);
	CU_ASSERT_EQUAL(got, SIZE);
	CU_ASSERT_EQUAL(memcmp(buf, FOX, SIZE), 0);
	codec_stream_close(c);
	CU_ASSERT_EQUAL(codec_stream_open(CODEC_SNAPPY, under, &c, &err), -ENOTSUP);
	source_close(under);
	buffer_free(&packed);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "pages of every codec", test_pages },
		{ "codecs that are not ours", test_unknown_codecs },
		{ "CRC-32", test_crc },
		{ "streams of many members", test_streams },
		{ "damaged streams", test_damage },
		{ "zstd windows and dictionaries", test_zstd_bounds },
		{ "truncated files", test_truncated_files },
		{ "errors of the source", test_read_errors },
		CU_TEST_INFO_NULL,
	};
	return unit_main("codec", tests);
}
