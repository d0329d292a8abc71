/* log: one line an event, to stderr or to syslog.
 *
 * Any thread may log at any time after log_open (before it: stderr, warnings and up).
 */
#ifndef FW_BASE_LOG_H
#define FW_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Chooses where lines go (daemon: syslog as "fineweb", else stderr) and the last level that is written. */
void log_open(bool daemon, enum log_level last);

/* A line that is drawn anew again and again stands on stderr, a terminal, from now on: what is logged erases it. */
void log_over_line(bool drawn);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
