/* secret: what the environment gives the program and nobody may see.
 *
 * /proc/PID/environ, `ps e` and a core file show the block of memory in which the kernel gave the program its
 * environment, as it was at the start, whatever setenv and unsetenv do later. So the values of SECRETS are
 * copied, and overwritten where they stood; programs that are started later do not inherit them.
 */
#ifndef FW_BASE_SECRET_H
#define FW_BASE_SECRET_H

/* HF_TOKEN, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN. */
#define SECRETS 3

/* Hides them. Call it once, first in main, while there is one thread. A value for which there is no memory is
 * overwritten all the same, and is then not set. */
void secrets_hide(void);

/* The value of an environment variable, hidden or not; NULL if it is not set or is empty. The program's; good
 * until it ends or the variable is set anew. Any thread. */
const char *secret_get(const char *name);

#endif
