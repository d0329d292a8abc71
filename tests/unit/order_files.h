/* order_files: files and pieces made up by a test, for struct order_files. */
#ifndef FW_TESTS_ORDER_FILES_H
#define FW_TESTS_ORDER_FILES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "order/epoch.h"

struct made_file {
	uint32_t pieces;
	bool uniform;       /* all pieces but the last have as many sequences as the first */
	int64_t *sequences; /* [pieces], or -errno */
	bool *known;        /* [pieces] */
	bool pieces_known;
};

struct made_files {
	uint32_t files;
	struct made_file *file;
	uint64_t asked; /* look-ups */
};

static inline int64_t made_pieces(void *arg, uint32_t file)
{
	struct made_files *m = arg;

	m->asked++;
	return m->file[file].pieces_known ? (int64_t)m->file[file].pieces : -EAGAIN;
}

static inline int64_t made_sequences(void *arg, uint32_t file, uint32_t piece)
{
	struct made_files *m = arg;

	m->asked++;
	return m->file[file].known[piece] ? m->file[file].sequences[piece] : -EAGAIN;
}

static inline bool made_uniform(void *arg, uint32_t file, uint64_t *full)
{
	struct made_files *m = arg;

	*full = (uint64_t)m->file[file].sequences[0];
	return m->file[file].uniform;
}

/* All known, or nothing. */
static inline void made_know(struct made_files *m, bool known)
{
	for (uint32_t f = 0; f < m->files; f++) {
		m->file[f].pieces_known = known;
		for (uint32_t p = 0; p < m->file[f].pieces; p++)
			m->file[f].known[p] = known || m->file[f].uniform;
	}
}

/* Makes known what was needed; false when it was known already. */
static inline bool made_reveal(struct made_files *m, const struct order_need *need)
{
	struct made_file *f;
	bool *known;

	if (need->file >= m->files)
		return false;
	f = &m->file[need->file];
	if (need->piece != ORDER_PIECES && need->piece >= f->pieces)
		return false;
	known = need->piece == ORDER_PIECES ? &f->pieces_known : &f->known[need->piece];
	if (*known)
		return false;
	*known = true;
	return true;
}

static inline void made_free(struct made_files *m)
{
	for (uint32_t f = 0; m->file != NULL && f < m->files; f++) {
		free(m->file[f].sequences);
		free(m->file[f].known);
	}
	free(m->file);
	*m = (struct made_files){0};
}

/* Makes a file of so many pieces, all of them without sequences. */
static inline bool made_file(struct made_file *f, uint32_t pieces, bool uniform)
{
	*f = (struct made_file){.pieces = pieces, .uniform = uniform};
	f->sequences = calloc(pieces, sizeof *f->sequences);
	f->known = calloc(pieces, sizeof *f->known);
	return f->sequences != NULL && f->known != NULL;
}

static inline struct order_files made_order(struct made_files *m)
{
	return (struct order_files){
	    .arg = m,
	    .files = m->files,
	    .pieces = made_pieces,
	    .sequences = made_sequences,
	    .uniform = made_uniform,
	};
}

#endif
