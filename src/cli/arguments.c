#define _GNU_SOURCE
#include "cli/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "dataset/quantity.h"
#include "dataset/settings.h"

struct reader {
	const struct command *command;
	struct arguments *out;
	struct settings settings;
	int argc, at; /* the next word of argv */
	char **argv;
};

static void print_flag(const char *left, const char *help)
{
	if (strlen(left) < 27)
		printf("  %-27s%s\n", left, help);
	else
		printf("  %s\n  %27s%s\n", left, "", help);
}

static const struct flag *find_letter(const struct command *c, char letter)
{
	for (size_t i = 0; i < c->n_flags; i++)
		if (c->flags[i].letter == letter)
			return &c->flags[i];
	return NULL;
}

static void print_help(const struct command *c)
{
	printf("usage: fineweb %s%s%s [OPTION]...\n%s", c->name, c->words == NULL ? "" : " ",
	       c->words == NULL ? "" : c->words, c->about);
	for (size_t i = 0; i < c->n_flags; i++) {
		const struct flag *f = &c->flags[i];
		char left[64], letter[8] = "";
		if (f->letter != 0)
			snprintf(letter, sizeof letter, "-%c, ", f->letter);
		snprintf(left, sizeof left, "%s--%s%s%s", letter, f->name, f->value == NULL ? "" : " ",
		         f->value == NULL ? "" : f->value);
		print_flag(left, f->help);
	}
	/* -o may be a flag of its own: then each option stands alone. */
	const char *form = find_letter(c, 'o') == NULL ? "-o NAME=VALUE,..." : "--NAME VALUE";
	const char *also = find_letter(c, 'o') == NULL ? ", or as --NAME VALUE;" : ";";
	char line[80];
	snprintf(line, sizeof line, "options of a mount%s%s", c->sources ? "" : " that apply", also);
	print_flag(form, line);
	print_flag("", "`fineweb --help` lists them");
}

/* Names may be written with - or _. */
static bool same_name(const char *typed, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (name[i] == 0 || (typed[i] != name[i] && !((typed[i] == '-' || typed[i] == '_') &&
		                                              (name[i] == '-' || name[i] == '_'))))
			return false;
	return name[n] == 0;
}

static const struct flag *find_flag(const struct command *c, const char *typed, size_t n)
{
	for (size_t i = 0; i < c->n_flags; i++)
		if (same_name(typed, n, c->flags[i].name))
			return &c->flags[i];
	return NULL;
}

static const struct option_definition *find_option(const char *typed, size_t n)
{
	for (size_t i = 0; i < option_count; i++)
		if (same_name(typed, n, option_definitions[i].name))
			return &option_definitions[i];
	return NULL;
}

static int unknown(const struct command *c, const char *typed, size_t n, struct error *err)
{
	char name[NEAREST_LENGTH + 2];
	const char *near = NULL;
	size_t least = SIZE_MAX;
	snprintf(name, sizeof name, "%.*s", (int)n, typed);
	for (char *p = name; *p != 0; p++)
		if (*p == '_')
			*p = '-';
	for (size_t i = 0; i < c->n_flags; i++)
		if (nearest_is(name, c->flags[i].name, &least))
			near = c->flags[i].name;
	char dashed[NEAREST_LENGTH + 2] = "";
	for (size_t i = 0; i < option_count; i++) {
		char other[NEAREST_LENGTH + 2];
		snprintf(other, sizeof other, "%s", option_definitions[i].name);
		for (char *p = other; *p != 0; p++)
			if (*p == '_')
				*p = '-';
		if (nearest_is(name, other, &least)) {
			memcpy(dashed, other, sizeof dashed);
			near = dashed;
		}
	}
	if (near == NULL)
		return fail(err, EINVAL, "unknown option '--%.*s': see `fineweb %s --help`", (int)n, typed,
		            c->name);
	return fail(err, EINVAL, "unknown option '--%.*s': did you mean '--%s'?", (int)n, typed, near);
}

/* "0.4", "40%", in (0, 1]. */
static bool read_ratio(const char *text, double *out)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || (text[0] != '.' && (text[0] < '0' || text[0] > '9')))
		return false;
	if (*end == '%') {
		v /= 100;
		end++;
	}
	*out = v;
	return *end == 0 && v > 0 && v <= 1;
}

static int set_flag(const struct flag *f, const char *value, struct error *err)
{
	switch (f->kind) {
	case FLAG_SWITCH:
		*(bool *)f->to = true;
		return 0;
	case FLAG_TEXT:
		*(const char **)f->to = value;
		return value[0] != 0
		               ? 0
		               : fail(err, EINVAL, "--%s: expected %s, found nothing", f->name, f->value);
	case FLAG_NUMBER:
		if (quantity_number(value, f->to))
			return 0;
		return fail(err, EINVAL, "--%s %.200s: expected a number", f->name, value);
	case FLAG_COUNT:
		if (quantity_number(value, f->to) && *(uint64_t *)f->to > 0)
			return 0;
		return fail(err, EINVAL, "--%s %.200s: expected a number above 0", f->name, value);
	case FLAG_TOKENS:
		if (quantity_tokens(value, f->to) && *(uint64_t *)f->to > 0)
			return 0;
		return fail(err, EINVAL,
		            "--%s %.200s: expected a number above 0, as 250000, 100M, 1.5B or 38e9", f->name,
		            value);
	case FLAG_SIZE:
		if (quantity_size(value, f->to) && *(uint64_t *)f->to > 0)
			return 0;
		return fail(err, EINVAL, "--%s %.200s: expected a size in bytes, as 512M or 80G", f->name,
		            value);
	default:
		if (read_ratio(value, f->to))
			return 0;
		return fail(err, EINVAL,
		            "--%s %.200s: expected a share above 0 and at most 1, as 0.4 or 40%%", f->name,
		            value);
	}
}

