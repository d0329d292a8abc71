/* prepared: what `fineweb prepare` writes beside its shards: dataset.json and pieces.fwc, and for each shard,
 * while it works, a record of the same kind.
 *
 * dataset.json tells what was prepared and how (the terms), the files of the source, each shard with its
 * SHA-256 and where in the source it begins. pieces.fwc (store/archive.h) has for each file of the source,
 * under its pin, a counts record (store/counts.h) of three numbers a piece: tokens, documents, flags. In the
 * record of one shard the pieces stand in the JSON itself. Untrusted when read. Pure; one thread a struct.
 */
#ifndef FW_DATASET_PREPARED_H
#define FW_DATASET_PREPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/span.h"
#include "dataset/options.h"
#include "io/listing.h"

#define PREPARED_JSON "dataset.json"
#define PREPARED_PIECES "pieces.fwc"
#define PREPARED_MOST (1u << 30) /* bytes of each */

/* All that the bytes depend on, beside the files. Texts are malloc'ed or NULL. */
struct prepared_terms {
	char *tokenizer, *tokenizer_sha256, *pattern, *column, *name, *split, *counts, *on_error, *format;
	char *files_sha256; /* over the names of all files of the source */
	int64_t bos, eos;   /* -1: none */
	uint64_t width, seq_len, val_tokens, target_tokens, shard_tokens; /* target 0: all */
};

struct prepared_file {
	char *name; /* canonical */
	enum file_kind kind;
	uint8_t pin[HASH_SIZE];
};

enum {
	PREPARED_LEFT_OUT = 1, /* none of it is in the shards */
	PREPARED_CLOSED = 2,   /* the token that it shares with the next piece stands behind it too */
	PREPARED_ALTERED = 4,  /* cut or filled, so that it has what the column says */
};
#define PREPARED_UNCOUNTED UINT32_MAX

struct prepared_piece {
	uint32_t file; /* in `files` */
	uint32_t piece;
	uint32_t tokens; /* of the layout; of token files each once. PREPARED_UNCOUNTED: left out */
	uint32_t documents;
	uint8_t flags;
};

struct prepared_place {
	uint32_t file, piece;
	uint64_t token; /* of those that the piece gives to the stream */
};

struct prepared_shard {
	char *name;
	bool val;
	uint64_t number; /* of the training part */
	uint64_t first;  /* where in the file its tokens begin; 0 but in the one file of `nanogpt` */
	uint64_t tokens, documents;           /* documents: that begin in it */
	char *first_document, *last_document; /* ids; NULL: none, or the source has no ids */
	char sha256[HASH_HEX];                /* of the file; of its part in the one file of `nanogpt` */
	struct prepared_place begin, end;     /* in the source */
};

struct prepared_damage {
	uint32_t file, piece;
	char *cause;
};

/* A zeroed struct is empty. */
struct prepared {
	struct prepared_terms terms;
	char **source; /* pinned */
	size_t sources;
	char *version; /* of the program */
	struct prepared_file *files;
	size_t n_files;
	struct prepared_piece *pieces; /* in canonical order */
	size_t n_pieces;
	struct prepared_shard *shards; /* the held-out one first */
	size_t n_shards;
	struct prepared_damage *left_out;
	size_t n_left_out;
	bool ended; /* the source (or target_tokens) ends with it */
};

void prepared_free(struct prepared *p);

/* Adds; what *x points to is taken over, also after -ENOMEM. */
int prepared_add_file(struct prepared *p, const struct prepared_file *x, struct error *err);
int prepared_add_piece(struct prepared *p, const struct prepared_piece *x, struct error *err);
int prepared_add_shard(struct prepared *p, const struct prepared_shard *x, struct error *err);
int prepared_add_damage(struct prepared *p, const struct prepared_damage *x, struct error *err);

/* dataset.json, with the SHA-256 of pieces.fwc; or (pieces_sha256 NULL) a record with the pieces in it. */
int prepared_write(const struct prepared *p, const char *pieces_sha256, struct buffer *out,
                   struct error *err);
int prepared_write_pieces(const struct prepared *p, struct buffer *out, struct error *err);

/* Whether the bytes of a dataset.json are of a prepared folder, not of a mount or of somebody else. */
bool prepared_is(struct span json);
/* The reverse of prepared_write. pieces_sha256 (65 bytes) becomes "" for a record with the pieces in it. 0;
 * -EBADMSG with what is wrong, without a name; -ENOTSUP (a later version); -ENOMEM. The caller frees *out,
 * which must be zeroed. */
int prepared_read(struct span json, struct prepared *out, char *pieces_sha256, struct error *err);
/* Adds the pieces of pieces.fwc. Errors as above. */
int prepared_read_pieces(struct span bytes, struct prepared *p, struct error *err);

/* The first term in which two differ, NULL: none. The values as text in a and b, 128 bytes each. */
const char *prepared_differs(const struct prepared_terms *x, const struct prepared_terms *y, char *a,
                             char *b);

#endif
