#include "order/piecelist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define STONE_FILES 16

static int nowhere(struct order_need *need, int code)
{
	*need = (struct order_need){.file = UINT32_MAX, .piece = ORDER_PIECES};
	return -code;
}

int piecelist_init(struct piecelist *l, const struct order_params *p, const struct order_files *of)
{
	uint32_t groups;

	memset(l, 0, sizeof *l);
	l->of = *of;
	if (p->val) {
		l->files = of->cut_file + (of->cut_piece > 0);
		l->tail = of->cut_piece;
	} else {
		l->base = of->cut_file;
		l->files = of->files - of->cut_file;
		l->head = of->cut_piece;
	}
	l->mixed = p->shuffle == SHUFFLE_BLOCK && !p->val;
	l->mix = l->mixed ? p->mix_files : 1;
	if (l->mix > l->files && l->files > 0)
		l->mix = l->files;
	l->seed = p->seed;
	l->epoch = p->epoch;
	permutation_init(&l->file_order, order_key(l->seed, l->epoch, LEVEL_FILES, 0, 0), l->files);
	l->ahead_of = UINT32_MAX;
	groups = l->mix < STONE_FILES ? STONE_FILES / l->mix : 1;
	l->spacing = l->mix * groups;
	l->stones = calloc(l->files / l->spacing + 1, sizeof *l->stones);
	return l->stones == NULL ? -ENOMEM : 0;
}

void piecelist_free(struct piecelist *l)
{
	for (unsigned i = 0; i < PIECELIST_GROUPS; i++) {
		free(l->group[i].file);
		free(l->group[i].first);
		free(l->group[i].odd);
	}
	free(l->stones);
	memset(l, 0, sizeof *l);
}

/* The list is mostly walked forward, so files are permuted some at a time. */
static uint32_t file_at(struct piecelist *l, uint32_t order)
{
	if (!l->mixed)
		return l->base + order;
	if (order / PIECELIST_AHEAD != l->ahead_of) {
		uint32_t n = 0, from = order - order % PIECELIST_AHEAD;

		for (; n < PIECELIST_AHEAD && from + n < l->files; n++)
			l->ahead[n] = from + n;
		permute_many(&l->file_order, l->ahead, l->ahead, n);
		l->ahead_of = order / PIECELIST_AHEAD;
	}
	return l->base + (uint32_t)l->ahead[order % PIECELIST_AHEAD];
}

static uint32_t first_piece(const struct piecelist *l, uint32_t file)
{
	return file == l->base ? l->head : 0;
}

/* Pieces of a file that are in the list, or -errno. */
static int64_t pieces_of(const struct piecelist *l, uint32_t file, struct order_need *need)
{
	int64_t n;

	if (l->tail > 0 && file == l->base + l->files - 1)
		return l->tail;
	n = l->of.pieces(l->of.arg, file);
	if (n < 0 || n > PIECELIST_MOST) {
		*need = (struct order_need){.file = file, .piece = ORDER_PIECES};
		return n < 0 ? n : -ENOTSUP;
	}
	return n > first_piece(l, file) ? n - first_piece(l, file) : 0;
}

static int64_t sequences_of(const struct piecelist *l, uint32_t file, uint32_t piece, struct order_need *need)
{
	int64_t n = l->of.sequences(l->of.arg, file, piece);

	if (n < 0)
		*need = (struct order_need){.file = file, .piece = piece};
	return n;
}

/* Adds up pieces until the whole group of position p is known. 0; 1: the list ends before p; or -errno. */
static int know(struct piecelist *l, uint64_t p, struct order_need *need)
{
	while (l->known < l->files && (p >= l->known_at || l->known % l->mix != 0)) {
		int64_t n = pieces_of(l, file_at(l, l->known), need);

		if (n < 0)
			return (int)n;
		if (l->known % l->spacing == 0)
			l->stones[l->known / l->spacing] = l->known_at;
		l->known_at += (uint64_t)n;
		l->known++;
	}
	return p >= l->known_at;
}

