#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

static atomic_int to_syslog;
static atomic_bool over_line;
static atomic_int last_level = LOG_LEVEL_WARNING;

void log_open(bool daemon, enum log_level last)
{
	if (daemon)
		openlog("fineweb", LOG_PID, LOG_DAEMON);
	atomic_store(&to_syslog, daemon);
	atomic_store(&last_level, (int)last);
}

void log_over_line(bool drawn)
{
	atomic_store(&over_line, drawn);
}

__attribute__((format(printf, 2, 0))) static void write_line(enum log_level level, const char *format,
                                                             va_list args)
{
	static const int priority[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
	static const char *const word[] = { "error: ", "warning: ", "", "debug: " };
	if ((int)level > atomic_load_explicit(&last_level, memory_order_relaxed))
		return;
	char line[2048];
	if (vsnprintf(line, sizeof line, format, args) < 0)
		return;
	for (unsigned char *p = (unsigned char *)line; *p != 0; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
	if (atomic_load(&to_syslog))
		syslog(priority[level], "%s%s", word[level], line);
	else
		fprintf(stderr, "%sfineweb: %s%s\n", atomic_load(&over_line) ? "\r\033[K" : "", word[level],
		        line);
}

#define LOG_FUNCTION(name, level)                \
	void name(const char *format, ...)       \
	{                                        \
		va_list args;                    \
		va_start(args, format);          \
		write_line(level, format, args); \
		va_end(args);                    \
	}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
