#include "unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/answer.h"
#include "io/url.h"

static struct answer parse(const char *header)
{
	struct answer a = { 0 };
	while (*header != '\0') {
		size_t n = strcspn(header, "\n");
		n += header[n] == '\n';
		answer_line(&a, span_of(header, n));
		header += n;
	}
	return a;
}

static struct answer range(const char *value)
{
	char text[300];
	snprintf(text, sizeof text, "HTTP/1.1 206 x\r\nContent-Range: %s\r\n", value);
	return parse(text);
}

static void reads_a_header(void)
{
	struct answer a = parse("HTTP/1.1 100 Continue\r\nETag: \"old\"\r\n\r\n"
				"HTTP/1.1 206 Partial Content\r\n"
				"content-length:  100 \r\nCONTENT-RANGE: bytes 5-104/133105\r\n"
				"ETag: \"2-3f\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
	CU_ASSERT_EQUAL(a.status, 206);
	CU_ASSERT(a.framed && a.has_length && a.has_range && a.has_total && !a.malformed && !a.encoded);
	CU_ASSERT_EQUAL(a.length, 100);
	CU_ASSERT_EQUAL(a.first, 5);
	CU_ASSERT_EQUAL(a.last, 104);
	CU_ASSERT_EQUAL(a.total, 133105);
	CU_ASSERT_STRING_EQUAL(a.etag, "\"2-3f\"");
	CU_ASSERT_EQUAL(a.mtime, 784111777);
	CU_ASSERT(answer_line(&a, span_text("\r\n")));
	CU_ASSERT(!answer_line(&a, span_text("Via: x\r\n")));
	CU_ASSERT(!answer_line(&a, span_text(" \r\n")));
	CU_ASSERT_EQUAL(parse("HTTP/2 404 \r\n").status, 404);
	CU_ASSERT(parse("HTTP/2 404 \r\n").framed);
	CU_ASSERT(!parse("HTTP/1.0 200 OK\r\n").framed);
	CU_ASSERT(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n").framed);
	CU_ASSERT_EQUAL(parse("HTTP/1.1 2x6 OK\r\n").status, 0);
	CU_ASSERT_EQUAL(parse("HTTP/1.1 999 OK\r\n").status, 0);
}

static void reads_content_ranges(void)
{
	static const char *const bad[] = {
		"", "bytes", "bytes ", "bytes 1-2", "bytes 2-1/10", "bytes 0-10/10", "bytes -1/10",
		"bytes 1-/10", "bytes 1-2/", "bytes 1-2/x", "bytes 1-2/10x", "items 1-2/10", "bytes */*",
		"bytes 1-2/9223372036854775808", "bytes 18446744073709551617-18446744073709551618/*",
		"bytes 0x1-2/10", "bytes +1-2/10", "bytes 1--2/10", "bytes 1-2/-10",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct answer a = range(bad[i]);
		CU_ASSERT(a.malformed && !a.has_range && !a.has_total);
	}
	struct answer a = range("Bytes 0-0/1");
	CU_ASSERT(!a.malformed && a.has_range && a.first == 0 && a.last == 0 && a.total == 1);
	a = range("bytes 7-9/*");
	CU_ASSERT(!a.malformed && a.has_range && !a.has_total && a.last == 9);
	a = range("bytes */47");
	CU_ASSERT(!a.malformed && !a.has_range && a.has_total && a.total == 47);
	CU_ASSERT(!range("bytes 1-2/10\r\nContent-Range: bytes 1-2/10").malformed);
	CU_ASSERT(range("bytes 1-2/10\r\nContent-Range: bytes 1-3/10").malformed);
}

static void reads_entity_tags(void)
{
	char longest[400] = "HTTP/1.1 200 OK\r\nETag: ";
	CU_ASSERT_STRING_EQUAL(parse("HTTP/1.1 200 x\r\nETag: W/\"a b\"\r\n").etag, "");
	CU_ASSERT_STRING_EQUAL(parse("HTTP/1.1 200 x\r\nETag:W/\"ab\"\r\n").etag, "W/\"ab\"");
	memset(longest + strlen(longest), 'e', 256);
	CU_ASSERT_STRING_EQUAL(parse(longest).etag, "");
	longest[23 + 255] = '\0';
	CU_ASSERT_EQUAL(strlen(parse(longest).etag), 255);
	CU_ASSERT(etag_same("\"a\"", "W/\"a\""));
	CU_ASSERT(!etag_same("\"a\"", "\"b\""));
	CU_ASSERT(etag_strong("\"a\""));
	CU_ASSERT(etag_strong("\"\""));
	CU_ASSERT(!etag_strong("W/\"a\""));
	CU_ASSERT(!etag_strong("a"));
	CU_ASSERT(!etag_strong("\"a\"b\""));
	CU_ASSERT(!etag_strong("\""));
	CU_ASSERT(!etag_strong(""));
}

static void reads_encodings(void)
{
	CU_ASSERT(parse("HTTP/1.1 200 x\r\nContent-Encoding: gzip\r\n").encoded);
	CU_ASSERT(parse("HTTP/1.1 200 x\r\nContent-Encoding: gzip, identity\r\n").encoded);
	CU_ASSERT(!parse("HTTP/1.1 200 x\r\nContent-Encoding: Identity\r\n").encoded);
	CU_ASSERT(!parse("HTTP/1.1 200 x\r\nContent-Encoding: \r\n").encoded);
}

static unsigned waits(const char *fields)
{
	char text[300];
	snprintf(text, sizeof text, "HTTP/1.1 429 x\r\n%s\r\n", fields);
	struct answer a = parse(text);
	return answer_wait_ms(&a, 784111777);
}

static void reads_waits(void)
{
	CU_ASSERT_EQUAL(waits("X: y"), 0);
	CU_ASSERT_EQUAL(waits("Retry-After: 3"), 3000);
	CU_ASSERT_EQUAL(waits("Retry-After: 86400"), 3600000);
	CU_ASSERT_EQUAL(waits("Retry-After: 99999999999999999999999"), 0);
	CU_ASSERT_EQUAL(waits("Retry-After: -3"), 0);
	CU_ASSERT_EQUAL(waits("Retry-After: soon"), 0);
	CU_ASSERT_EQUAL(waits("Retry-After: Sun, 06 Nov 1994 08:49:40 GMT"), 3000);
	CU_ASSERT_EQUAL(waits("Retry-After: Sun, 06 Nov 1994 08:49:30 GMT"), 0);
	/* The server's clock is the one its date is by. */
	CU_ASSERT_EQUAL(waits("Retry-After: Mon, 07 Nov 1994 08:49:40 GMT\r\n"
			      "Date: Mon, 07 Nov 1994 08:49:30 GMT"), 10000);
	CU_ASSERT_EQUAL(waits("RateLimit: \"api\";r=0;t=55"), 55000);
	CU_ASSERT_EQUAL(waits("RateLimit: \"api\";r=1;t=55"), 0);
	CU_ASSERT_EQUAL(waits("RateLimit: \"a\";r=7;t=50, \"b\"; t=20 ;r=0"), 20000);
	CU_ASSERT_EQUAL(waits("RateLimit: r=0;t=55\r\nRetry-After: 60"), 60000);
	CU_ASSERT_EQUAL(waits("RateLimit: ;;=;r=;t=,"), 0);
}

static void keeps_secrets(void)
{
	static const char *const plain[][2] = {
		{ "http://h/a/b.parquet", "http://h/a/b.parquet" },
		{ "https://user:pass@h:81/a?token=s#f", "https://h:81/a" },
		{ "http://h?x=/y@z", "http://h" },
		{ "http://a@b@c/@d", "http://c/@d" },
		{ "http://h/a#?x", "http://h/a" },
		{ "nonsense?x", "nonsense" },
		{ "", "" },
	};
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		char *out = url_plain(plain[i][0]);
		CU_ASSERT_STRING_EQUAL(out, plain[i][1]);
		free(out);
	}
	CU_ASSERT(span_is(url_file("http://h/a/b.bin?x=/c.npy"), "b.bin"));
	CU_ASSERT(span_is(url_file("http://h/a/"), ""));
	CU_ASSERT(span_is(url_file("http://h"), ""));
}

static void joins_urls(void)
{
	static const char list[] = "http://u:p@h:8/d/list.txt?x=1";
	static const char *const lines[][2] = {
		{ "a.bin", "http://u:p@h:8/d/a.bin" },
		{ "/e/a b.bin", "http://u:p@h:8/e/a%20b.bin" },
		{ "../\xc3\xa9.bin?q=%20", "http://u:p@h:8/d/../%C3%A9.bin?q=%20" },
		{ "https://o/x", "https://o/x" },
	};
	struct error err;
	char *out;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		CU_ASSERT_EQUAL_FATAL(url_join(list, lines[i][0], &out, &err), 0);
		CU_ASSERT_STRING_EQUAL(out, lines[i][1]);
		free(out);
	}
	CU_ASSERT_EQUAL_FATAL(url_join("http://h", "a", &out, &err), 0);
	CU_ASSERT_STRING_EQUAL(out, "http://h/a");
	free(out);
	CU_ASSERT_EQUAL(url_join(list, "file:///etc/passwd", &out, &err), -EINVAL);
	char *text = malloc(URL_MAX + 2);
	memset(text, ' ', URL_MAX + 1);
	text[URL_MAX + 1] = '\0';
	CU_ASSERT_EQUAL(url_join(list, text, &out, &err), -EINVAL);
	text[URL_MAX / 2] = '\0';
	CU_ASSERT_EQUAL(url_join(list, text, &out, &err), -EINVAL);
	free(text);
	CU_ASSERT(url_is("hf://x"));
	CU_ASSERT(!url_is("a/b://c"));
	CU_ASSERT(!url_is("://c"));
	CU_ASSERT(url_is_http("HTTPS://x"));
	CU_ASSERT(!url_is_http("httpx://x"));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "reads the header of an answer", reads_a_header },
		{ "reads Content-Range, and nothing that is none", reads_content_ranges },
		{ "reads and compares entity tags", reads_entity_tags },
		{ "tells encoded answers", reads_encodings },
		{ "reads how long to wait", reads_waits },
		{ "keeps passwords and queries out of names", keeps_secrets },
		{ "joins the lines of a list with its URL", joins_urls },
		CU_TEST_INFO_NULL,
	};
	return unit_main("answer", tests);
}
