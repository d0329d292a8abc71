#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hubpage.h"
#include "io/indexpage.h"
#include "io/s3page.h"
#include "io/s3user.h"

/* What a page has, as text. */
static char got[4000];

static int note(void *arg, const char *path, uint64_t size, const char *tag, struct error *err)
{
	size_t n = strlen(got);
	(void)arg;
	(void)err;
	snprintf(got + n, sizeof got - n, "%s %llu %s|", path, (unsigned long long)size, tag);
	return 0;
}

static int note_name(void *arg, const char *name, struct error *err)
{
	(void)arg;
	(void)err;
	strcat(strcat(got, name), "|");
	return 0;
}

#define SHA1 "0123456789abcdef0123456789abcdef01234567"
#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int tree(const char *json, struct error *err)
{
	got[0] = '\0';
	return hubpage_tree(span_text(json), note, NULL, err);
}

static void reads_trees(void)
{
	struct error err;
	CU_ASSERT_EQUAL(tree("[{\"type\":\"directory\",\"oid\":\"" SHA1 "\",\"size\":0,\"path\":\"sample\"},"
			     "{\"type\":\"file\",\"oid\":\"" SHA1 "\",\"size\":2503,\"path\":\"README.md\"},"
			     "{\"type\":\"file\",\"oid\":\"" SHA1 "\",\"size\":2147483648123,\"lfs\":{\"oid\":\"" SHA256
			     "\",\"size\":2147483648123,\"pointerSize\":135},\"xetHash\":\"" SHA256
			     "\",\"path\":\"sample/10BT/000_00000.parquet\"}]",
			     &err), 0);
	CU_ASSERT_STRING_EQUAL(got, "README.md 2503 " SHA1 "|sample/10BT/000_00000.parquet 2147483648123 " SHA256 "|");
	CU_ASSERT_EQUAL(tree("[]", &err), 0);
	CU_ASSERT_EQUAL(tree("{}", &err), -EIO);
	CU_ASSERT_EQUAL(tree("[{}]", &err), -EIO);
	CU_ASSERT_EQUAL(tree("[1]", &err), -EIO);
	CU_ASSERT_EQUAL(tree("[", &err), -EIO);
	CU_ASSERT_EQUAL(tree("[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"oid\":\"xyz\"}]", &err), -EIO);
	CU_ASSERT_EQUAL(tree("[{\"type\":\"file\",\"path\":\"a\",\"size\":-1,\"oid\":\"" SHA1 "\"}]", &err), -EIO);
	CU_ASSERT_EQUAL(tree("[{\"type\":\"file\",\"path\":\"a\",\"size\":1.5,\"oid\":\"" SHA1 "\"}]", &err), -EIO);
	static const char *const odd[] = { "", "/a", "a/", "a//b", "../a", "a/../b", "a/..", ".", "a/./b", "a\\nb" };
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		char json[300];
		snprintf(json, sizeof json, "[{\"type\":\"file\",\"path\":\"%s\",\"size\":1,\"oid\":\"" SHA1 "\"}]", odd[i]);
		CU_ASSERT_EQUAL(tree(json, &err), 0);
		CU_ASSERT_STRING_EQUAL(got, "");
	}
	CU_ASSERT_EQUAL(tree("[{\"type\":\"file\",\"path\":\"a..b/.c/...\",\"size\":1,\"oid\":\"" SHA1 "\"}]", &err), 0);
	CU_ASSERT_STRING_EQUAL(got, "a..b/.c/... 1 " SHA1 "|");
}

static void reads_commits(void)
{
	char commit[HUB_COMMIT];
	CU_ASSERT_EQUAL(hubpage_commit(span_text("{\"id\":\"a/b\",\"sha\":\"" SHA1 "\"}"), commit, NULL), 0);
	CU_ASSERT_STRING_EQUAL(commit, SHA1);
	CU_ASSERT_EQUAL(hubpage_commit(span_text("{\"sha\":\"main\"}"), commit, NULL), -EIO);
	CU_ASSERT_EQUAL(hubpage_commit(span_text("{}"), commit, NULL), -EIO);
	CU_ASSERT_EQUAL(hubpage_commit(span_text("[]"), commit, NULL), -EIO);
}

static int objects(const char *xml, char next[S3_TOKEN_MAX + 1])
{
	got[0] = '\0';
	return s3page_read(span_text(xml), note, NULL, next, NULL);
}

