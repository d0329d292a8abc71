#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "dataset/options.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unknown"
#endif

static int help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("usage: fineweb [SOURCE] MOUNTPOINT [-f] [-d] [-o OPTION[=VALUE],...]\n"
	       "       mount -t fuse.fineweb SOURCE MOUNTPOINT -o OPTION[=VALUE],...\n"
	       "\n"
	       "Mounts a dataset as batches of tokens, one plain file each. Without a source: a small sample.\n"
	       "\n"
	       "  -f             stay in the foreground, log to stderr\n"
	       "  -d             log more\n"
	       "  -h, --help     this text\n"
	       "  -V, --version  the version\n"
	       "\n"
	       "Options. A comma in a value is written \\, ; later ones win: /etc/fineweb.conf, FINEWEB_<OPTION>, these.\n");
	for (size_t i = 0; i < option_count; i++) {
		const struct option_definition *d = &option_definitions[i];
		printf("  %-14s %s\n  %14s %s; default %s\n", d->name, d->help, "", d->values, d->standard);
	}
	return 0;
}

static int version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("fineweb %s\n", PACKAGE_VERSION);
	return 0;
}

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{ "-h", help },
	{ "--help", help },
	{ "-V", version },
	{ "--version", version },
};

static const struct subcommand *find(const char *word)
{
	for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
		if (strcmp(subcommands[i].name, word) == 0)
			return &subcommands[i];
	return NULL;
}

bool cli_knows(const char *word)
{
	return find(word) != NULL;
}

int cli_main(int argc, char **argv)
{
	int code = find(argv[1])->run(argc, argv);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "fineweb: writing to stdout failed\n");
		return 1;
	}
	return code;
}
