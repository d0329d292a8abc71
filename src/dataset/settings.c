#define _GNU_SOURCE
#include "dataset/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_memory(struct error *err)
{
	return fail(err, ENOMEM, "no memory for the command line");
}

int settings_add(struct settings *s, const char *key, const char *value, struct error *err)
{
	char *option = NULL, **more = realloc(s->option, (s->n + 1) * sizeof *more);
	if (more == NULL)
		return no_memory(err);
	s->option = more;
	if (asprintf(&option, "%s%s%s", key, value == NULL ? "" : "=", value == NULL ? "" : value) < 0)
		return no_memory(err);
	s->option[s->n++] = option;
	s->source = s->source || strcmp(key, "source") == 0;
	if (strcmp(key, "config") == 0 && value != NULL) {
		char *copy = strdup(value);
		if (copy == NULL)
			return no_memory(err);
		free(s->config);
		s->config = copy;
	}
	return 0;
}

int settings_split(struct settings *s, const char *list, struct error *err)
{
	char *option = malloc(strlen(list) + 1);
	int r = option == NULL ? no_memory(err) : 0;
	while (r == 0 && *list != 0) {
		char *to = option;
		for (; *list != 0 && *list != ','; list++) {
			if (list[0] == '\\' && list[1] == ',')
				list++;
			*to++ = *list;
		}
		*to = 0;
		if (*list == ',')
			list++;
		char *value = strchr(option, '=');
		if (value != NULL)
			*value++ = 0;
		if (to != option)
			r = settings_add(s, option, value, err);
	}
	free(option);
	return r;
}

void settings_free(struct settings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->option[i]);
	free(s->option);
	free(s->config);
	*s = (struct settings){ 0 };
}

static const char *config_of_environment(char **environment)
{
	static const char name[] = "FINEWEB_CONFIG=";
	for (; environment != NULL && *environment != NULL; environment++)
		if (strncmp(*environment, name, sizeof name - 1) == 0)
			return *environment + sizeof name - 1;
	return NULL;
}

static int apply_file(struct options *o, const char *named, struct error *err)
{
	static const char standard[] = SYSCONFDIR "/fineweb.conf";
	int r = options_read_file(o, named != NULL ? named : standard, err);
	return r == -ENOENT && named == NULL ? 0 : r;
}

static int apply_one(const char *option, settings_other *other, void *arg, struct options *o,
                     struct error *err)
{
	char *key = strdup(option), *value;
	if (key == NULL)
		return no_memory(err);
	value = strchr(key, '=');
	if (value != NULL)
		*value++ = 0;
	int r = other == NULL ? 0 : other(arg, key, value, err);
	if (r == 0)
		r = options_set(o, key, value, err);
	free(key);
	return r < 0 ? r : 0;
}

int settings_apply(const struct settings *s, char **environment, char *const *sources, size_t n_sources,
                   settings_other *other, void *arg, struct options *o, struct error *err)
{
	int r = apply_file(o, s->config != NULL ? s->config : config_of_environment(environment), err);
	if (r == 0)
		r = options_read_environment(o, environment, err);
	if (s->source || n_sources > 0)
		options_clear_sources(o);
	for (size_t i = 0; i < n_sources && r == 0; i++)
		r = options_set(o, "source", sources[i], err);
	for (size_t i = 0; i < s->n && r == 0; i++)
		r = apply_one(s->option[i], other, arg, o, err);
	return r == 0 ? options_check(o, err) : r;
}

/* NULL when there is none. */
static char *find_sample(void)
{
	static const char *const beside[] = { "/examples/sample", "/../examples/sample",
		                              "/../../examples/sample" };
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

int settings_use_sample(struct options *o, struct error *err)
{
	char *path = find_sample();
	if (path == NULL)
		return fail(err, ENOENT,
		            "no source is named, and the bundled sample is not in %s: give a source",
		            PKGDATADIR "/sample");
	int r = options_set(o, "source", path, err);
	free(path);
	return r;
}

static bool is_url(const char *source)
{
	return strstr(source, "://") != NULL;
}

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

int settings_check_paths(struct options *o, struct error *err)
{
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