/* As Amazon's documentation, versitygw 1.x and moto 5.2 write it. */
static void reads_objects(void)
{
	char next[S3_TOKEN_MAX + 1];
	CU_ASSERT_EQUAL(objects("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
				"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
				"  <Name>quotes</Name><Prefix>E</Prefix><StartAfter>ExampleGuide.pdf</StartAfter>\n"
				"  <KeyCount>1</KeyCount><MaxKeys>3</MaxKeys><IsTruncated>false</IsTruncated>\n"
				"  <Contents><Key>ExampleObject.txt</Key><LastModified>2013-09-17T18:07:53.000Z</LastModified>\n"
				"    <ETag>&quot;599bab3ed2c697f1d26842727561fd94&quot;</ETag><Size>857</Size>\n"
				"    <StorageClass>REDUCED_REDUNDANCY</StorageClass></Contents>\n"
				"</ListBucketResult>\n", next), 0);
	CU_ASSERT_STRING_EQUAL(got, "ExampleObject.txt 857 \"599bab3ed2c697f1d26842727561fd94\"|");
	CU_ASSERT_STRING_EQUAL(next, "");
	/* The encoding of the keys stands behind them. */
	CU_ASSERT_EQUAL(objects("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1ueGcxLPRx1Tr/X"
				"&amp;ExgpBg+=</NextContinuationToken><Contents><Key>a+b%2B%C3%BC/&#120;</Key><Size>1</Size>"
				"<ETag></ETag></Contents><Contents><Size>2</Size><Key>c</Key><ETag>\"x y\"</ETag></Contents>"
				"<Contents><Key>n%0An</Key><Size>1</Size></Contents>"
				"<EncodingType>url</EncodingType><Prefix/></ListBucketResult>", next), 0);
	CU_ASSERT_STRING_EQUAL(got, "a b+ü/x 1 |c 2 |");
	CU_ASSERT_STRING_EQUAL(next, "1ueGcxLPRx1Tr/X&ExgpBg+=");
	CU_ASSERT_EQUAL(objects("<ListBucketResult><Contents><Key>a+b</Key><Size>1</Size></Contents></ListBucketResult>", next), 0);
	CU_ASSERT_STRING_EQUAL(got, "a+b 1 |");
	CU_ASSERT_EQUAL(objects("<!-- x --><ListBucketResult a='>' b=\"</x>\"><Owner><ID><Key>no</Key></ID></Owner>"
				"</ListBucketResult>", next), 0);
	CU_ASSERT_STRING_EQUAL(got, "");
}

static void refuses_other_xml(void)
{
	static const char *const bad[] = {
		"",
		"text",
		"<Error><Code>NoSuchBucket</Code></Error>",
		"<ListBucketResult>",
		"<ListBucketResult></Contents>",
		"<ListBucketResult><Contents></ListBucketResult></Contents>",
		"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>&none;</Key><Size>1</Size></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>&#0;</Key><Size>1</Size></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>&#xD800;</Key><Size>1</Size></Contents></ListBucketResult>",
		"<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key><Size>1</Size></Contents></ListBucketResult>",
		"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
		"<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult></ListBucketResult>",
		"<ListBucketResult><a><b><c><d><e><f><g><h></h></g></f></e></d></c></b></a></ListBucketResult>",
		"<ListBucketResult x=\"></ListBucketResult>",
		"<html><body>hello</body></html>",
	};
	char next[S3_TOKEN_MAX + 1];
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int r = objects(bad[i], next);
		CU_ASSERT_EQUAL(r, -EIO);
		if (r != -EIO)
			printf("# %zu: %d, %s\n", i, r, got);
	}
}

static void links(const char *html, const char *want)
{
	got[0] = '\0';
	CU_ASSERT_EQUAL(indexpage_links(span_text(html), "http://h:8/d/", note_name, NULL, NULL), 0);
	CU_ASSERT_STRING_EQUAL(got, want);
	if (strcmp(got, want) != 0)
		printf("# %s\n", got);
}

