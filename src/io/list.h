/* list: a text of paths and URLs, one a line. Pure; each struct belongs to one thread. */
#ifndef FW_IO_LIST_H
#define FW_IO_LIST_H

#include <stddef.h>

#include "base/error.h"

struct list {
	char *at;
};

/* Begins with n bytes of text and a NUL behind them, which the lines are cut from in place: it outlives
 * the list and all its lines. A byte order mark is passed over. `name` is for the message. 0 or -EINVAL
 * (a zero byte). */
int list_begin(struct list *l, char *text, size_t n, const char *name, struct error *err);

/* The next line without the blanks around it; empty ones and those that begin with '#' are passed over.
 * NULL at the end. */
char *list_next(struct list *l);

#endif
