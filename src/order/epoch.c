#include "order/epoch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "order/block.h"
#include "order/randperm.h"
#include "order/streams.h"

/* Rows whose places are permuted together. */
#define ROWS 64

struct epoch {
	struct order_params p;
	struct streams streams;
	struct blockcache blocks;
	uint64_t share;   /* sequences of a stream that max_tokens keeps */
	uint32_t *torch;  /* torch.randperm of the only block, once it is closed */
	uint64_t batches; /* what epoch_batches says */
	bool final;
};

static int check(const struct order_params *p, const struct order_files *files, struct error *err)
{
	if (p->seq_len == 0 || p->world_size == 0 || p->batch_size == 0)
		return fail(err, EINVAL, "seq_len %u, world_size %u, batch_size %u: each is at least 1",
		            p->seq_len, p->world_size, p->batch_size);
	if (p->block == 0 || p->mix_files == 0)
		return fail(err, EINVAL, "block %llu, mix_files %u: each is at least 1",
		            (unsigned long long)p->block, p->mix_files);
	if (p->stride == STRIDE_PIECE && p->shuffle == SHUFFLE_TORCH)
		return fail(err, EINVAL, "stride=piece does not go with shuffle=torch");
	if (p->stride == STRIDE_PIECE && p->start > 0)
		return fail(err, EINVAL, "stride=piece does not go with start=%llu",
		            (unsigned long long)p->start);
	if (files->cut_file > files->files || (files->cut_file == files->files && files->cut_piece > 0))
		return fail(err, EINVAL, "the cut is at file %u, piece %u of %u files", files->cut_file,
		            files->cut_piece, files->files);
	return 0;
}

int epoch_new(const struct order_params *params, const struct order_files *files, struct epoch **out,
              struct error *err)
{
	struct order_params p = *params;
	struct epoch *e = NULL;
	int rc;

	*out = NULL;
	if (p.val) {
		p.shuffle = SHUFFLE_NONE;
		p.stride = STRIDE_SEQUENCE;
		p.tail = TAIL_DROP;
		p.start = p.max_tokens = 0;
	}
	rc = check(&p, files, err);
	if (rc < 0)
		goto out;
	e = calloc(1, sizeof *e);
	if (e == NULL || streams_init(&e->streams, &p, files) < 0) {
		rc = fail(err, ENOMEM, "no memory for the order of %u files", files->files);
		goto out;
	}
	e->p = p;
	e->streams.changed = true; /* so that an epoch without anything finds out too */
	e->share = UINT64_MAX;
	if (p.max_tokens > 0)
		e->share = p.max_tokens / ((uint64_t)p.seq_len * e->streams.count);
	*out = e;
	e = NULL;
out:
	epoch_free(e);
	return rc;
}

void epoch_free(struct epoch *e)
{
	if (e == NULL)
		return;
	blockcache_free(&e->blocks);
	streams_free(&e->streams);
	free(e->torch);
	free(e);
}

/* Sequences of a stream that rows can stand on; *all says that there will be no more. */
static uint64_t usable(const struct epoch *e, uint32_t stream, bool *all)
{
	const struct blocktable *t = &e->streams.table[stream];

	*all = t->ended || t->open.start >= e->share;
	return min_u64(t->open.start, e->share);
}

static void count_by_sequence(struct epoch *e)
{
	uint64_t n = usable(e, 0, &e->final), group = (uint64_t)e->p.batch_size * e->p.world_size;
	uint64_t left = n > e->p.start ? n - e->p.start : 0;

	e->batches = e->final && e->p.tail == TAIL_PAD ? ceil_div(left, group) : left / group;
}

/* Under drop the shortest stream decides, under pad the longest: shorter ones begin again, unless one
 * has nothing. */
static void count_by_piece(struct epoch *e)
{
	uint64_t open = UINT64_MAX, least = UINT64_MAX, most = 0;
	bool none = false;

	for (uint32_t i = 0; i < e->streams.count; i++) {
		bool all;
		uint64_t n = usable(e, i, &all), whole = n / e->p.batch_size;

		if (!all) {
			open = min_u64(open, whole);
			continue;
		}
		none |= n == 0;
		least = min_u64(least, whole);
		most = max_u64(most, ceil_div(n, e->p.batch_size));
	}
	if (none) {
		e->batches = 0;
		e->final = true;
	} else if (e->p.tail == TAIL_PAD) {
		e->final = open == UINT64_MAX;
		e->batches = e->final ? most : open;
	} else {
		e->final = least <= open;
		e->batches = min_u64(least, open);
	}
}

static int shuffle_torch(struct epoch *e)
{
	uint64_t n = e->streams.sequences;

	if (e->torch != NULL || n == 0)
		return 0;
	if (n > RANDPERM_MAX)
		return -ENOTSUP;
	e->torch = malloc((size_t)n * sizeof *e->torch);
	if (e->torch == NULL)
		return -ENOMEM;
	torch_randperm((uint32_t)n, e->p.seed + e->p.epoch, e->torch);
	return 0;
}

