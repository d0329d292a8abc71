#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void one_line(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p != 0; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
}

int fail(struct error *err, int code, const char *format, ...)
{
	if (err == NULL)
		return -code;
	va_list args;
	va_start(args, format);
	err->code = code;
	err->again = false;
	err->wait_ms = 0;
	if (vsnprintf(err->text, sizeof err->text, format, args) < 0)
		err->text[0] = 0;
	va_end(args);
	one_line(err->text);
	return -code;
}

int fail_in(struct error *err, const char *format, ...)
{
	if (err == NULL)
		return -EIO;
	char context[ERROR_TEXT], old[ERROR_TEXT];
	va_list args;
	va_start(args, format);
	if (vsnprintf(context, sizeof context, format, args) < 0)
		context[0] = 0;
	va_end(args);
	memcpy(old, err->text, sizeof old);
	size_t n = strlen(context);
	if (n > sizeof context - 3)
		n = sizeof context - 3;
	memcpy(err->text, context, n);
	memcpy(err->text + n, ": ", 2);
	n += 2;
	size_t m = strnlen(old, sizeof old - 1);
	if (m > sizeof err->text - 1 - n)
		m = sizeof err->text - 1 - n;
	memcpy(err->text + n, old, m);
	err->text[n + m] = 0;
	one_line(err->text);
	return -err->code;
}

const char *errno_name(int code)
{
	switch (code) {
	case ENOENT: return "ENOENT";
	case EROFS: return "EROFS";
	case EBADMSG: return "EBADMSG";
	case ENOTSUP: return "ENOTSUP";
	case ESTALE: return "ESTALE";
	case EACCES: return "EACCES";
	case ETIMEDOUT: return "ETIMEDOUT";
	case EIO: return "EIO";
	case EINTR: return "EINTR";
	case EINVAL: return "EINVAL";
	case ENOMEM: return "ENOMEM";
	case ENOSPC: return "ENOSPC";
	default: return strerror(code);
	}
}
