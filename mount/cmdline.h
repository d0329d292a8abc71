/* cmdline: what the program was asked to mount, from command line, environment and fineweb.conf. One thread.
 */
#ifndef FW_MOUNT_CMDLINE_H
#define FW_MOUNT_CMDLINE_H

#include <stdbool.h>

#include "base/error.h"
#include "dataset/options.h"

struct cmdline {
	char *mountpoint; /* as it was typed; malloc'ed */
	char *device;     /* what mount tables show as the source: without commas and blanks; malloc'ed */
	bool foreground, debug; /* -f, -d */
	bool fake;              /* -f of mount(8): check, do not mount */
	bool sample;            /* no source anywhere: options.source is the bundled sample */
	bool allow_other, allow_root, auto_unmount, noexec, noatime;
	struct options options; /* paths are absolute */
};

/* Whether the program was started as a mount helper: its name (argv[0]) then begins with "mount.". */
bool cmdline_is_helper(const char *name);

/* Reads `[SOURCE] MOUNTPOINT [-f] [-d] [-o OPTIONS]` as mount(8), fstab and people write it; of a mount
 * helper `SOURCE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]`, as mount(8) defines it. Options
 * come from the configuration file, the environment and the command line; the later wins. On any result the
 * caller frees *out with cmdline_free. 0; -EINVAL (usage; the text says what is wrong), -ENOENT, -EACCES (a
 * local source or `config` that can not be read), -ENOMEM. */
int cmdline_read(int argc, char **argv, char **environment, struct cmdline *out, struct error *err);
void cmdline_free(struct cmdline *c);

#endif
