#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/subcommands.h"
#include "dataset/options.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unknown"
#endif

static subcommand help, version;

static const struct entry {
	const char *name;
	subcommand *run;
	const char *about;
} entries[] = {
	{ "prepare", prepare_run, "write the tokens of a source as shards" },
	{ "index", index_run, "count a source ahead, tell what it has" },
	{ "cat", cat_run, "write batches of a source, tell where rows are from, find documents" },
	{ "info", info_run, "tell what a source, a mount or a token file is" },
	{ "plan", plan_run, "batch size, memory and time of a training run" },
	{ "encode", encode_run, "turn text into the ids of tokens" },
	{ "decode", decode_run, "turn ids of tokens into text" },
	{ "bench", bench_run, "measure what the machine can do" },
	{ "-h", help, NULL },
	{ "--help", help, NULL },
	{ "-V", version, NULL },
	{ "--version", version, NULL },
};
#define ENTRIES (sizeof entries / sizeof entries[0])

static int help(int argc, char **argv, struct error *err)
{
	(void)argc;
	(void)argv;
	(void)err;
	printf("usage: fineweb [SOURCE] MOUNTPOINT [-f] [-d] [-o OPTION[=VALUE],...]\n"
	       "       mount -t fuse.fineweb SOURCE MOUNTPOINT -o OPTION[=VALUE],...\n"
	       "       fineweb SUBCOMMAND ...\n"
	       "\n"
	       "Mounts a dataset as batches of tokens, one plain file each. Without a source: a small "
	       "sample.\n"
	       "\n"
	       "  -f             stay in the foreground, log to stderr\n"
	       "  -d             log more\n"
	       "  -h, --help     this text; of a subcommand: fineweb SUBCOMMAND --help\n"
	       "  -V, --version  the version\n"
	       "\n"
	       "Subcommands, which need no mount:\n");
	for (size_t i = 0; i < ENTRIES; i++)
		if (entries[i].about != NULL)
			printf("  fineweb %-8s %s\n", entries[i].name, entries[i].about);
	printf("\nOptions. A comma in a value is written \\, ; later ones win: /etc/fineweb.conf, "
	       "FINEWEB_<OPTION>, these.\n");
	for (size_t i = 0; i < option_count; i++) {
		const struct option_definition *d = &option_definitions[i];
		printf("  %-14s %s\n  %14s %s; default %s\n", d->name, d->help, "", d->values, d->standard);
	}
	return 0;
}

static int version(int argc, char **argv, struct error *err)
{
	(void)argc;
	(void)argv;
	(void)err;
	printf("fineweb %s\n", PACKAGE_VERSION);
	return 0;
}

static const struct entry *find(const char *word)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (strcmp(entries[i].name, word) == 0)
			return &entries[i];
	return NULL;
}

bool cli_knows(const char *word)
{
	return find(word) != NULL;
}

int cli_main(int argc, char **argv)
{
	struct error err = { 0 };
	/* Nobody reading any more is an errno of write, and of the sockets of whoever fetches. */
	signal(SIGPIPE, SIG_IGN);
	int r = find(argv[1])->run(argc - 1, argv + 1, &err), flushed = 0;
	if (r != -EPIPE)
		flushed = output_flush(r == 0 ? &err : NULL);
	if (r == 0)
		r = flushed;
	if (r == 0 || r == -EPIPE)
		return 0;
	fprintf(stderr, "fineweb: %s: %s\n", argv[1], err.text);
	return r == -EINVAL ? 2 : 1;
}