static uint32_t group_files(const struct piecelist *l, uint32_t group)
{
	uint32_t left = l->files - group * l->mix;
	return left < l->mix ? left : l->mix;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Whether all files of a group have pieces alike but for the last ones, and where those are. */
static void group_odds(const struct piecelist *l, struct piecegroup *g)
{
	g->uniform = true;
	g->odds = 0;
	for (uint32_t i = 0; i < g->files; i++) {
		uint64_t full;
		uint32_t last = g->first[i + 1] - 1;

		if (!l->of.uniform(l->of.arg, g->file[i], &full) || (i > 0 && full != g->full)) {
			g->uniform = false;
			return;
		}
		g->full = full;
		if (g->first[i + 1] > g->first[i])
			g->odd[g->odds++] = l->mixed ? (uint32_t)unpermute(&g->mixed, last) : last;
	}
	if (l->mixed)
		qsort(g->odd, g->odds, sizeof *g->odd, by_value);
}

static int group_room(struct piecegroup *g, uint32_t files)
{
	if (files <= g->room)
		return 0;
	free(g->file);
	free(g->first);
	free(g->odd);
	g->room = 0;
	g->file = malloc(files * sizeof *g->file);
	g->first = malloc((files + (size_t)1) * sizeof *g->first);
	g->odd = malloc(files * sizeof *g->odd);
	if (g->file == NULL || g->first == NULL || g->odd == NULL)
		return -ENOMEM;
	g->room = files;
	return 0;
}

static int group_load(struct piecelist *l, struct piecegroup *g, uint32_t index, uint64_t start,
                      struct order_need *need)
{
	uint32_t files = group_files(l, index);
	uint64_t n = 0;

	g->used = 0;
	if (group_room(g, files) < 0)
		return nowhere(need, ENOMEM);
	g->index = index;
	g->start = start;
	g->files = files;
	for (uint32_t i = 0; i < files; i++) {
		int64_t m;

		g->file[i] = file_at(l, index * l->mix + i);
		m = pieces_of(l, g->file[i], need);
		if (m < 0)
			return (int)m;
		g->first[i] = (uint32_t)n;
		n += (uint64_t)m;
		if (n > PIECELIST_MOST)
			return nowhere(need, ENOTSUP);
	}
	g->first[files] = g->n = (uint32_t)n;
	if (l->mixed)
		permutation_init(&g->mixed, order_key(l->seed, l->epoch, LEVEL_PIECES, index, 0), n);
	group_odds(l, g);
	return 0;
}

/* The group with this number, which starts at `start`, from those kept or in the place of the longest
 * unused. */
static int group_take(struct piecelist *l, uint32_t index, uint64_t start, struct piecegroup **out,
                      struct order_need *need)
{
	struct piecegroup *oldest = &l->group[0];
	int rc;

	for (unsigned i = 0; i < PIECELIST_GROUPS; i++) {
		struct piecegroup *g = &l->group[i];

		if (g->used > 0 && g->index == index) {
			oldest = g;
			goto found;
		}
		if (g->used < oldest->used)
			oldest = g;
	}
	rc = group_load(l, oldest, index, start, need);
	if (rc < 0)
		return rc;
found:
	oldest->used = ++l->clock;
	*out = oldest;
	return 0;
}

/* Position of the first piece of a group that is known. */
static int group_start(struct piecelist *l, uint32_t index, uint64_t *start, struct order_need *need)
{
	uint32_t file = index * l->mix, from = file / l->spacing * l->spacing;

	*start = l->stones[from / l->spacing];
	for (; from < file; from++) {
		int64_t n = pieces_of(l, file_at(l, from), need);

		if (n < 0)
			return (int)n;
		*start += (uint64_t)n;
	}
	return 0;
}

/* Number and start of the group of position p. 0; 1: the list ends before p; or -errno. */
static int locate(struct piecelist *l, uint64_t p, uint32_t *index, uint64_t *start, struct order_need *need)
{
	uint32_t last, groups = l->spacing / l->mix;
	const uint64_t *stone;
	int rc = know(l, p, need);

	if (rc != 0)
		return rc;
	stone = l->stones;
	for (uint32_t n = (l->known - 1) / l->spacing + 1; n > 1; n -= n / 2)
		stone += (stone[n / 2] <= p) * (n / 2);
	*start = *stone;
	*index = (uint32_t)(stone - l->stones) * groups;
	last = *index + groups - 1;
	/* Where the last group of a stone ends need not be known: p is in it when it is in no other. */
	for (; *index < last; ++*index) {
		uint64_t n = 0;

		for (uint32_t i = 0; i < group_files(l, *index); i++) {
			int64_t m = pieces_of(l, file_at(l, *index * l->mix + i), need);

			if (m < 0)
				return (int)m;
			n += (uint64_t)m;
		}
		if (p - *start < n)
			break;
		*start += n;
	}
	return 0;
}

/* The group of position p when it is kept ready, else NULL. */
static struct piecegroup *group_kept(struct piecelist *l, uint64_t p)
{
	for (unsigned i = 0; i < PIECELIST_GROUPS; i++) {
		struct piecegroup *g = &l->group[i];

		if (g->used > 0 && p >= g->start && p - g->start < g->n) {
			g->used = ++l->clock;
			return g;
		}
	}
	return NULL;
}

/* The group of position p. Returns as above. */
static int group_of(struct piecelist *l, uint64_t p, struct piecegroup **out, struct order_need *need)
{
	uint64_t start;
	uint32_t index;
	int rc;

	*out = group_kept(l, p);
	if (*out != NULL)
		return 0;
	rc = locate(l, p, &index, &start, need);
	return rc != 0 ? rc : group_take(l, index, start, out, need);
}

/* The last i < n with first[i] <= member; files without pieces are stepped over. */
static uint32_t group_file(const struct piecegroup *g, uint32_t member)
{
	const uint32_t *first = g->first;

	for (uint32_t n = g->files; n > 1; n -= n / 2)
		first += (first[n / 2] <= member) * (n / 2);
	return (uint32_t)(first - g->first);
}

static void group_piece(const struct piecelist *l, const struct piecegroup *g, uint32_t place, uint32_t *file,
                        uint32_t *piece)
{
	uint32_t member = l->mixed ? (uint32_t)permute(&g->mixed, place) : place;
	uint32_t i = group_file(g, member);

	*file = g->file[i];
	*piece = first_piece(l, *file) + member - g->first[i];
}

/* The first i with odd[i] >= place. */
static uint32_t odd_from(const struct piecegroup *g, uint64_t place)
{
	const uint32_t *odd = g->odd;

	if (g->odds == 0)
		return 0;
	for (uint32_t n = g->odds; n > 1; n -= n / 2)
		odd += (odd[n / 2 - 1] < place) * (n / 2);
	return (uint32_t)(odd - g->odd) + (*odd < place);
}

/* How many of the places place, place + step, ... (at most `most`, all in the group) come before one
 * that is odd. */
static uint64_t even_run(const struct piecegroup *g, uint64_t place, uint64_t step, uint64_t most)
{
	uint32_t i = odd_from(g, place);

	if (step > 1 && most < g->odds - i) {
		for (uint64_t k = 0; k < most; k++, place += step) {
			i = odd_from(g, place);
			if (i < g->odds && g->odd[i] == place)
				return k;
		}
		return most;
	}
	for (; i < g->odds; i++)
		if ((g->odd[i] - place) % step == 0)
			return min_u64(most, (g->odd[i] - place) / step);
	return most;
}

int piecelist_run(struct piecelist *l, uint64_t p, uint64_t step, uint64_t most, struct piecerun *run,
                  struct order_need *need)
{
	struct piecegroup *g;
	uint32_t file, piece;
	uint64_t place;
	int64_t n;
	int rc = group_of(l, p, &g, need);

	if (rc != 0)
		return rc;
	place = p - g->start;
	if (g->uniform) {
		run->count = even_run(g, place, step, min_u64(most, ceil_div(g->n - place, step)));
		run->each = g->full;
		if (run->count > 0)
			return 0;
	}
	group_piece(l, g, (uint32_t)place, &file, &piece);
	n = sequences_of(l, file, piece, need);
	if (n < 0)
		return (int)n;
	*run = (struct piecerun){.count = 1, .each = (uint64_t)n};
	return 0;
}

int piecelist_group_end(struct piecelist *l, uint64_t p, uint64_t *end, struct order_need *need)
{
	struct piecegroup *g;
	int rc = group_of(l, p, &g, need);

	if (rc == 0)
		*end = g->start + g->n;
	return rc;
}

int piecelist_at(struct piecelist *l, uint64_t p, uint32_t *file, uint32_t *piece, struct order_need *need)
{
	struct piecegroup *g = group_kept(l, p);
	uint32_t index;
	uint64_t start;
	int rc;

	if (g == NULL) {
		rc = locate(l, p, &index, &start, need);
		if (rc == 0 && !l->mixed) {
			/* A group of one file: making it ready would take longer than what is asked for. */
			*file = l->base + index;
			*piece = first_piece(l, *file) + (uint32_t)(p - start);
			return 0;
		}
		if (rc == 0)
			rc = group_take(l, index, start, &g, need);
		if (rc != 0)
			return rc;
	}
	group_piece(l, g, (uint32_t)(p - g->start), file, piece);
	return 0;
}

int piecelist_find(struct piecelist *l, uint32_t file, uint32_t piece, uint64_t *p, struct order_need *need)
{
	struct piecegroup *g;
	uint32_t order, i, member;
	uint64_t start;
	int rc;

	if (file < l->base || file - l->base >= l->files || piece < first_piece(l, file))
		return -ENOENT;
	order = file - l->base;
	if (l->mixed)
		order = (uint32_t)unpermute(&l->file_order, order);
	if (l->known < l->files && order >= l->known / l->mix * l->mix)
		return -ENOENT;
	rc = group_start(l, order / l->mix, &start, need);
	if (rc == 0)
		rc = group_take(l, order / l->mix, start, &g, need);
	if (rc < 0)
		return rc;
	i = order % l->mix;
	piece -= first_piece(l, file);
	if (piece >= g->first[i + 1] - g->first[i])
		return -ENOENT;
	member = g->first[i] + piece;
	*p = g->start + (l->mixed ? unpermute(&g->mixed, member) : member);
	return 0;
}

#define NEEDS_LOOK 4096 /* pieces that piecelist_needs looks at */

uint32_t piecelist_needs(struct piecelist *l, uint64_t p, struct order_need *out, uint32_t most)
{
	uint32_t n = 0, end = l->known;
	struct order_need need;

	/* The group of p is the one that is being added up, unless it is known to its end. */
	if (p >= l->known_at || l->known % l->mix != 0)
		end = (uint32_t)min_u64(l->files, ((uint64_t)l->known / l->mix + 1) * l->mix);
	for (uint32_t i = l->known; i < end && n < most; i++) {
		uint32_t file = file_at(l, i);

		if (l->of.pieces(l->of.arg, file) == -EAGAIN)
			out[n++] = (struct order_need){ .file = file, .piece = ORDER_PIECES };
	}
	for (uint64_t i = p; end == l->known && i < p + NEEDS_LOOK && i < l->known_at && n < most; i++) {
		uint32_t file, piece;

		if (piecelist_at(l, i, &file, &piece, &need) != 0)
			break;
		if (l->of.sequences(l->of.arg, file, piece) == -EAGAIN)
			out[n++] = (struct order_need){ .file = file, .piece = piece };
	}
	return n;
}
