/* subcommands: what `fineweb WORD` runs, a file each.
 *
 * Each takes the words of the command line from its own name on. 0; -EINVAL (usage), -EPIPE (nobody reads
 * stdout any more), or another -errno with the cause in *err: data, network, disk.
 */
#ifndef FW_CLI_SUBCOMMANDS_H
#define FW_CLI_SUBCOMMANDS_H

#include "base/error.h"

typedef int subcommand(int argc, char **argv, struct error *err);

subcommand prepare_run, index_run, cat_run, info_run, plan_run, encode_run, decode_run, bench_run;

#endif
