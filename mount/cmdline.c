#define _GNU_SOURCE
#include "mount/cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options of mount(8) and fstab(5) that mean nothing here: a mount is always ro,nosuid,nodev. The kernel's and
 * mount(8)'s own names of fsname and subtype among them, since both are set. */
static const char *const ignored[] = {
	"rw", "ro", "dev", "nodev", "suid", "nosuid", "exec", "auto", "noauto", "user", "nouser", "users", "_netdev",
	"nofail", "atime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime",
	"lazytime", "nolazytime", "silent", "loud", "owner", "group", "defaults", "default_permissions", "comment",
	"uhelper", "helper", "fsname", "subtype", "max_read",
};

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
		{ "allow_other", &c->allow_other }, { "allow_root", &c->allow_root }, { "noexec", &c->noexec },
		{ "auto_unmount", &c->auto_unmount }, { "noatime", &c->noatime },
	};
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (strcmp(key, flags[i].name) == 0)
			return flags[i].flag;
	return NULL;
}

/* Words of the command line, before any is applied: `config` counts before the others. */
struct words {
	char *source, *mountpoint; /* of argv */
	char **option;             /* malloc'ed "key" or "key=value", commas in values plain */
	size_t options;
	const char *config;
};

static int add_option(struct words *w, char *option, struct error *err)
{
	char **more = realloc(w->option, (w->options + 1) * sizeof *more);
	if (more == NULL) {
		free(option);
		return fail(err, ENOMEM, "no memory for the command line");
	}
	w->option = more;
	w->option[w->options++] = option;
	if (strncmp(option, "config=", 7) == 0)
		w->config = option + 7;
	return 0;
}

/* Splits at commas that no backslash escapes. */
static int split_options(struct words *w, const char *text, struct error *err)
{
	int r = 0;
	while (r == 0 && *text != 0) {
		char *option = malloc(strlen(text) + 1), *to = option;
		if (option == NULL)
			return fail(err, ENOMEM, "no memory for the command line");
		for (; *text != 0 && *text != ','; text++) {
			if (text[0] == '\\' && text[1] == ',')
				text++;
			*to++ = *text;
		}
		*to = 0;
		if (*text == ',')
			text++;
		if (*option != 0)
			r = add_option(w, option, err);
		else
			free(option);
	}
	return r;
}

static int take_word(struct words *w, char *word, struct error *err)
{
	if (w->mountpoint == NULL) {
		w->mountpoint = word;
	} else if (w->source == NULL) {
		w->source = w->mountpoint;
		w->mountpoint = word;
	} else {
		return fail(err, EINVAL, "unexpected '%s': expected [SOURCE] MOUNTPOINT, more sources as -o source=...", word);
	}
	return 0;
}

static int split_words(int argc, char **argv, struct cmdline *c, struct words *w, struct error *err)
{
	bool plain = false;
	int r = 0;
	for (int i = 1; i < argc && r == 0; i++) {
		char *a = argv[i];
		if (plain || a[0] != '-' || a[1] == 0)
			r = take_word(w, a, err);
		else if (strcmp(a, "--") == 0)
			plain = true;
		else if (strcmp(a, "-f") == 0)
			c->foreground = true;
		else if (strcmp(a, "-d") == 0)
			c->debug = true;
		else if (strcmp(a, "-o") == 0 && i + 1 < argc)
			r = split_options(w, argv[++i], err);
		else if (strncmp(a, "-o", 2) == 0 && a[2] != 0)
			r = split_options(w, a + 2, err);
		else if (strcmp(a, "-o") == 0)
			r = fail(err, EINVAL, "-o: expected options behind it");
		else
			r = fail(err, EINVAL, "unknown option '%s': expected -f, -d, -o OPTIONS, --help or --version", a);
	}
	if (r == 0 && w->mountpoint == NULL)
		r = fail(err, EINVAL, "expected a mountpoint: fineweb [SOURCE] MOUNTPOINT [-f] [-d] [-o OPTIONS]");
	return r;
}

static int apply_option(struct cmdline *c, char *option, struct error *err)
{
	char *value = strchr(option, '=');
	if (value != NULL)
		*value++ = 0;
	bool *flag = flag_of(c, option);
	if (flag != NULL)
		*flag = true;
	if (flag != NULL || is_ignored(option))
		return 0;
	if (strcmp(option, "remount") == 0)
		return fail(err, EINVAL, "remount is not possible: unmount first");
	return options_set(&c->options, option, value, err);
}

