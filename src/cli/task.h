/* task: which part of the work is this process's, of how many: --task I/N, or what a cluster says. Pure. */
#ifndef FW_CLI_TASK_H
#define FW_CLI_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define TASKS (1u << 20)

struct task {
	bool given;
	uint32_t number, of; /* number < of; 0 of 1: all of it */
};

/* text: "2/8", or NULL: SLURM_ARRAY_TASK_ID, _COUNT, _MIN and _STEP; else SLURM_PROCID of SLURM_NTASKS (of
 * more than one); else JOB_COMPLETION_INDEX of JOB_COMPLETIONS; else it is not given. 0 or -EINVAL with what
 * is expected. */
int task_read(const char *text, struct task *out, struct error *err);
/* The part of n things that is this task's: [*first, *last). */
void task_part(const struct task *t, uint64_t n, uint64_t *first, uint64_t *last);

#endif
