/* manifest: the files of a data set: what they are, their pins, and the token counts of their pieces.
 *
 * Everything here is found when it is first wanted and then remembered, in this process, in the index and
 * (counts) in the cache. The look-ups that the order needs never wait; those that may have to read are named
 * so. Any thread. About 100 bytes a file, and 8 bytes a piece of text files; pieces of token files take none.
 */
#ifndef FW_DATASET_MANIFEST_H
#define FW_DATASET_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "dataset/options.h"
#include "format/tokenfile.h"
#include "io/http.h"
#include "io/listing.h"
#include "store/cache.h"
#include "store/index.h"

struct manifest;

struct manifest_options {
	const struct options *options; /* resolved; outlives the manifest */
	const char *tokenizer_sha256;
	unsigned tokenizer_revision;
	unsigned width;
	uint32_t vocab;
	uint32_t groups; /* row groups of a piece */
	struct http *http;
	struct cache *cache; /* NULL: none */
	struct index *index; /* NULL: none */
	const struct packed *packed; /* counts of another node, NULL: none */
};

/* Takes the listing over (it is empty afterwards). */
int manifest_new(const struct manifest_options *o, struct listing *files, struct manifest **out,
                 struct error *err);
void manifest_free(struct manifest *m);

/* Whether counts come from the token_count column; to be said before anything is counted. */
void manifest_use_column(struct manifest *m, bool by_column);

uint32_t manifest_files(const struct manifest *m);
const struct listed_file *manifest_file(const struct manifest *m, uint32_t file);
bool manifest_is_tokens(enum file_kind kind);
/* The latest modification time of all files, seconds since 1970; of remote ones the latest that was told by now,
 * else now, and with the same cache the same ever after. */
int64_t manifest_date(struct manifest *m);

/* Whether the pin of each file is known without asking anybody. */
bool manifest_pinned(struct manifest *m);

/* Opens a file and holds it against its pin. May wait. -ESTALE when it changed. The signature is
 * textfiles_options.open's; m is a struct manifest. */
int manifest_open(void *m, uint32_t file, struct source **out, enum file_kind *kind, struct error *err);
/* Whether a local file's path still has the size, inode and mtime that are known. True for a remote file: each of its ranges is checked. */
bool manifest_still(void *m, uint32_t file);
/* The pin: 32 bytes. May wait (reads head and tail once). */
int manifest_pin(void *m, uint32_t file, uint8_t out[32], struct error *err);
bool manifest_remote(void *m, uint32_t file);
/* The header of a token file. May wait the first time. -EBADMSG, -ENOTSUP ... as tokenfile_open; remembered.
 */
int manifest_tokenfile(struct manifest *m, uint32_t file, struct tokenfile *out, struct error *err);
/* The same if it is known. */
int manifest_tokenfile_now(struct manifest *m, uint32_t file, struct tokenfile *out);

/* -- counts; the signatures of struct order_files -- */
int64_t manifest_pieces(void *m, uint32_t file);
int64_t manifest_sequences(void *m, uint32_t file, uint32_t piece);
bool manifest_uniform(void *m, uint32_t file, uint64_t *full);
/* Tokens of a piece: a number, -EAGAIN (not known), or the errno of a piece that can not be counted (also
 * under on_error=skip). */
int64_t manifest_tokens(struct manifest *m, uint32_t file, uint32_t piece);

/* Sequences of a whole piece of a token file. */
uint64_t manifest_piece_sequences(const struct manifest *m);
/* The cause for which a file or piece can not be counted. */
void manifest_cause(struct manifest *m, uint32_t file, uint32_t piece, struct error *err);

/* Whether a piece is known as damaged from a record alone, which does not say why. */
bool manifest_recorded(struct manifest *m, uint32_t file, uint32_t piece);

/* Records. pieces: the number of pieces of a text file (once; later calls are ignored). */
int manifest_set_pieces(struct manifest *m, uint32_t file, uint32_t pieces, struct error *err);
void manifest_set_count(struct manifest *m, uint32_t file, uint32_t piece, uint32_t tokens,
                        uint32_t documents);
/* The piece (ORDER_PIECES: the file, which then is one piece) can not be counted. */
void manifest_set_bad(struct manifest *m, uint32_t file, uint32_t piece, int code, const char *text);
/* What is known of a file beforehand, before anybody asks: its pin; a count that is not to be published; the number of
 * ids of a token file, `width` bytes each. */
void manifest_set_pin(struct manifest *m, uint32_t file, const uint8_t pin[32]);
void manifest_set_known(struct manifest *m, uint32_t file, uint32_t piece, uint32_t tokens, uint32_t documents);
int manifest_set_ids(struct manifest *m, uint32_t file, uint64_t ids, uint8_t width, struct error *err);
/* Documents of a piece that is counted. */
uint32_t manifest_documents(struct manifest *m, uint32_t file, uint32_t piece);
/* Looks for a record of all pieces of a text file in index and cache. May wait (pin). 0 found, -ENOENT, or
 * the pin's error. */
int manifest_load(struct manifest *m, uint32_t file, struct error *err);

/* The counts of a file that is counted whole, and the key that they are found by. 0, -EINVAL (it is not), -ENOMEM, or the
 * pin's error. */
int manifest_record(struct manifest *m, uint32_t file, uint8_t key[32], struct buffer *out, struct error *err);
/* Whether index and cache have right counts of a file: 0, -ENOENT (neither has any), or the pin's error. *damaged: one of
 * them could not be read, or they are not the same; both are written anew by who counts. May wait. */
int manifest_check_record(struct manifest *m, uint32_t file, bool *damaged, struct error *err);

struct manifest_sums {
	uint64_t documents, tokens, sequences, dropped, pieces;
	bool final; /* every piece is known, or bad */
};
/* Sums over the pieces from (file, piece) on, or before it. Never waits. */
void manifest_sum(struct manifest *m, uint32_t cut_file, uint32_t cut_piece, bool before,
                  struct manifest_sums *out);
/* Tokens of a file, each once: the tail included. -EAGAIN when not known. */
int64_t manifest_file_tokens(struct manifest *m, uint32_t file);

#endif
