/* fineweb: mounts a pretraining dataset as batch files, or runs a subcommand. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/secret.h"
#include "cli/cli.h"
#include "mount/cmdline.h"
#include "mount/session.h"

/* A closed stdin, stdout or stderr would give its number to the next file that is opened. */
static void open_stdio(void)
{
	int fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3)
		fd = open("/dev/null", O_RDWR);
	if (fd >= 0)
		close(fd);
}

static int mount_main(int argc, char **argv)
{
	struct cmdline line;
	struct error err = { 0 };
	int code, r = cmdline_read(argc, argv, environ, &line, &err);
	/* A descriptor that the daemon inherits, as a pipe's end, would keep whoever reads the other end
	 * waiting. */
	close_range(3, ~0U, 0);
	if (r == 0 && line.fake) {
		code = EXIT_MOUNTED;
	} else if (r == 0) {
		if (line.sample)
			log_warning("no source is named: mounting the bundled sample, %s",
			            line.options.source[0]);
		code = session_run(&line, &err);
	} else {
		code = err.code == EINVAL ? EXIT_USAGE : err.code == ENOMEM ? EXIT_SYSTEM : EXIT_NOT_MOUNTED;
	}
	if (code != EXIT_MOUNTED && err.text[0] != 0)
		fprintf(stderr, "fineweb: %s\n", err.text);
	cmdline_free(&line);
	return code;
}

int main(int argc, char **argv)
{
	secrets_hide();
	open_stdio();
	if (argc > 1 && !cmdline_is_helper(argv[0]) && cli_knows(argv[1]))
		return cli_main(argc, argv);
	return mount_main(argc, argv);
}
