#include "cli/closer.h"

#include <stdio.h>

static void *run(void *arg)
{
	struct closer *c = arg;
	int r = shardwriter_end(&c->w, NULL, c->record.shards[0].sha256, &c->error);
	shardwriter_abort(&c->w);
	if (r == 0)
		r = ledger_write(c->ledger, c->name, &c->record, &c->error);
	if (r == 0)
		atomic_fetch_add(c->closed, 1);
	prepared_free(&c->record);
	c->result = r;
	return NULL;
}

int closer_wait(struct closer *c, struct error *err)
{
	int r = 0;
	if (c->running)
		pthread_join(c->thread, NULL);
	c->running = false;
	if (c->result != 0 && err != NULL)
		*err = c->error;
	r = c->result;
	c->result = 0;
	return r;
}

int closer_add(struct closer *c, struct shardwriter *w, struct prepared *record, const char *name,
               struct error *err)
{
	int r = closer_wait(c, err);
	if (r == 0) {
		c->w = *w;
		c->record = *record;
		snprintf(c->name, sizeof c->name, "%s", name);
		c->error = (struct error){ 0 };
		c->running = pthread_create(&c->thread, NULL, run, c) == 0;
		/* Without a thread it is done at once. */
		if (!c->running)
			run(c);
	} else {
		shardwriter_abort(w);
		prepared_free(record);
	}
	*w = (struct shardwriter){ .fd = -1 };
	*record = (struct prepared){ 0 };
	return r;
}
