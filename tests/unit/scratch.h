/* scratch: a folder for one test, gone when it ends. */
#ifndef FW_TESTS_SCRATCH_H
#define FW_TESTS_SCRATCH_H

/* Makes a new folder below $TMPDIR (else /tmp) and returns its path, or NULL. The caller frees it with
 * scratch_remove. */
char *scratch_make(void);
/* Removes the folder with all that is in it, and frees the path. NULL-safe. */
void scratch_remove(char *dir);

#endif
