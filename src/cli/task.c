#include "cli/task.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool number(const char *text, const char *end, uint32_t *out)
{
	uint64_t v = 0;
	if (text == NULL || text == end || end - text > 9)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		v = 10 * v + (uint64_t)(*text - '0');
	}
	*out = (uint32_t)v;
	return true;
}

static bool variable(const char *name, uint32_t *out)
{
	const char *text = getenv(name);
	return text != NULL && number(text, text + strlen(text), out);
}

/* An array may begin at 1, and go in steps. */
static bool of_array(struct task *t)
{
	uint32_t id, least = 0, step = 1;
	if (!variable("SLURM_ARRAY_TASK_ID", &id) || !variable("SLURM_ARRAY_TASK_COUNT", &t->of))
		return false;
	variable("SLURM_ARRAY_TASK_MIN", &least);
	variable("SLURM_ARRAY_TASK_STEP", &step);
	t->number = (id - least) / (step == 0 ? 1 : step);
	return true;
}

int task_read(const char *text, struct task *out, struct error *err)
{
	*out = (struct task){ .of = 1 };
	if (text != NULL) {
		const char *slash = strchr(text, '/');
		if (slash == NULL || !number(text, slash, &out->number) ||
		    !number(slash + 1, text + strlen(text), &out->of))
			return fail(err, EINVAL, "--task %.64s: expected I/N, as 0/4 ... 3/4", text);
	} else if (!of_array(out) &&
	           !(variable("SLURM_NTASKS", &out->of) && out->of > 1 &&
	             variable("SLURM_PROCID", &out->number)) &&
	           !(variable("JOB_COMPLETIONS", &out->of) &&
	             variable("JOB_COMPLETION_INDEX", &out->number))) {
		*out = (struct task){ .of = 1 };
		return 0;
	}
	out->given = true;
	if (out->of == 0 || out->of > TASKS || out->number >= out->of)
		return fail(err, EINVAL,
		            "task %" PRIu32 "/%" PRIu32
		            ": expected I/N with I from 0 to N - 1 and N at most %u",
		            out->number, out->of, TASKS);
	return 0;
}

void task_part(const struct task *t, uint64_t n, uint64_t *first, uint64_t *last)
{
	/* n / of and its rest apart, so that nothing overflows. */
	uint64_t each = n / t->of, rest = n % t->of;
	*first = each * t->number + rest * t->number / t->of;
	*last = each * (t->number + 1) + rest * (t->number + 1) / t->of;
}
