/* manifest_state: the inside of a manifest, for its two files. */
#ifndef FW_DATASET_MANIFEST_STATE_H
#define FW_DATASET_MANIFEST_STATE_H

#include <pthread.h>
#include <stdint.h>

#include "base/hash.h"
#include "dataset/manifest.h"
#include "store/counts.h"

#define UNKNOWN (UINT32_MAX - 1) /* tokens of a piece that is not counted; COUNTS_BAD: can not be counted */
#define BAD_KEPT 1024            /* causes that are remembered with their text */
#define PIECE_TOKENS (1u << 20)

struct state {
	uint32_t *tokens;             /* of text files, once `pieces` is known, as `documents` */
	uint16_t *documents;          /* of a piece; there are millions of pieces */
	uint32_t *many;               /* the same, once a piece has more than 65,535, else NULL */
	uint32_t pieces;              /* 0: not known; written last */
	uint32_t known;               /* pieces with a count */
	uint32_t bad;                 /* pieces without one for ever */
	uint32_t offset;              /* token files: of the first id */
	uint64_t ids;                 /* token files: their number */
	uint8_t width, is_signed, have_header, have_pin, looked, code;
	uint8_t pin[HASH_SIZE];
};

struct cause {
	uint32_t file, piece;
	struct error error;
};

struct manifest {
	struct manifest_options o;
	struct listing files;
	struct state *state;
	struct http_pin **http_pins; /* of remote files */
	pthread_mutex_t lock;        /* what is written after the start, but for counts, which are atomic */
	struct cause *causes;
	size_t n_causes;
	uint64_t full; /* sequences of a whole piece of a token file */
	int64_t date;
	bool by_column;
};

/* Puts the counts of a file into index and cache, when all are known. */
void manifest_publish(struct manifest *m, uint32_t file);

/* Documents of a piece whose tokens are known. */
uint32_t manifest_state_documents(const struct state *s, uint32_t piece);

#define GET(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define SET(p, v) __atomic_store_n(&(p), v, __ATOMIC_RELEASE)

#endif
