/* unit: runs CUnit tests and speaks TAP. */
#ifndef FW_TESTS_UNIT_H
#define FW_TESTS_UNIT_H

#include <CUnit/CUnit.h>

/* Runs every test of the array (ends with CU_TEST_INFO_NULL) as one suite, prints one TAP line for each test and
 * "# file:line: condition" for each failed assertion. Returns main's exit code. */
int unit_main(const char *suite, CU_TestInfo *tests);
/* The same, with a function that runs before each test and one that runs after it (each may be NULL). */
int unit_main_each(const char *suite, CU_TestInfo *tests, void (*setup)(void), void (*teardown)(void));

/* Path of a file below tests/data or ../shared/data, whichever has it; NULL when neither is there. Overwritten by the next call. */
const char *unit_data(const char *name);

/* Says that the running test has nothing to run on: its line becomes "ok ... # SKIP reason". */
void unit_skip(const char *reason);

#endif
