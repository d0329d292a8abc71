#include "unit/unit.h"

#include <CUnit/CUError.h>
#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned done;
static unsigned bad;
static const char *skipped;

static void completed(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failures)
{
	(void)suite;
	for (CU_pFailureRecord f = failures; f != NULL; f = f->pNext)
		printf("# %s:%u: %s\n", f->strFileName, f->uiLineNumber, f->strCondition);
	if (failures != NULL)
		bad++;
	if (skipped != NULL && failures == NULL)
		printf("ok %u - %s # SKIP %s\n", ++done, test->pName, skipped);
	else
		printf("%s %u - %s\n", failures == NULL ? "ok" : "not ok", ++done, test->pName);
	skipped = NULL;
	fflush(stdout);
}

int unit_main(const char *suite, CU_TestInfo *tests)
{
	return unit_main_each(suite, tests, NULL, NULL);
}

int unit_main_each(const char *suite, CU_TestInfo *tests, void (*setup)(void), void (*teardown)(void))
{
	unsigned n = 0;
	while (tests[n].pName != NULL)
		n++;
	CU_SuiteInfo suites[] = {
		{ suite, NULL, NULL, setup, teardown, tests },
		CU_SUITE_INFO_NULL,
	};
	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) {
		fprintf(stderr, "%s: %s\n", suite, CU_get_error_msg());
		return 99;
	}
	CU_set_test_complete_handler(completed);
	printf("1..%u\n", n);
	CU_run_all_tests();
	CU_cleanup_registry();
	return bad != 0;
}

void unit_skip(const char *reason)
{
	skipped = reason;
}

const char *unit_data(const char *name)
{
	static char path[4096];
	const char *top = getenv("srcdir");
	if (top == NULL)
		top = ".";
	snprintf(path, sizeof path, "%s/tests/data/%s", top, name);
	if (access(path, R_OK) == 0)
		return path;
	const char *shared = getenv("FINEWEB_SHARED");
	if (shared != NULL)
		snprintf(path, sizeof path, "%s/data/%s", shared, name);
	else
		snprintf(path, sizeof path, "%s/../shared/data/%s", top, name);
	return access(path, R_OK) == 0 ? path : NULL;
}