/* The value behind '=' (value), or the next word. */
static int value_of(struct reader *r, const char *typed, const char **value, struct error *err)
{
	if (*value == NULL && r->at < r->argc)
		*value = r->argv[r->at++];
	return *value != NULL ? 0 : fail(err, EINVAL, "%s: expected a value behind it", typed);
}

static int take_long(struct reader *r, const char *typed, struct error *err)
{
	const char *name = typed + 2, *equals = strchr(name, '='),
	           *value = equals == NULL ? NULL : equals + 1;
	size_t n = equals == NULL ? strlen(name) : (size_t)(equals - name);
	const struct flag *f = find_flag(r->command, name, n);
	int result = 0;
	if (f != NULL && f->kind == FLAG_SWITCH && value != NULL)
		return fail(err, EINVAL, "--%s takes no value", f->name);
	if (f != NULL) {
		if (f->kind != FLAG_SWITCH)
			result = value_of(r, typed, &value, err);
		return result == 0 ? set_flag(f, value, err) : result;
	}
	const struct option_definition *d = find_option(name, n);
	if (d == NULL)
		return unknown(r->command, name, n, err);
	if (d->json != 'b')
		result = value_of(r, typed, &value, err);
	return result == 0 ? settings_add(&r->settings, d->name, value, err) : result;
}

static int take_short(struct reader *r, const char *typed, struct error *err)
{
	const struct flag *f = find_letter(r->command, typed[1]);
	const char *value = typed[2] == 0 ? NULL : typed + 2;
	char name[3] = { '-', typed[1], 0 };
	if (f == NULL && typed[1] != 'o')
		return fail(err, EINVAL, "unknown option '%s': see `fineweb %s --help`", typed,
		            r->command->name);
	if (f != NULL && f->kind == FLAG_SWITCH)
		return value == NULL ? set_flag(f, NULL, err) : fail(err, EINVAL, "%s takes no value", name);
	int result = value_of(r, name, &value, err);
	if (result != 0)
		return result;
	return f != NULL ? set_flag(f, value, err) : settings_split(&r->settings, value, err);
}

static int take_words(struct reader *r, struct error *err)
{
	struct arguments *a = r->out;
	bool plain = false;
	int result = 0;
	while (r->at < r->argc && result == 0) {
		char *typed = r->argv[r->at++];
		if (plain || typed[0] != '-' || typed[1] == 0) {
			a->words[a->n++] = typed;
		} else if (strcmp(typed, "--") == 0) {
			plain = true;
		} else if (strcmp(typed, "-h") == 0 || strcmp(typed, "--help") == 0) {
			print_help(r->command);
			return ARGUMENTS_HELP;
		} else {
			result = typed[1] == '-' ? take_long(r, typed, err) : take_short(r, typed, err);
		}
	}
	return result;
}

static int check_words(const struct command *c, const struct arguments *a, struct error *err)
{
	if (a->n > c->most && c->words == NULL)
		return fail(err, EINVAL, "unexpected '%s': see `fineweb %s --help`", a->words[0], c->name);
	if (a->n > c->most)
		return fail(err, EINVAL, "unexpected '%s': expected %s", a->words[c->most], c->words);
	if (a->n < c->least)
		return fail(err, EINVAL, "expected %s: see `fineweb %s --help`", c->words, c->name);
	return 0;
}

int arguments_read(const struct command *c, int argc, char **argv, struct arguments *out, struct error *err)
{
	struct reader r = { .command = c, .out = out, .argc = argc, .at = 1, .argv = argv };
	*out = (struct arguments){ 0 };
	options_init(&out->options);
	out->words = calloc((size_t)argc + 1, sizeof *out->words);
	int result = out->words == NULL ? fail(err, ENOMEM, "no memory for the command line")
	                                : take_words(&r, err);
	if (result == 0)
		result = check_words(c, out, err);
	if (result == 0)
		result = settings_apply(&r.settings, environ, out->words, c->sources ? out->n : 0, NULL, NULL,
		                        &out->options, err);
	if (result == 0 && c->need != NULL && *c->need == NULL)
		result = fail(err, EINVAL, "expected %s", c->need_text);
	if (result == 0 && c->sources && out->options.sources == 0) {
		result = settings_use_sample(&out->options, err);
		out->sample = result == 0;
		if (out->sample)
			fprintf(stderr, "fineweb: no source is named: this is the bundled sample, %s\n",
			        out->options.source[0]);
	}
	if (result == 0 && c->sources)
		result = settings_check_paths(&out->options, err);
	settings_free(&r.settings);
	return result;
}

void arguments_free(struct arguments *a)
{
	free(a->words);
	options_free(&a->options);
	*a = (struct arguments){ 0 };
}
