/* sheet: facts that are printed for people, a line each, or as one JSON object. One thread.
 *
 * Each fact is said once: a key for programs, a label for people. A call that has no memory makes sheet_print
 * fail.
 */
#ifndef FW_CLI_SHEET_H
#define FW_CLI_SHEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* A zeroed struct is an empty sheet. */
struct sheet {
	json_t *json;
	struct buffer text;
	bool failed;
};

#define SHEET_NUMBER 40

/* "1,234,567" and "2.15 GB" (powers of 1000), into buf, which is returned. */
const char *sheet_count_text(uint64_t v, char buf[SHEET_NUMBER]);
const char *sheet_bytes_text(double v, char buf[SHEET_NUMBER]);

/* "950 us", "1.2 ms", "3.4 s", of microseconds. */
const char *sheet_time_text(uint64_t us, char buf[SHEET_NUMBER]);

/* key NULL: not in the object. label NULL: not for people. value NULL: null in the object, no line. */
void sheet_text(struct sheet *s, const char *key, const char *label, const char *value);
/* after stands behind the number, as " tokens". */
void sheet_count(struct sheet *s, const char *key, const char *label, uint64_t v, const char *after);
void sheet_bytes(struct sheet *s, const char *key, const char *label, uint64_t v, const char *after);
void sheet_real(struct sheet *s, const char *key, const char *label, double v, int digits, const char *after);
/* Only in the object; j is taken over. */
void sheet_json(struct sheet *s, const char *key, json_t *j);
/* Only for people: a line with a label, or one of its own. */
void sheet_line(struct sheet *s, const char *label, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void sheet_plain(struct sheet *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A string of any bytes: what is no UTF-8 becomes U+FFFD. NULL gives null. */
json_t *sheet_string(const char *text);

/* Writes it to stdout and frees it. 0, -EPIPE, -ENOMEM, or what output_write says. */
int sheet_print(struct sheet *s, bool json, struct error *err);
void sheet_free(struct sheet *s);

#endif
