/* progress: how far a long piece of work is, as text. Pure; printing is floor 6's.
 */
#ifndef FW_BASE_PROGRESS_H
#define FW_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	uint64_t tokens, documents, shards, errors; /* so far, with what an earlier run left */
	uint64_t new_tokens, text_bytes;            /* of this run */
	double seconds;                             /* of this run */
	double tokenizer_share; /* of what the tokenizer alone does, 0 to 1; 0: not known */
	double share, first_share; /* of the work that is done, and was when this run began, 0 to 1;
	                              share < 0: not known */
};

#define PROGRESS_TEXT 320

/* "1.24B tokens, 1.20M documents, 12 shards, 8.41M tokens/s, 35.1 MB/s, 43 %, 0:12:31 left"; errors if there are any.
 * columns: no line is longer: what is needed least is left out; where there is room a bar stands before it. 0: all of
 * it, without a bar. */
void progress_line(const struct progress *p, unsigned columns, char out[PROGRESS_TEXT]);
/* One JSON object. */
void progress_json(const struct progress *p, bool done, char out[PROGRESS_TEXT]);

/* A number with three digits and K, M, B or T: "950", "1.24B". */
void progress_number(double n, char out[16]);

#endif
