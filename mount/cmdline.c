#define _GNU_SOURCE
#include "mount/cmdline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/settings.h"

/* Options of mount(8) and fstab(5) that mean nothing here: a mount is always ro,nosuid,nodev. The kernel's
 * and mount(8)'s own names of fsname and subtype among them, since both are set. */
/* clang-format off */
static const char *const ignored[] = {
	"rw", "ro", "dev", "nodev", "suid", "nosuid", "exec", "auto", "noauto", "user", "nouser", "users",
	"_netdev", "nofail", "atime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime",
	"nostrictatime", "lazytime", "nolazytime", "silent", "loud", "owner", "group", "defaults",
	"default_permissions", "comment", "uhelper", "helper", "fsname", "subtype", "max_read",
};
/* clang-format on */

static bool is_ignored(const char *key)
{
	if (strncmp(key, "x-", 2) == 0 || strncmp(key, "X-", 2) == 0)
		return true;
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		if (strcmp(key, ignored[i]) == 0)
			return true;
	return false;
}

static bool *flag_of(struct cmdline *c, const char *key)
{
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "allow_other", &c->allow_other }, { "allow_root", &c->allow_root },
		{ "noexec", &c->noexec },           { "auto_unmount", &c->auto_unmount },
		{ "noatime", &c->noatime },
	};
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (strcmp(key, flags[i].name) == 0)
			return flags[i].flag;
	return NULL;
}

/* Words of the command line that are no options. */
struct words {
	char *source, *mountpoint; /* of argv */
	struct settings settings;
};

static int take_word(struct words *w, char *word, struct error *err)
{
	if (w->mountpoint == NULL) {
		w->mountpoint = word;
	} else if (w->source == NULL) {
		w->source = w->mountpoint;
		w->mountpoint = word;
	} else {
		return fail(err, EINVAL,
		            "unexpected '%s': expected [SOURCE] MOUNTPOINT, more sources as -o source=...",
		            word);
	}
	return 0;
}

bool cmdline_is_helper(const char *name)
{
	const char *slash = strrchr(name, '/');
	return strncmp(slash == NULL ? name : slash + 1, "mount.", 6) == 0;
}

/* Words of mount(8)'s convention for helpers: what asks for nothing here is taken. False: it is none. */
static bool take_flag_of_helper(struct cmdline *c, int argc, char **argv, int *i)
{
	const char *a = argv[*i];
	if ((strcmp(a, "-N") == 0 || strcmp(a, "-t") == 0) && *i + 1 < argc) {
		++*i;
		return true;
	}
	if (a[1] == 0 || strspn(a + 1, "sfnv") != strlen(a + 1))
		return false;
	c->fake |= strchr(a, 'f') != NULL;
	return true;
}

static int split_words(int argc, char **argv, struct cmdline *c, struct words *w, struct error *err)
{
	bool plain = false, helper = cmdline_is_helper(argv[0]);
	int r = 0;
	for (int i = 1; i < argc && r == 0; i++) {
		char *a = argv[i];
		if (plain || a[0] != '-' || a[1] == 0)
			r = take_word(w, a, err);
		else if (strcmp(a, "--") == 0)
			plain = true;
		else if (helper && take_flag_of_helper(c, argc, argv, &i))
			continue;
		else if (strcmp(a, "-f") == 0)
			c->foreground = true;
		else if (strcmp(a, "-d") == 0)
			c->debug = true;
		else if (strcmp(a, "-o") == 0 && i + 1 < argc)
			r = settings_split(&w->settings, argv[++i], err);
		else if (strncmp(a, "-o", 2) == 0 && a[2] != 0)
			r = settings_split(&w->settings, a + 2, err);
		else if (strcmp(a, "-o") == 0)
			r = fail(err, EINVAL, "-o: expected options behind it");
		else
			r = fail(err, EINVAL,
			         "unknown option '%s': expected -f, -d, -o OPTIONS, --help or --version", a);
	}
	if (r == 0 && w->mountpoint == NULL)
		r = fail(err, EINVAL,
		         "expected a mountpoint: fineweb [SOURCE] MOUNTPOINT [-f] [-d] [-o OPTIONS]");
	return r;
}

static int take_setting(void *arg, const char *key, const char *value, struct error *err)
{
	bool *flag = flag_of(arg, key);
	(void)value;
	if (flag != NULL)
		*flag = true;
	if (flag != NULL || is_ignored(key))
		return 1;
	if (strcmp(key, "remount") == 0)
		return fail(err, EINVAL, "remount is not possible: unmount first");
	return 0;
}

/* Mount tables separate with commas and blanks. */
static int name_device(struct cmdline *c, struct error *err)
{
	c->device = strdup(c->options.sources == 0 ? "fineweb" : c->options.source[0]);
	if (c->device == NULL)
		return fail(err, ENOMEM, "no memory for the command line");
	for (char *p = c->device; *p != 0; p++)
		if (*p == ',' || *p == '\\' || *p == '"' || (unsigned char)*p <= ' ' || *p == 0x7f)
			*p = '_';
	return 0;
}

int cmdline_read(int argc, char **argv, char **environment, struct cmdline *out, struct error *err)
{
	struct words w = { 0 };
	*out = (struct cmdline){ 0 };
	options_init(&out->options);
	int r = split_words(argc, argv, out, &w, err);
	/* mount -t fuse.fineweb has to name something: by custom "none". */
	bool source = w.source != NULL && strcmp(w.source, "none") != 0;
	if (r == 0)
		r = settings_apply(&w.settings, environment, &w.source, source, take_setting, out,
		                   &out->options, err);
	if (r == 0)
		r = name_device(out, err);
	if (r == 0 && out->options.sources == 0) {
		r = settings_use_sample(&out->options, err);
		out->sample = r == 0;
	}
	/* The daemon leaves the folder in which it was started. */
	if (r == 0)
		r = settings_check_paths(&out->options, err);
	if (r == 0 && (out->mountpoint = strdup(w.mountpoint)) == NULL)
		r = fail(err, ENOMEM, "no memory for the command line");
	settings_free(&w.settings);
	return r;
}

void cmdline_free(struct cmdline *c)
{
	free(c->mountpoint);
	free(c->device);
	options_free(&c->options);
}
