/* survey: what the files of a data set are: kind, columns, row groups, bytes. One thread; waits for disk and
 * network.
 */
#ifndef FW_DATASET_SURVEY_H
#define FW_DATASET_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "dataset/dataset.h"

#define SURVEY_NAME 64
#define SURVEY_COLUMNS 256
#define SURVEY_REMOTE 128 /* files of a server whose footers are read; of more the bytes are not known */

struct survey_column {
	char name[SURVEY_NAME]; /* dotted path, cut */
	const char *type;       /* physical type of Parquet */
	bool text, token_count; /* it is the one of the texts, of the counts */
};

struct survey {
	const char *kind; /* of the first file: "Parquet", "JSON lines", "JSON lines, gzip", "token file
	                     (.npy)" ... */
	uint32_t files;
	bool remote;
	struct survey_column *columns; /* of the first Parquet file; malloc'ed, SURVEY_COLUMNS at most */
	uint32_t n_columns;
	/* Of all files, when `whole`: */
	bool whole;
	uint64_t row_groups, rows; /* of Parquet files */
	uint64_t bytes;            /* of the files */
	uint64_t text_bytes; /* what must be read to make all pieces: column chunks of the texts, or the files
	                      */
	uint64_t pieces;     /* 0: not known */
};

/* 0 or what opening a file says; survey_free in any case. */
int survey_make(struct dataset *d, struct survey *out, struct error *err);
void survey_free(struct survey *s);

#endif