/* Brings what epoch_batches says up to what is counted now. */
static int refresh(struct epoch *e, struct order_need *need)
{
	if (!e->streams.changed)
		return 0;
	if (e->p.shuffle == SHUFFLE_TORCH && e->streams.table[0].ended) {
		int rc = shuffle_torch(e);

		if (rc < 0) {
			*need = (struct order_need){.file = UINT32_MAX, .piece = ORDER_PIECES};
			return rc;
		}
	}
	if (e->p.stride == STRIDE_SEQUENCE)
		count_by_sequence(e);
	else
		count_by_piece(e);
	e->streams.changed = false;
	return 0;
}

static int cover(struct epoch *e, uint64_t sequences, uint64_t blocks, struct order_need *need)
{
	int rc = streams_cover(&e->streams, sequences, blocks, need);
	int failed = refresh(e, need);

	return failed < 0 ? failed : rc;
}

/* Sequences of a stream that cover so many batches. */
static uint64_t sequences_for(const struct epoch *e, uint64_t batches)
{
	uint64_t group = e->p.batch_size, n;

	if (e->p.stride == STRIDE_SEQUENCE)
		group *= e->p.world_size;
	if (!mul_u64(batches, group, &n) || !add_u64(n, e->p.start, &n))
		n = UINT64_MAX;
	return min_u64(n, e->share);
}

int epoch_cover(struct epoch *e, uint64_t batches, struct order_need *need)
{
	int rc;

	if (e->batches >= batches)
		return 0;
	if (e->final)
		return 1;
	rc = cover(e, sequences_for(e, batches), 0, need);
	if (e->batches >= batches)
		return 0;
	return e->final ? 1 : rc;
}

uint32_t epoch_needs(struct epoch *e, struct order_need *out, uint32_t most)
{
	return piecelist_needs(&e->streams.list, e->streams.front, out, most);
}

uint32_t epoch_needs_block(struct epoch *e, uint64_t usual, struct order_need *out, uint32_t most)
{
	struct streams *s = &e->streams;
	const struct blockcut *open = &s->table[0].open;
	uint64_t counted = open->start + open->have, pieces = open->next, sum = 0;
	uint32_t n = epoch_needs(e, out, most), guessed = 0;

	if (s->count > 1 || n == 0 || out[0].piece == ORDER_PIECES)
		return n;
	for (uint64_t i = open->next; guessed < n; i++) {
		struct order_need need;
		uint32_t file, piece;

		if (piecelist_at(&s->list, i, &file, &piece, &need) != 0)
			break;
		int64_t sequences = s->list.of.sequences(s->list.of.arg, file, piece);
		guessed += sequences == -EAGAIN;
		if (sequences >= 0) {
			sum += (uint64_t)sequences;
			counted += (uint64_t)sequences;
			pieces++;
		}
		uint64_t mean = pieces > 0 ? counted / pieces : usual;
		if (sum + guessed * mean >= blockcut_missing(open, &s->rule))
			break;
	}
	return guessed > 0 ? guessed : 1;
}

int epoch_cover_blocks(struct epoch *e, uint64_t blocks, struct order_need *need)
{
	int rc = cover(e, 0, blocks, need);

	for (uint32_t i = 0; rc == 0 && i < e->streams.count; i++)
		if (e->streams.table[i].open.block < blocks)
			return 1;
	return rc;
}

uint64_t epoch_batches(const struct epoch *e, bool *final)
{
	*final = e->final;
	return e->batches;
}

uint64_t epoch_sequences(const struct epoch *e)
{
	return e->streams.sequences;
}

uint64_t epoch_blocks(const struct epoch *e, uint32_t stream)
{
	return stream < e->streams.count ? e->streams.table[stream].open.block : 0;
}

/* Where a row stands: its stream, and its position there. */
static uint64_t position(const struct epoch *e, uint32_t rank, uint64_t batch, uint32_t row, uint32_t *stream)
{
	uint64_t at = batch * e->p.batch_size + row;
	uint64_t n;
	bool all;

	*stream = 0;
	if (e->p.stride == STRIDE_SEQUENCE)
		at = e->p.start + at * e->p.world_size + rank;
	else
		*stream = rank;
	n = usable(e, *stream, &all);
	return at < n ? at : at % n;
}

