/* arguments: the command line of a subcommand: its own flags, any option of a mount, and words. One thread.
 *
 * A flag is --name VALUE, --name=VALUE or -l VALUE; a switch takes no value. Options of a mount are written
 * as
 * --seq-len 1024, --seq_len=1024 or -o seq_len=1024,seed=7. "--" ends the flags.
 */
#ifndef FW_CLI_ARGUMENTS_H
#define FW_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "dataset/options.h"

enum flag_kind {
	FLAG_SWITCH, /* bool */
	FLAG_TEXT,   /* const char *: of argv, not empty */
	FLAG_NUMBER, /* uint64_t */
	FLAG_COUNT,  /* uint64_t above 0 */
	FLAG_TOKENS, /* uint64_t above 0, as 38e9 or 10B */
	FLAG_SIZE,   /* uint64_t above 0, bytes, as 80G */
	FLAG_RATIO,  /* double above 0, at most 1: as 0.4 or 40% */
};

struct flag {
	const char *name;  /* without the dashes */
	char letter;       /* 0: none */
	const char *value; /* what help calls its value; NULL: a switch */
	const char *help;
	enum flag_kind kind;
	void *to;
};

/* One subcommand. */
struct command {
	const char *name;
	const char *words; /* its words, as help shows them; NULL: it takes none */
	const char *about; /* lines of at most 80 columns */
	const struct flag *flags;
	size_t n_flags;
	size_t least, most;      /* words */
	const char *const *need; /* a FLAG_TEXT that must be given; NULL: none */
	const char *need_text;   /* what was expected without it */
	bool sources; /* the words are sources, and a source is needed: without any it is the sample */
};

/* A zeroed struct may be freed. */
struct arguments {
	struct options options; /* of file, environment and command line; paths absolute if command.sources */
	bool sample;            /* no source anywhere: the bundled sample */
	char **words;           /* malloc'ed array of words of argv */
	size_t n;
};

#define ARGUMENTS_HELP 1

/* Reads argv[1...]; argv[0] is the subcommand. 0; ARGUMENTS_HELP: the help was asked for and is printed;
 * -EINVAL (usage), -ENOENT, -EACCES (configuration file, source), -ENOMEM. The caller frees *out in any case.
 */
int arguments_read(const struct command *c, int argc, char **argv, struct arguments *out, struct error *err);
void arguments_free(struct arguments *a);

#endif
