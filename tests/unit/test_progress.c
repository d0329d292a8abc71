#include <stdio.h>
#include <string.h>

#include "base/latency.h"
#include "base/progress.h"
#include "unit/unit.h"

static const struct progress half = {
	.tokens = 1240000000,
	.documents = 1200000,
	.shards = 12,
	.new_tokens = 841000000,
	.text_bytes = 3510000000,
	.seconds = 100,
	.share = 0.43,
	.first_share = 0.13,
};

static const char *line(const struct progress *p, unsigned columns)
{
	static char out[PROGRESS_TEXT];
	progress_line(p, columns, out);
	return out;
}

static void test_line(void)
{
	struct progress p = half;
	/* 0.57 are left at 0.3 in 100 s: 190 s. */
	CU_ASSERT_STRING_EQUAL(line(&p, 0),
	                       "1.24B tokens, 1.20M documents, 12 shards, 8.41M tokens/s, 35.1 MB/s, 43 %, "
	                       "0:03:10 left");
	CU_ASSERT_STRING_EQUAL(line(&p, 200),
	                       "[##########..............] 1.24B tokens, 1.20M documents, 12 shards, 8.41M "
	                       "tokens/s, 35.1 MB/s, 43 %, 0:03:10 left");
	CU_ASSERT_STRING_EQUAL(
	        line(&p, 80), "1.24B tokens, 1.20M documents, 12 shards, 8.41M tokens/s, 43 %, 0:03:10 left");
	CU_ASSERT_STRING_EQUAL(line(&p, 40), "1.24B tokens, 43 %, 0:03:10 left");
	CU_ASSERT_STRING_EQUAL(line(&p, 20), "43 %, 0:03:10 left");
	CU_ASSERT_STRING_EQUAL(line(&p, 2), "43");
	p.errors = 1;
	CU_ASSERT_STRING_EQUAL(line(&p, 50), "1.24B tokens, 43 %, 0:03:10 left, 1 error");
	for (unsigned columns = 1; columns < 300; columns++)
		CU_ASSERT(strlen(line(&p, columns)) <= columns);
}

/* At the beginning, of token files, and past the end. */
static void test_unknown(void)
{
	struct progress p = { .share = -1 };
	CU_ASSERT_STRING_EQUAL(line(&p, 80), "0 tokens, 0 tokens/s");
	p = half;
	p.share = p.first_share;
	CU_ASSERT_STRING_EQUAL(line(&p, 0),
	                       "1.24B tokens, 1.20M documents, 12 shards, 8.41M tokens/s, 35.1 MB/s, 13 %");
	p.share = 1.2;
	CU_ASSERT(strncmp(line(&p, 200), "[########################] ", 27) == 0);
}

static void test_latency(void)
{
	static struct latency l;
	CU_ASSERT_EQUAL(latency_percentile(&l, 99), 0);
	CU_ASSERT_EQUAL(latency_max(&l), 0);
	latency_note(&l, 337500);
	CU_ASSERT_EQUAL(latency_max(&l), 337);
	/* No percentile is longer than the longest. */
	CU_ASSERT_EQUAL(latency_percentile(&l, 50), 337);
	for (int64_t us = 1; us <= 10000; us++)
		latency_note(&l, us * 1000);
	for (unsigned percent = 1; percent <= 100; percent++) {
		uint64_t is = percent * 100, have = latency_percentile(&l, percent);
		CU_ASSERT(have >= is - 1 && (double)have <= 1.25 * (double)is + 1);
	}
	CU_ASSERT_EQUAL(latency_max(&l), 10000);
	latency_note(&l, INT64_MAX);
	CU_ASSERT_EQUAL(latency_max(&l), INT64_MAX / 1000);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "a progress line of any width", test_line },
		{ "what is not known is left out", test_unknown },
		{ "percentiles and the longest", test_latency },
		CU_TEST_INFO_NULL,
	};
	return unit_main("progress", tests);
}