/* Fills in file, piece and sequence of places of one block, given `at`. */
static int resolve(struct epoch *e, struct block *b, struct order_place *rows, uint32_t count)
{
	uint64_t u[ROWS] = {0};

	for (uint32_t i = 0; i < count; i++)
		u[i] = e->torch != NULL ? e->torch[rows[i].at] : rows[i].at;
	if (e->streams.level != 0)
		permute_many(&b->order, u, u, count);
	for (uint32_t i = 0; i < count; i++) {
		int rc =
		    block_sequence(b, &e->streams, u[i], &rows[i].file, &rows[i].piece, &rows[i].sequence);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int rows_of(struct epoch *e, uint32_t rank, uint64_t batch, uint32_t row, uint32_t count,
                   struct order_place *rows)
{
	while (count > 0) {
		uint32_t stream, n = 0;
		uint64_t at = position(e, rank, batch, row, &stream);
		struct block *b;
		int rc = blockcache_by_sequence(&e->blocks, &e->streams, stream, at, &b);

		if (rc < 0)
			return rc;
		do {
			rows[n++] =
			    (struct order_place){.stream = stream, .block = b->number, .at = at - b->start};
			if (n == count || n == ROWS)
				break;
			at = position(e, rank, batch, row + n, &stream);
		} while (at >= b->start && at - b->start < b->n);
		rc = resolve(e, b, rows, n);
		if (rc < 0)
			return rc;
		rows += n;
		row += n;
		count -= n;
	}
	return 0;
}

int epoch_batch(struct epoch *e, uint32_t rank, uint64_t batch, struct order_place *rows)
{
	if (rank >= e->p.world_size || batch >= e->batches)
		return -ENOENT;
	return rows_of(e, rank, batch, 0, e->p.batch_size, rows);
}

int epoch_row(struct epoch *e, uint32_t rank, uint64_t batch, uint32_t row, struct order_place *out)
{
	if (rank >= e->p.world_size || batch >= e->batches || row >= e->p.batch_size)
		return -ENOENT;
	return rows_of(e, rank, batch, row, 1, out);
}

/* A closed block; -ENOENT when it is not. */
static int block_of(struct epoch *e, uint32_t stream, uint64_t number, struct block **out)
{
	if (number >= epoch_blocks(e, stream))
		return -ENOENT;
	return blockcache_by_number(&e->blocks, &e->streams, stream, number, out);
}

int epoch_next(struct epoch *e, struct order_place *place, uint64_t *n)
{
	struct block *b;
	int rc = block_of(e, place->stream, place->block, &b);

	if (rc < 0)
		return rc;
	if (n != NULL)
		*n = b->n;
	place->at = (place->at + 1) % b->n;
	return resolve(e, b, place, 1);
}

/* Place in its block of sequence u in the order of the pieces. */
static uint64_t place_of(const struct epoch *e, const struct block *b, uint64_t u)
{
	if (e->torch != NULL) {
		uint64_t i = 0;

		while (e->torch[i] != u)
			i++;
		return i;
	}
	return e->streams.level != 0 ? unpermute(&b->order, u) : u;
}

/* The inverse of `position`. */
static int row_at(const struct epoch *e, uint32_t stream, uint64_t at, uint32_t *rank, uint64_t *batch,
                  uint32_t *row)
{
	bool all;
	uint64_t n = usable(e, stream, &all);

	if (at >= n)
		return -ENOENT;
	if (at >= e->p.start)
		at -= e->p.start;
	else if (e->p.tail == TAIL_PAD && all)
		at += n - e->p.start;
	else
		return -ENOENT;
	*rank = stream;
	if (e->p.stride == STRIDE_SEQUENCE) {
		*rank = (uint32_t)(at % e->p.world_size);
		at /= e->p.world_size;
	}
	*batch = at / e->p.batch_size;
	*row = (uint32_t)(at % e->p.batch_size);
	return *batch < e->batches ? 0 : -ENOENT;
}

int epoch_find(struct epoch *e, uint32_t file, uint32_t piece, uint64_t sequence, uint32_t *rank,
               uint64_t *batch, uint32_t *row)
{
	struct order_need need;
	struct block *b;
	uint64_t p, i, start, each;
	uint32_t stream;
	int rc = piecelist_find(&e->streams.list, file, piece, &p, &need);

	if (rc < 0)
		return rc;
	stream = (uint32_t)(p % e->streams.count);
	i = p / e->streams.count;
	if (i >= e->streams.table[stream].open.first)
		return -ENOENT;
	rc = blockcache_by_piece(&e->blocks, &e->streams, stream, i, &b);
	if (rc < 0)
		return rc;
	start = block_piece_start(b, i - b->first, &each);
	if (sequence >= each)
		return -ENOENT;
	return row_at(e, stream, b->start + place_of(e, b, start + sequence), rank, batch, row);
}

uint64_t epoch_block_pieces(struct epoch *e, uint32_t stream, uint64_t block)
{
	struct block *b;

	return block_of(e, stream, block, &b) < 0 ? 0 : b->pieces;
}

int epoch_block_piece(struct epoch *e, uint32_t stream, uint64_t block, uint64_t i, uint32_t *file,
                      uint32_t *piece)
{
	struct block *b;
	int rc = block_of(e, stream, block, &b);

	if (rc < 0)
		return rc;
	return i < b->pieces ? block_piece(b, &e->streams, i, file, piece) : -ENOENT;
}
