/* settings: what a command line asks of the options, gathered before any is set: configuration file and
 * environment come first, and the command line may name the file. One thread.
 */
#ifndef FW_DATASET_SETTINGS_H
#define FW_DATASET_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "dataset/options.h"

/* A zeroed struct is empty. */
struct settings {
	char **option; /* malloc'ed "key" or "key=value", commas in values plain; in the order of the command
	                  line */
	size_t n;
	char *config; /* malloc'ed; NULL: not named */
	bool source;  /* one of them is a source */
};

/* Adds one; value may be NULL. 0, -ENOMEM. */
int settings_add(struct settings *s, const char *key, const char *value, struct error *err);
/* Adds those of a list "key=value,key": a comma in a value is written "\,". 0, -ENOMEM. */
int settings_split(struct settings *s, const char *list, struct error *err);
void settings_free(struct settings *s);

/* Takes a setting that is no option of the data set: 1 taken, 0 it is none of these, or -errno. */
typedef int settings_other(void *arg, const char *key, const char *value, struct error *err);

/* Sets the options of configuration file, environment (either source of the `config`), `sources` and
 * settings, in this order: the later wins, and sources of the command line take the place of others. Then
 * checks them together. other may be NULL. 0, or what options_read_file, options_read_environment,
 * options_set, options_check say. */
int settings_apply(const struct settings *s, char **environment, char *const *sources, size_t n_sources,
                   settings_other *other, void *arg, struct options *o, struct error *err);

/* Makes the bundled sample, installed or beside the program in a build tree, the source. 0, -ENOENT, -ENOMEM.
 */
int settings_use_sample(struct options *o, struct error *err);

/* Makes paths absolute, and looks whether local sources can be read. 0, -ENOENT, -EACCES, -ENOMEM. */
int settings_check_paths(struct options *o, struct error *err);

#endif
