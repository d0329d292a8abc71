#include "unit/unit.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/block.h"

#define MIB ((size_t)1 << 20)

static void test_grows_and_keeps_bytes(void)
{
	unsigned char *at = block_grow(NULL, 10);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	memcpy(at, "0123456789", 10);
	for (size_t n = 20; n < 40 * MIB; n *= 3) {
		at = block_grow(at, n);
		CU_ASSERT_PTR_NOT_NULL_FATAL(at);
		CU_ASSERT_EQUAL(memcmp(at, "0123456789", 10), 0);
		at[n - 1] = 1;
	}
	block_free(at);
	block_free(NULL);
	CU_ASSERT_PTR_NULL(block_new(SIZE_MAX)); /* with its header more than memory can have */
}

/* Blocks that are used at once are never the same, whatever was freed before. */
static void *churn(void *arg)
{
	unsigned char *mine[6] = { 0 };
	size_t size[6] = { 0 };
	uint32_t dice = (uint32_t)(uintptr_t)arg;
	uintptr_t wrong = 0;
	for (unsigned i = 0; i < 3000; i++) {
		dice = dice * 1664525u + 1013904223u;
		unsigned k = (dice >> 8) % 6;
		for (size_t at = 0; mine[k] != NULL && at < size[k]; at += size[k] / 3 + 1)
			wrong += mine[k][at] != (unsigned char)(uintptr_t)arg;
		block_free(mine[k]);
		size[k] = BLOCK_LEAST / 2 + (dice >> 12) % (3 * MIB);
		mine[k] = block_new(size[k]);
		for (size_t at = 0; mine[k] != NULL && at < size[k]; at += size[k] / 3 + 1)
			mine[k][at] = (unsigned char)(uintptr_t)arg;
		if (i % 500 == 0)
			block_bound(i % 1000 == 0 ? 0 : BLOCK_BOUND);
	}
	for (unsigned k = 0; k < 6; k++)
		block_free(mine[k]);
	return (void *)wrong;
}

static void test_threads_share_none(void)
{
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		CU_ASSERT_PTR_NULL(wrong);
	}
	block_bound(0);
	block_bound(BLOCK_BOUND);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "a block grows and keeps its bytes", test_grows_and_keeps_bytes },
		{ "blocks in use are never the same", test_threads_share_none },
		CU_TEST_INFO_NULL,
	};
	return unit_main("block", tests);
}
