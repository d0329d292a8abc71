#include "fetch/early.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct early {
	pthread_t thread;
	bool joined;
	const char *name, *pattern;
	struct tokenizer *tokenizer;
	int result;
	struct error error;
};

static void *open_it(void *arg)
{
	struct early *e = arg;
	e->result = tokenizer_open(e->name, e->pattern, &e->tokenizer, &e->error);
	return NULL;
}

struct early *early_open(const char *tokenizer, const char *pattern)
{
	struct early *e = calloc(1, sizeof *e);
	if (e == NULL)
		return NULL;
	e->name = tokenizer;
	e->pattern = pattern;
	if (pthread_create(&e->thread, NULL, open_it, e) == 0)
		return e;
	free(e);
	return NULL;
}

int early_take(struct early *e, struct tokenizer **out, struct error *err)
{
	if (!e->joined)
		pthread_join(e->thread, NULL);
	e->joined = true;
	*out = e->tokenizer;
	e->tokenizer = NULL;
	if (e->result != 0 && err != NULL)
		*err = e->error;
	return e->result;
}

void early_free(struct early *e)
{
	if (e == NULL)
		return;
	if (!e->joined)
		pthread_join(e->thread, NULL);
	tokenizer_close(e->tokenizer);
	free(e);
}
