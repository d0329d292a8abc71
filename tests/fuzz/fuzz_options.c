/* fuzz_options: the lines of a configuration file. What was set must read back as the same value. */
#include <stdlib.h>
#include <string.h>

#include "dataset/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Sets each option of o again from its own text in a fresh struct: both must then say the same. */
static void read_back(const struct options *o)
{
	struct options again;
	struct error err;
	char buf[32], other[32];
	options_init(&again);
	for (size_t i = 0; i < option_count; i++) {
		const char *name = option_definitions[i].name;
		const char *text = options_text(o, name, buf, sizeof buf);
		if (text == NULL)
			continue;
		if (options_set(&again, name, text, &err) != 0)
			abort();
		const char *same = options_text(&again, name, other, sizeof other);
		if (same == NULL || strcmp(text, same) != 0)
			abort();
	}
	options_free(&again);
}

/* The input as the variables of an environment, split at zero bytes. */
static void as_environment(const uint8_t *bytes, size_t n)
{
	char *text = malloc(n + 1), *variables[17];
	struct options o;
	struct error err;
	size_t count = 0;
	if (text == NULL)
		return;
	memcpy(text, bytes, n);
	text[n] = '\0';
	for (char *p = text; p <= text + n && count < 16; p += strlen(p) + 1)
		variables[count++] = p;
	variables[count] = NULL;
	options_init(&o);
	options_read_environment(&o, variables, &err);
	read_back(&o);
	options_free(&o);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct options o;
	struct error err;
	options_init(&o);
	options_parse_lines(&o, span_of(bytes, n), "fuzz", &err);
	options_check(&o, &err);
	read_back(&o);
	options_free(&o);
	if (n > 0)
		as_environment(bytes, n);
	return 0;
}
