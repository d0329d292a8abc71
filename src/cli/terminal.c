#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is(int fd)
{
	const char *kind = getenv("TERM");
	return isatty(fd) == 1 && (kind == NULL || strcmp(kind, "dumb") != 0);
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);
	long n = text == NULL ? 0 : strtol(text, NULL, 10);
	return n > 0 && n < 100000 ? (unsigned)n : otherwise;
}

void terminal_size(int fd, unsigned *columns, unsigned *rows)
{
	struct winsize size;
	if (ioctl(fd, TIOCGWINSZ, &size) != 0)
		size.ws_col = size.ws_row = 0;
	*columns = size.ws_col > 0 ? size.ws_col : from_environment("COLUMNS", 80);
	*rows = size.ws_row > 0 ? size.ws_row : from_environment("LINES", 24);
}
