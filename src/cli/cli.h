/* cli: the subcommands. `fineweb WORD ...` runs the one of that name; any other first word belongs to a
 * mount. */
#ifndef FW_CLI_CLI_H
#define FW_CLI_CLI_H

#include <stdbool.h>

/* Whether the first word of a command line is a subcommand, or asks for help or for the version. */
bool cli_knows(const char *word);

/* Runs argv[1], which cli_knows. Returns the exit code: 0, 1 (data, network, disk) or 2 (usage). */
int cli_main(int argc, char **argv);

#endif
