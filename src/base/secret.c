#include "base/secret.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *name;
	char *value; /* malloc'ed, never freed: the program may ask for it until it ends */
} hidden[SECRETS] = {
	{ .name = "HF_TOKEN" },
	{ .name = "AWS_SECRET_ACCESS_KEY" },
	{ .name = "AWS_SESSION_TOKEN" },
};

void secrets_hide(void)
{
	for (size_t i = 0; i < SECRETS; i++) {
		char *given = getenv(hidden[i].name);
		if (given == NULL)
			continue;
		hidden[i].value = strdup(given);
		/* unsetenv takes only the pointer away: what it points to is what others see. */
		explicit_bzero(given, strlen(given));
		unsetenv(hidden[i].name);
	}
}

const char *secret_get(const char *name)
{
	const char *value = getenv(name);
	for (size_t i = 0; value == NULL && i < SECRETS; i++)
		if (strcmp(hidden[i].name, name) == 0)
			value = hidden[i].value;
	return value != NULL && value[0] != '\0' ? value : NULL;
}
