/* terminal: how wide and high what is written to is. One thread. */
#ifndef FW_CLI_TERMINAL_H
#define FW_CLI_TERMINAL_H

#include <stdbool.h>

/* Whether fd is a terminal that can be written over. */
bool terminal_is(int fd);

/* Columns and rows of fd's terminal; else of the environment's COLUMNS and LINES; else 80 and 24. */
void terminal_size(int fd, unsigned *columns, unsigned *rows);

#endif
