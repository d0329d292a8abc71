#define _GNU_SOURCE
#include "cli/sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "token/utf8.h"

#define LABEL 18 /* columns */

const char *sheet_count_text(uint64_t v, char buf[SHEET_NUMBER])
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, v), to = 0;
	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			buf[to++] = ',';
		buf[to++] = digits[i];
	}
	buf[to] = 0;
	return buf;
}

const char *sheet_bytes_text(double v, char buf[SHEET_NUMBER])
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	size_t u = 0;
	for (; v >= 1000 && u + 1 < sizeof units / sizeof units[0]; u++)
		v /= 1000;
	snprintf(buf, SHEET_NUMBER,
	         u == 0 || v >= 100 ? "%.0f %s"
	         : v >= 10          ? "%.1f %s"
	                            : "%.2f %s",
	         v, units[u]);
	return buf;
}

const char *sheet_time_text(uint64_t us, char buf[SHEET_NUMBER])
{
	double v = (double)us;
	const char *unit = "us";
	if (us >= 1000000) {
		v /= 1e6;
		unit = "s";
	} else if (us >= 1000) {
		v /= 1e3;
		unit = "ms";
	}
	snprintf(buf, SHEET_NUMBER, v >= 100 || unit[0] == 'u' ? "%.0f %s" : "%.1f %s", v, unit);
	return buf;
}

json_t *sheet_string(const char *text)
{
	if (text == NULL)
		return json_null();
	size_t n = strlen(text);
	uint8_t *valid = malloc(3 * n + 1);
	if (valid == NULL)
		return NULL;
	json_t *j = json_stringn((const char *)valid, utf8_replace((const uint8_t *)text, n, valid));
	free(valid);
	return j;
}

void sheet_json(struct sheet *s, const char *key, json_t *j)
{
	if (s->json == NULL)
		s->json = json_object();
	s->failed |= json_object_set_new(s->json, key, j) != 0;
}

static void add_line(struct sheet *s, const char *label, const char *value, const char *after)
{
	s->failed |=
	        buffer_printf(&s->text, "%-*s%s%s\n", LABEL, label, value, after == NULL ? "" : after) != 0;
}

void sheet_text(struct sheet *s, const char *key, const char *label, const char *value)
{
	if (key != NULL)
		sheet_json(s, key, sheet_string(value));
	if (label != NULL && value != NULL)
		add_line(s, label, value, NULL);
}

void sheet_count(struct sheet *s, const char *key, const char *label, uint64_t v, const char *after)
{
	char buf[SHEET_NUMBER];
	if (key != NULL)
		sheet_json(s, key, json_integer((json_int_t)v));
	if (label != NULL)
		add_line(s, label, sheet_count_text(v, buf), after);
}

void sheet_bytes(struct sheet *s, const char *key, const char *label, uint64_t v, const char *after)
{
	char buf[SHEET_NUMBER];
	if (key != NULL)
		sheet_json(s, key, json_integer((json_int_t)v));
	if (label != NULL)
		add_line(s, label, sheet_bytes_text((double)v, buf), after);
}

void sheet_real(struct sheet *s, const char *key, const char *label, double v, int digits, const char *after)
{
	char buf[SHEET_NUMBER];
	if (key != NULL)
		sheet_json(s, key, json_real(v));
	snprintf(buf, sizeof buf, "%.*f", digits, v);
	if (label != NULL)
		add_line(s, label, buf, after);
}

__attribute__((format(printf, 2, 0))) static void add_format(struct sheet *s, const char *format,
                                                             va_list args)
{
	char *line = NULL;
	int n = vasprintf(&line, format, args);
	s->failed |= n < 0 || buffer_printf(&s->text, "%s\n", line) != 0;
	if (n >= 0)
		free(line);
}

void sheet_line(struct sheet *s, const char *label, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	s->failed |= buffer_printf(&s->text, "%-*s", LABEL, label) != 0;
	add_format(s, format, args);
	va_end(args);
}

void sheet_plain(struct sheet *s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_format(s, format, args);
	va_end(args);
}

int sheet_print(struct sheet *s, bool json, struct error *err)
{
	int r = s->failed ? -ENOMEM : 0;
	if (r == 0 && json) {
		char *text = json_dumps(s->json, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
		s->text.n = 0;
		r = text == NULL ? -ENOMEM : buffer_printf(&s->text, "%s\n", text);
		free(text);
	}
	r = r == 0 ? output_buffer(&s->text, err) : fail(err, ENOMEM, "out of memory");
	sheet_free(s);
	return r;
}

void sheet_free(struct sheet *s)
{
	json_decref(s->json);
	buffer_free(&s->text);
	*s = (struct sheet){ 0 };
}