static void reads_index_pages(void)
{
	/* nginx 1.22 */
	links("<html>\r\n<head><title>Index of /d/</title></head>\r\n<body>\r\n<h1>Index of /d/</h1><hr><pre><a href=\"../\">../"
	      "</a>\r\n<a href=\"sub/\">sub/</a>                   30-Nov-2026 07:42                   -\r\n"
	      "<a href=\"a%20b.parquet\">a b.parquet</a>           30-Nov-2026 07:42                   0\r\n"
	      "<a href=\"q%26r.npy\">q&amp;r.npy</a>               30-Nov-2026 07:42                   0\r\n"
	      "<a href=\"%C3%BC.bin\">ü.bin</a>                    30-Nov-2026 07:42                   0\r\n</pre><hr></body></html>",
	      "sub/|a%20b.parquet|q%26r.npy|%C3%BC.bin|");
	/* Apache 2.4 */
	links("<table><tr><th><a href=\"?C=N;O=D\">Name</a></th><th><a href=\"?C=M;O=A\">Last modified</a></th></tr>\n"
	      "<tr><td><img src=\"/icons/back.gif\" alt=\"[PARENTDIR]\"></td><td><a href=\"/\">Parent Directory</a></td></tr>\n"
	      "<tr><td><A class=x HREF='000_00000.parquet'>000_00000.parquet</A></td><td align=\"right\">2026-01-02</td></tr>\n"
	      "<tr><td><a href=x.jsonl title=\"&gt;\">x</a></td></tr></table>\n<address>Apache/2.4</address>",
	      "000_00000.parquet|x.jsonl|");
	/* Python 3.11, and what leads elsewhere. */
	links("<ul>\n<li><a href=\"a%26b.jsonl\">a&amp;b.jsonl</a></li>\n<li><a href=\"er%20one/\">er one/</a></li></ul>",
	      "a%26b.jsonl|er%20one/|");
	links("<a href=\"http://h:8/d/full.bin\"><a href=\"/d/path.bin\"><a href=\"./dot.bin\"><a href=\"a&amp;b.bin\">",
	      "full.bin|path.bin|dot.bin|a&b.bin|");
	links("<a href=\"http://other/d/x.bin\"><a href=\"/e/x.bin\"><a href=\"sub/x.bin\"><a href=\"../d/x.bin\"><a href=\"x.bin?v=1\">"
	      "<a href=\"#top\"><a href=\"javascript:x\"><a href=\"mailto:a@b\"><a href=\"\"><a name=\"x\"><abbr href=\"x.bin\">"
	      "<a href=\"..\"><a href=\".\"><a href=\"ftp://h:8/d/x.bin\"><a href=\"//evil/d/x.bin\"><a href",
	      "");
}

static void reads_profiles(void)
{
	static const char text[] = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=B\n\n"
				   "[ profile lab ]\r\n aws_access_key_id = set in\r\naws_access_key_id = C\r\n"
				   "aws_secret_access_key = D=E/F\r\nregion=eu-1\r\ns3 =\n  region = nested\n"
				   "endpoint_url = http://h:1\naws_session_token =\n[other]\nregion = x\n";
	struct s3user u = { 0 };
	CU_ASSERT_EQUAL(s3user_read(&u, span_text(text), "lab"), 1);
	CU_ASSERT_STRING_EQUAL(u.key, "C");
	CU_ASSERT_STRING_EQUAL(u.secret, "D=E/F");
	CU_ASSERT_STRING_EQUAL(u.region, "eu-1");
	CU_ASSERT_STRING_EQUAL(u.endpoint, "http://h:1");
	CU_ASSERT_PTR_NULL(u.session);
	/* What is known stays, and keys are never mixed. */
	CU_ASSERT_EQUAL(s3user_read(&u, span_text("[lab]\naws_access_key_id=X\naws_session_token=Y\nregion=z"), "lab"), 1);
	CU_ASSERT_STRING_EQUAL(u.key, "C");
	CU_ASSERT_PTR_NULL(u.session);
	CU_ASSERT_STRING_EQUAL(u.region, "eu-1");
	s3user_free(&u);
	CU_ASSERT_EQUAL(s3user_read(&u, span_text(text), "none"), 0);
	CU_ASSERT_EQUAL(s3user_read(&u, span_text("[x"), "x"), 0);
	CU_ASSERT_EQUAL(s3user_read(&u, span_text("x=y\n[]\n[profile]\n"), "x"), 0);
	s3user_free(&u);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "reads the trees of the Hub", reads_trees },
		{ "reads its commits", reads_commits },
		{ "reads the lists of S3 stores", reads_objects },
		{ "refuses XML that is none", refuses_other_xml },
		{ "reads the index pages of web servers", reads_index_pages },
		{ "reads profiles of keys", reads_profiles },
		CU_TEST_INFO_NULL,
	};
	return unit_main("pages", tests);
}
