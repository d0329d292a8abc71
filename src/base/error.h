/* error: what went wrong, said once by the place that knows it.
 *
 * Fallible functions return 0 (or a count) or -errno, and where they take a
 * `struct error *` they also leave one line of text in it: what, where, and
 * what was expected. The pointer may be NULL. A struct error belongs to its
 * caller; it holds no resources. Not shared between threads.
 */
#ifndef FW_BASE_ERROR_H
#define FW_BASE_ERROR_H

#include <stdbool.h>

#define ERROR_TEXT 1024

struct error {
	int code;             /* an errno, positive; 0 is "no error" */
	bool again;           /* a new attempt may succeed (network, overload) */
	unsigned wait_ms;     /* how long the peer asked us to wait before it (Retry-After), 0: not said */
	char text[ERROR_TEXT]; /* one line, no newline at the end */
};

/* Stores code and the formatted text, and returns -code. Longer text is cut at
 * ERROR_TEXT - 1 bytes. Control characters become '?', so that a name in untrusted data
 * can not break a log line. `again` and `wait_ms` become false and 0. */
int fail(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text that is already there, keeps the code, and
 * returns -code. */
int fail_in(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The name of an errno of the table in the manual ("EBADMSG"), else strerror's text. */
const char *errno_name(int code);

#endif