static int apply_words(struct cmdline *c, struct words *w, struct error *err)
{
	bool source = false;
	int r = 0;
	/* mount -t fuse.fineweb has to name something: by custom "none". */
	if (w->source != NULL && strcmp(w->source, "none") == 0)
		w->source = NULL;
	for (size_t i = 0; i < w->options; i++)
		source = source || strncmp(w->option[i], "source=", 7) == 0;
	if (source || w->source != NULL)
		options_clear_sources(&c->options);
	if (w->source != NULL)
		r = options_set(&c->options, "source", w->source, err);
	for (size_t i = 0; i < w->options && r == 0; i++)
		r = apply_option(c, w->option[i], err);
	return r;
}

static const char *config_of_environment(char **environment)
{
	static const char name[] = "FINEWEB_CONFIG=";
	for (; environment != NULL && *environment != NULL; environment++)
		if (strncmp(*environment, name, sizeof name - 1) == 0)
			return *environment + sizeof name - 1;
	return NULL;
}

static int apply_file(struct cmdline *c, const char *named, struct error *err)
{
	static const char standard[] = SYSCONFDIR "/fineweb.conf";
	int r = options_read_file(&c->options, named != NULL ? named : standard, err);
	return r == -ENOENT && named == NULL ? 0 : r;
}

/* The folder of the bundled sample, installed or beside the program in a build tree; NULL. */
static char *find_sample(void)
{
	static const char *const beside[] = { "/examples/sample", "/../examples/sample", "/../../examples/sample" };
	char program[PATH_MAX], *path = NULL;
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	if (access(PKGDATADIR "/sample", R_OK) == 0)
		return strdup(PKGDATADIR "/sample");
	if (n <= 0)
		return NULL;
	program[n] = 0;
	*strrchr(program, '/') = 0;
	for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
		if (asprintf(&path, "%s%s", program, beside[i]) < 0)
			return NULL;
		if (access(path, R_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

static int use_sample(struct cmdline *c, struct error *err)
{
	char *path = find_sample();
	if (path == NULL)
		return fail(err, ENOENT, "no source is named, and the bundled sample is not in %s: give a source",
			    PKGDATADIR "/sample");
	int r = options_set(&c->options, "source", path, err);
	free(path);
	c->sample = r == 0;
	return r;
}

static bool is_url(const char *source)
{
	return strstr(source, "://") != NULL;
}

/* The daemon leaves the folder in which it was started. */
static int make_absolute(char **path, struct error *err)
{
	char *old = *path, *folder;
	if (old == NULL || old[0] == '/' || is_url(old))
		return 0;
	folder = getcwd(NULL, 0);
	while (old[0] == '.' && old[1] == '/')
		old += 2;
	char *joined = NULL;
	if (folder == NULL || asprintf(&joined, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, old) < 0)
		joined = NULL;
	free(folder);
	if (joined == NULL)
		return fail(err, ENOMEM, "%s: no memory for its absolute path", *path);
	free(*path);
	*path = joined;
	return 0;
}

static int check_paths(struct cmdline *c, struct error *err)
{
	struct options *o = &c->options;
	int r = 0;
	for (size_t i = 0; i < o->sources && r == 0; i++) {
		const char *s = o->source[i];
		/* A glob names what there is, so that it can only be looked at later. */
		if (!is_url(s) && strpbrk(s, "*?[") == NULL && access(s, R_OK) != 0)
			r = fail(err, errno, "source %s: %s", s, strerror(errno));
		else
			r = make_absolute(&o->source[i], err);
	}
	if (r == 0)
		r = make_absolute(&o->cache, err);
	if (r == 0)
		r = make_absolute(&o->index, err);
	if (r == 0 && o->tokenizer != NULL && access(o->tokenizer, R_OK) == 0)
		r = make_absolute(&o->tokenizer, err);
	return r;
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
	if (r == 0)
		r = apply_file(out, w.config != NULL ? w.config : config_of_environment(environment), err);
	if (r == 0)
		r = options_read_environment(&out->options, environment, err);
	if (r == 0)
		r = apply_words(out, &w, err);
	if (r == 0)
		r = options_check(&out->options, err);
	if (r == 0)
		r = name_device(out, err);
	if (r == 0 && out->options.sources == 0)
		r = use_sample(out, err);
	if (r == 0)
		r = check_paths(out, err);
	if (r == 0 && (out->mountpoint = strdup(w.mountpoint)) == NULL)
		r = fail(err, ENOMEM, "no memory for the command line");
	for (size_t i = 0; i < w.options; i++)
		free(w.option[i]);
	free(w.option);
	return r;
}

void cmdline_free(struct cmdline *c)
{
	free(c->mountpoint);
	free(c->device);
	options_free(&c->options);
}
