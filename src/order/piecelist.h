/* piecelist: the list of pieces of an epoch, canonical or mixed; position <-> (file, piece), and runs of
 * equal pieces.
 *
 * Source: design.md "Order", order.py `Epoch.mixed` and `hold_out`. The list is made of groups of `mix`
 * files: under shuffle=block the files are permuted, and the pieces of each group; a canonical list has
 * groups of one file and no permutation. Of a file whose pieces are alike only the last is odd: its
 * place in the permuted group is found by the inverse, and all between two odd places is one run.
 * Memory: 12 bytes a file for at most PIECELIST_GROUPS groups, and 8 bytes every 16 files. Numbers of
 * pieces are asked for forward, each once while they are unknown. One thread at a time.
 */
#ifndef FW_ORDER_PIECELIST_H
#define FW_ORDER_PIECELIST_H

#include <stdbool.h>
#include <stdint.h>

#include "order/epoch.h"
#include "order/permute.h"

#define PIECELIST_GROUPS 8              /* kept ready */
#define PIECELIST_AHEAD 32              /* files that are permuted together */
#define PIECELIST_MOST (UINT32_MAX - 1) /* pieces of a file or of a group */

/* One group of files, ready to be looked into. */
struct piecegroup {
	uint64_t start; /* position of its first piece in the list */
	uint32_t n;     /* pieces */
	uint32_t files;
	uint32_t *file;  /* [files] in the list's order */
	uint32_t *first; /* [files + 1] pieces of the group before this file */
	uint32_t *odd;   /* places of the last pieces of its files, ascending; only when uniform */
	uint32_t odds;
	bool uniform; /* every piece that is not odd has `full` sequences */
	uint64_t full;
	struct permutation mixed; /* place -> member; unused in a canonical list */
	uint64_t used;            /* clock of the last use, 0: empty */
	uint32_t index;
	uint32_t room; /* files the arrays have room for */
};

struct piecelist {
	struct order_files of;
	uint32_t base, files; /* files [base, base + files) are in the list */
	uint32_t head;        /* first piece of file `base` that is */
	uint32_t tail;        /* pieces of the last file that are, 0: all */
	bool mixed;
	uint32_t mix;
	uint64_t seed, epoch;
	struct permutation file_order;
	uint64_t ahead[PIECELIST_AHEAD]; /* files of the list's order, from ahead_of * PIECELIST_AHEAD on */
	uint32_t ahead_of;               /* UINT32_MAX: of none */
	uint32_t known;                  /* files, in the list's order, whose pieces have been added up */
	uint64_t known_at;               /* position behind them */
	uint64_t *stones;                /* position of every spacing-th file */
	uint32_t spacing;                /* a multiple of mix */
	struct piecegroup group[PIECELIST_GROUPS];
	uint64_t clock;
};

/* A run of pieces at p, p + step, ...: `count` of them have `each` sequences. */
struct piecerun {
	uint64_t count, each;
};

/* 0 or -ENOMEM. `of` is copied. piecelist_free takes a zeroed list too. */
int piecelist_init(struct piecelist *l, const struct order_params *p, const struct order_files *of);
void piecelist_free(struct piecelist *l);

/* The run at position p, step >= 1, at most `most` (>= 1) pieces, all in one group. 0; 1: the list ends
 * before p; -EAGAIN or other -errno of a look-up: *need says of what; -ENOMEM, -ENOTSUP (group of too
 * many pieces): need->file is UINT32_MAX. */
int piecelist_run(struct piecelist *l, uint64_t p, uint64_t step, uint64_t most, struct piecerun *run,
                  struct order_need *need);
/* What walking on from position p will ask for next, at most `most` of it: files of p's group whose number of pieces is
 * not known; where all are, pieces from p on, within 4,096, whose sequences are not. Returns how many. */
uint32_t piecelist_needs(struct piecelist *l, uint64_t p, struct order_need *out, uint32_t most);
/* Position behind the last piece of p's group. Returns as above. */
int piecelist_group_end(struct piecelist *l, uint64_t p, uint64_t *end, struct order_need *need);
/* The piece at position p. Returns as above. */
int piecelist_at(struct piecelist *l, uint64_t p, uint32_t *file, uint32_t *piece, struct order_need *need);
/* The inverse: 0; -ENOENT when the piece is not in the list or its group has not been walked to. */
int piecelist_find(struct piecelist *l, uint32_t file, uint32_t piece, uint64_t *p, struct order_need *need);

#endif
