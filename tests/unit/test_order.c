/* The order against the vectors of the reference and the values of torch; what an epoch does while not
 * all is counted. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/span.h"
#include "order/permute.h"
#include "order/randperm.h"
#include "unit/order_files.h"
#include "unit/unit.h"

/* ---- permutations */

static void test_key(void)
{
	CU_ASSERT_EQUAL(order_key(0, 0, LEVEL_FILES, 0, 0), 0x4f064b76392670c3u);
	CU_ASSERT_EQUAL(order_key(42, 3, LEVEL_BLOCK, 7, 2), 0xfea9f1f986d0059eu);
}

static void is_list(uint64_t n, const uint8_t *want)
{
	struct permutation p;

	permutation_init(&p, order_key(0, 0, LEVEL_FULL, 0, 0), n);
	for (uint64_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(permute(&p, i), want[i]);
		CU_ASSERT_EQUAL(unpermute(&p, want[i]), i);
	}
}

static void test_permute(void)
{
	static const struct {
		uint64_t n, i, y;
	} big[] = {
	    {65536, 1, 26534},
	    {65537, 65536, 2167},
	    {262145, 7, 84400},
	    {1000000000000, 123456789, 708197804419},
	    {7324218750, 7324218749, 5531082965},
	};

	is_list(1, (const uint8_t[]){0});
	is_list(2, (const uint8_t[]){0, 1});
	is_list(3, (const uint8_t[]){0, 1, 2});
	is_list(10, (const uint8_t[]){0, 8, 9, 1, 2, 5, 4, 3, 6, 7});
	is_list(16, (const uint8_t[]){14, 8, 9, 1, 12, 5, 4, 3, 10, 15, 6, 11, 13, 2, 0, 7});
	is_list(17, (const uint8_t[]){5, 13, 15, 7, 12, 1, 0, 14, 6, 9, 10, 2, 4, 8, 3, 11, 16});
	for (size_t k = 0; k < sizeof big / sizeof *big; k++) {
		struct permutation p;

		permutation_init(&p, order_key(UINT64_MAX, 4095, LEVEL_BLOCK, 12345, 0), big[k].n);
		CU_ASSERT_EQUAL(permute(&p, big[k].i), big[k].y);
		CU_ASSERT_EQUAL(unpermute(&p, big[k].y), big[k].i);
	}
}

/* Every size of domain, so that permute_many meets walks of all lengths, and every count of positions. */
static void test_permute_many(void)
{
	uint64_t in[150], out[150];

	for (unsigned bits = 0; bits <= 63; bits++) {
		uint64_t n = (UINT64_C(1) << bits) + bits % 3;
		unsigned count = 1 + bits * 7 % 150, wrong = 0;
		struct permutation p;

		permutation_init(&p, order_key(bits, 0, LEVEL_BLOCK, 0, 0), n);
		for (unsigned i = 0; i < count; i++)
			in[i] = mix64(i + bits) % n;
		permute_many(&p, in, out, count);
		for (unsigned i = 0; i < count; i++)
			wrong +=
			    out[i] != permute(&p, in[i]) || out[i] >= n || unpermute(&p, out[i]) != in[i];
		permute_many(&p, in, in, count);
		CU_ASSERT_EQUAL(wrong, 0);
		CU_ASSERT_EQUAL(memcmp(in, out, count * sizeof *in), 0);
	}
}

/* ---- torch */

static json_t *torch_values(const char *name)
{
	static json_t *all;
	const char *path = unit_data("expected/torch.json");

	if (all == NULL && path != NULL)
		all = json_load_file(path, 0, NULL);
	if (all == NULL)
		unit_skip("no expected/torch.json");
	return json_object_get(all, name);
}

/* seed stands in the file as a number below 2^63. */
static uint64_t get(const json_t *of, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(of, name));
}

static void test_torch_values(void)
{
	json_t *one;
	size_t k;

	json_array_foreach(torch_values("randperm"), k, one)
	{
		json_t *values = json_object_get(one, "values");
		uint32_t n = (uint32_t)get(one, "n"), out[100];

		if (n > 100)
			continue;
		CU_ASSERT_EQUAL(json_array_size(values), n);
		torch_randperm(n, get(one, "seed"), out);
		for (uint32_t i = 0; i < n; i++)
			CU_ASSERT_EQUAL(out[i], json_integer_value(json_array_get(values, i)));
	}
}

static void test_torch_sums(void)
{
	json_t *one;
	size_t k;

	json_array_foreach(torch_values("randperm_sha256_int64_le"), k, one)
	{
		uint32_t n = (uint32_t)get(one, "n"), *out = calloc(n, sizeof *out);
		struct hash *h = hash_new();
		uint8_t digest[HASH_SIZE];
		char hex[HASH_HEX];

		CU_ASSERT_PTR_NOT_NULL_FATAL(out);
		torch_randperm(n, get(one, "seed"), out);
		for (uint32_t i = 0; i < n; i++)
			hash_add_u64(h, out[i]);
		hash_end(h, digest);
		hash_hex(digest, HASH_SIZE, hex);
		CU_ASSERT_STRING_EQUAL(hex, json_string_value(json_object_get(one, "sha256")));
		free(out);
	}
}

/* ---- epochs */

static const struct order_params plain = {
    .seq_len = 1, .world_size = 1, .batch_size = 1, .mix_files = 32, .block = UINT64_C(1) << 28};

/* `files` files of `pieces` pieces of `each` sequences, the last piece of each with one less; all known. */
static struct made_files make(uint32_t files, uint32_t pieces, int64_t each, bool uniform)
{
	struct made_files m = {.files = files, .file = calloc(files, sizeof *m.file)};

	CU_ASSERT_PTR_NOT_NULL_FATAL(m.file);
	for (uint32_t f = 0; f < files; f++) {
		CU_ASSERT_FATAL(made_file(&m.file[f], pieces, uniform));
		for (uint32_t p = 0; p < pieces; p++)
			m.file[f].sequences[p] = p + 1 < pieces ? each : each - 1;
	}
	made_know(&m, true);
	return m;
}

static struct epoch *begin(const struct order_params *p, struct made_files *m)
{
	const struct order_files of = made_order(m);
	struct epoch *e;

	CU_ASSERT_EQUAL_FATAL(epoch_new(p, &of, &e, NULL), 0);
	return e;
}

static bool same(const struct order_place *a, const struct order_place *b)
{
	return a->file == b->file && a->piece == b->piece && a->sequence == b->sequence;
}

static void test_example(void)
{
	static const int64_t counts[4][3] = {{1, 4}, {2, 0, 8}, {0}, {4}};
	static const uint32_t pieces[4] = {2, 3, 1, 1};
	static const struct order_place want[4][2][2] = {
	    {{{.file = 0, .piece = 1, .sequence = 0}, {.file = 0, .piece = 0, .sequence = 0}},
	     {{.file = 0, .piece = 1, .sequence = 3}, {.file = 0, .piece = 1, .sequence = 1}}},
	    {{{.file = 0, .piece = 1, .sequence = 2}, {.file = 3, .piece = 0, .sequence = 1}},
	     {{.file = 3, .piece = 0, .sequence = 3}, {.file = 3, .piece = 0, .sequence = 2}}},
	    {{{.file = 3, .piece = 0, .sequence = 0}, {.file = 1, .piece = 2, .sequence = 0}},
	     {{.file = 1, .piece = 2, .sequence = 2}, {.file = 1, .piece = 2, .sequence = 1}}},
	    {{{.file = 1, .piece = 2, .sequence = 5}, {.file = 1, .piece = 2, .sequence = 7}},
	     {{.file = 1, .piece = 2, .sequence = 4}, {.file = 1, .piece = 2, .sequence = 3}}},
	};
	struct order_params p = {.seq_len = 1024,
	                         .world_size = 2,
	                         .batch_size = 2,
	                         .seed = 7,
	                         .epoch = 1,
	                         .mix_files = 2,
	                         .block = 4096};
	struct made_files m = {.files = 4, .file = calloc(4, sizeof *m.file)};
	struct order_need need;
	struct epoch *e;

	for (uint32_t f = 0; f < 4; f++) {
		CU_ASSERT_FATAL(made_file(&m.file[f], pieces[f], false));
		memcpy(m.file[f].sequences, counts[f], pieces[f] * sizeof counts[f][0]);
	}
	made_know(&m, true);
	e = begin(&p, &m);
	CU_ASSERT_EQUAL(epoch_cover(e, 4, &need), 0);
	CU_ASSERT_EQUAL(epoch_cover(e, 5, &need), 1);
	for (uint64_t k = 0; k < 4; k++) {
		for (uint32_t r = 0; r < 2; r++) {
			struct order_place rows[2];

			CU_ASSERT_EQUAL(epoch_batch(e, r, k, rows), 0);
			CU_ASSERT(same(&rows[0], &want[k][r][0]) && same(&rows[1], &want[k][r][1]));
		}
	}
	epoch_free(e);
	made_free(&m);
}

/* DistributedSampler: sequence i of a single piece is index i. */
static void test_torch_sampler(void)
{
	json_t *one;
	size_t k;

	json_array_foreach(torch_values("distributed_sampler"), k, one)
	{
		json_t *indices = json_object_get(one, "indices");
		struct order_params p = plain;
		struct made_files m = make(1, 1, (int64_t)get(one, "n") + 1, false);
		struct order_need need;
		struct epoch *e;
		bool final;

		p.shuffle = SHUFFLE_TORCH;
		p.world_size = (uint32_t)get(one, "world_size");
		p.seed = get(one, "seed");
		p.epoch = (uint32_t)get(one, "epoch");
		p.tail = json_is_true(json_object_get(one, "drop_last")) ? TAIL_DROP : TAIL_PAD;
		e = begin(&p, &m);
		CU_ASSERT_EQUAL(epoch_cover(e, UINT64_MAX, &need), 1);
		for (uint32_t r = 0; r < p.world_size; r++) {
			json_t *mine = json_array_get(indices, r);

			CU_ASSERT_EQUAL(epoch_batches(e, &final), json_array_size(mine));
			for (size_t i = 0; i < json_array_size(mine); i++) {
				struct order_place row = {0};

				CU_ASSERT_EQUAL(epoch_row(e, r, i, 0, &row), 0);
				CU_ASSERT_EQUAL(row.sequence, (uint64_t)json_integer_value(json_array_get(mine, i)));
			}
		}
		epoch_free(e);
		made_free(&m);
	}
}

/* Counts that come one at a time cost a bounded number of look-ups each, and no piece is needed before
 * its turn. */
static void test_counting_is_linear(void)
{
	struct made_files m = make(300, 40, 9, false);
	struct order_params p = plain;
	struct order_need need;
	struct epoch *e;
	uint64_t told = 0;
	bool final;
	int rc;

	p.seq_len = 1 << 17;
	p.mix_files = 1 << 20;
	made_know(&m, false);
	e = begin(&p, &m);
	while ((rc = epoch_cover(e, 1, &need)) == -EAGAIN && made_reveal(&m, &need))
		told++;
	CU_ASSERT_EQUAL(rc, 0);
	CU_ASSERT_EQUAL(told,
	                301); /* the group's numbers of pieces, and one piece that fills the first block */
	while ((rc = epoch_cover(e, UINT64_MAX, &need)) == -EAGAIN && made_reveal(&m, &need))
		told++;
	CU_ASSERT_EQUAL(rc, 1);
	CU_ASSERT_EQUAL(told, 300 + 300 * 40);
	CU_ASSERT_EQUAL(epoch_batches(e, &final), 300 * (40 * 9 - 1));
	CU_ASSERT(m.asked < 4 * told + 4 * 300);
	epoch_free(e);
	made_free(&m);
}

/* max_tokens ends an epoch where it is reached: nothing behind needs to be counted. */
static void test_max_tokens_stops_counting(void)
{
	struct made_files m = make(20, 10, 8, false);
	struct order_params p = plain;
	struct order_need need;
	struct epoch *e;
	uint64_t told = 0;
	bool final;
	int rc;

	p.seq_len = 1 << 17;
	p.shuffle = SHUFFLE_NONE;
	p.max_tokens = UINT64_C(20) << 17;
	made_know(&m, false);
	e = begin(&p, &m);
	while ((rc = epoch_cover(e, UINT64_MAX, &need)) == -EAGAIN && made_reveal(&m, &need))
		told++;
	CU_ASSERT_EQUAL(rc, 1);
	CU_ASSERT_EQUAL(epoch_batches(e, &final), 20);
	CU_ASSERT(final);
	CU_ASSERT_EQUAL(told, 1 + 3); /* block 0 is one piece, block 1 is two */
	CU_ASSERT_EQUAL(epoch_sequences(e), 24);
	epoch_free(e);
	made_free(&m);
}

/* Batches whose rows all lie before the block of a piece that can not be counted stay, and go on once it
 * can. */
static void damaged_piece(enum stride stride)
{
	struct made_files good = make(6, 10, 8, false), bad = make(6, 10, 8, false);
	struct order_params p = plain;
	struct order_need need = {0};
	struct epoch *all, *some;
	uint64_t known, whole, block = 0;
	struct order_place mine, theirs;
	uint32_t rank, row, stream = 0;
	bool final;

	p.seq_len = 1 << 17;
	p.block = 1 << 22; /* 8 sequences, then 16, then 32 */
	p.world_size = 2;
	p.batch_size = 3;
	p.stride = stride;
	p.mix_files = 2;
	all = begin(&p, &good);
	CU_ASSERT_EQUAL(epoch_cover(all, UINT64_MAX, &need), 1);
	whole = epoch_batches(all, &final);
	CU_ASSERT_EQUAL(epoch_find(all, 3, 4, 5, &rank, &known, &row), 0);
	CU_ASSERT_EQUAL(epoch_row(all, rank, known, row, &mine), 0);
	stream = mine.stream;
	block = mine.block;

	bad.file[3].sequences[4] = -EBADMSG;
	some = begin(&p, &bad);
	CU_ASSERT_EQUAL(epoch_cover(some, UINT64_MAX, &need), -EBADMSG);
	CU_ASSERT(need.file == 3 && need.piece == 4);
	CU_ASSERT_EQUAL(epoch_blocks(some, stream), block);
	known = epoch_batches(some, &final);
	CU_ASSERT(!final && known > 0 && known < whole);
	/* The next batch would have a row in that block. */
	if (stride == STRIDE_PIECE) {
		CU_ASSERT_EQUAL(epoch_blocks(some, 1 - stream), epoch_blocks(all, 1 - stream));
		CU_ASSERT_EQUAL(epoch_row(all, stream, known, 2, &mine), 0);
	} else {
		CU_ASSERT_EQUAL(epoch_row(all, 1, known, 2, &mine), 0);
	}
	CU_ASSERT_EQUAL(mine.block, block);
	CU_ASSERT_EQUAL(epoch_cover(some, known, &need), 0);
	CU_ASSERT_EQUAL(epoch_cover(some, known + 1, &need), -EBADMSG);
	CU_ASSERT_EQUAL(epoch_row(some, 0, known, 0, &mine), -ENOENT);

	bad.file[3].sequences[4] = 8;
	CU_ASSERT_EQUAL(epoch_cover(some, known + 1, &need), 0);
	CU_ASSERT_EQUAL(epoch_cover(some, UINT64_MAX, &need), 1);
	CU_ASSERT_EQUAL(epoch_batches(some, &final), whole);
	for (uint64_t k = 0; k < whole; k++) {
		for (uint32_t i = 0; i < 6; i++) {
			CU_ASSERT_EQUAL(epoch_row(all, i % 2, k, i / 2, &mine), 0);
			CU_ASSERT_EQUAL(epoch_row(some, i % 2, k, i / 2, &theirs), 0);
			CU_ASSERT(same(&mine, &theirs));
		}
	}
	epoch_free(all);
	epoch_free(some);
	made_free(&good);
	made_free(&bad);
}

static void test_damaged_piece(void)
{
	damaged_piece(STRIDE_SEQUENCE);
}

static void test_damaged_piece_by_rank(void)
{
	damaged_piece(STRIDE_PIECE);
}

static int64_t no_pieces(void *arg, uint32_t file)
{
	return file == 5 ? -EBADMSG : made_pieces(arg, file);
}

static void test_damaged_file(void)
{
	struct made_files m = make(8, 3, 4, false);
	struct order_files of = made_order(&m);
	struct order_params p = plain;
	struct order_need need = {0};
	struct epoch *e;
	bool final;

	of.pieces = no_pieces;
	p.shuffle = SHUFFLE_NONE;
	p.block = 1;
	CU_ASSERT_EQUAL_FATAL(epoch_new(&p, &of, &e, NULL), 0);
	CU_ASSERT_EQUAL(epoch_cover(e, UINT64_MAX, &need), -EBADMSG);
	CU_ASSERT(need.file == 5 && need.piece == ORDER_PIECES);
	CU_ASSERT_EQUAL(epoch_batches(e, &final), 5 * 11);
	CU_ASSERT(!final);
	epoch_free(e);
	made_free(&m);
}

/* More blocks than checkpoints: block c is piece c of the list, so its rows are known without the table. */
static void test_checkpoints_double(void)
{
	const uint32_t files = 50, pieces = 6001;
	struct made_files m = make(files, pieces, 3, true);
	struct order_params p = plain;
	struct order_need need;
	struct epoch *e;
	unsigned wrong = 0;

	p.block = 1;
	p.shuffle = SHUFFLE_NONE;
	e = begin(&p, &m);
	CU_ASSERT_EQUAL(epoch_cover(e, UINT64_MAX, &need), 1);
	CU_ASSERT_EQUAL(epoch_blocks(e, 0), files * pieces);
	CU_ASSERT(files * pieces > 4 * EPOCH_CHECKPOINTS);
	for (uint64_t c = 0; c < files * pieces; c += 77) {
		uint32_t file, piece, rank, row;
		uint64_t at = c * 3 - c / pieces, batch;
		struct order_place place = {0};

		wrong += epoch_row(e, 0, at, 0, &place) != 0 || place.block != c || place.at != 0 ||
		         place.file != c / pieces || place.piece != c % pieces || place.sequence != 0;
		wrong += epoch_block_pieces(e, 0, c) != 1 ||
		         epoch_block_piece(e, 0, c, 0, &file, &piece) != 0 || file != place.file ||
		         piece != place.piece;
		wrong +=
		    epoch_find(e, place.file, place.piece, 1, &rank, &batch, &row) != 0 || batch != at + 1;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	epoch_free(e);
	made_free(&m);
}

/* Block 0 closes at 2^20 sequences of one token: with pieces of 300,000 at the fourth. */
static void test_needs_block(void)
{
	struct made_files m = make(1, 50, 300000, false);
	struct epoch *e = begin(&plain, &m);
	struct order_need need, more[9];

	for (uint32_t i = 0; i < 50; i++)
		m.file[0].known[i] = false;
	CU_ASSERT_EQUAL(epoch_cover(e, 1, &need), -EAGAIN);
	CU_ASSERT_EQUAL(epoch_needs_block(e, 600000, more, 9), 2);
	CU_ASSERT_EQUAL(epoch_needs_block(e, 1, more, 9), 9);
	made_reveal(&m, &more[1]);
	CU_ASSERT_EQUAL(epoch_needs_block(e, 600000, more, 9), 3);
	made_reveal(&m, &more[0]);
	CU_ASSERT_EQUAL(epoch_cover(e, 1, &need), -EAGAIN);
	CU_ASSERT_EQUAL(epoch_needs_block(e, 600000, more, 9), 2);
	epoch_free(e);
	made_free(&m);
}

/* Every sequence stands in exactly one row, and is found there. */
static void all_once(const struct order_params *p, struct made_files *m, uint64_t sequences)
{
	struct epoch *e = begin(p, m);
	struct order_place *rows = calloc(p->batch_size, sizeof *rows);
	struct order_need need;
	uint64_t seen = 0, wrong = 0;
	bool final;

	CU_ASSERT_EQUAL(epoch_cover(e, UINT64_MAX, &need), 1);
	for (uint64_t k = 0; k < epoch_batches(e, &final); k++) {
		for (uint32_t r = 0; r < p->world_size; r++) {
			CU_ASSERT_EQUAL_FATAL(epoch_batch(e, r, k, rows), 0);
			for (uint32_t j = 0; j < p->batch_size; j++, seen++) {
				uint32_t rank, row;
				uint64_t batch;

				wrong += epoch_find(e, rows[j].file, rows[j].piece, rows[j].sequence, &rank,
				                    &batch, &row) != 0 ||
				         rank != r || batch != k || row != j;
			}
		}
	}
	CU_ASSERT_EQUAL(seen, sequences);
	CU_ASSERT_EQUAL(wrong, 0);
	free(rows);
	epoch_free(e);
}

/* The most ranks there can be, in groups smaller and larger than their number. */
static void test_many_ranks(void)
{
	struct made_files m = make(100, 1311, 2, true);
	struct order_params p = plain;

	p.stride = STRIDE_PIECE;
	p.world_size = 65536;
	for (uint32_t f = 0; f < m.files; f++)
		m.file[f].sequences[1310] = 2;
	all_once(&p, &m, UINT64_C(2) * 2 * 65536); /* 131,100 pieces are two for each rank, and 28 more */
	p.mix_files = 100;
	p.block = 1;
	all_once(&p, &m, UINT64_C(2) * 2 * 65536);
	made_free(&m);
}

static void test_one_block(void)
{
	struct made_files m = make(30, 700, 2, true);
	struct order_params p = plain;

	p.world_size = 3;
	p.batch_size = 7;
	p.shuffle = SHUFFLE_FULL;
	all_once(&p, &m, 41970 / 21 * 21);
	p.shuffle = SHUFFLE_BLOCK; /* more pieces than a block lists */
	all_once(&p, &m, 41970 / 21 * 21);
	made_free(&m);
}

/* ---- fifteen trillion tokens */

static int64_t huge_pieces(void *arg, uint32_t file)
{
	(void)arg;
	(void)file;
	return 95368;
}

static int64_t huge_sequences(void *arg, uint32_t file, uint32_t piece)
{
	(void)arg;
	(void)file;
	return piece < 95367 ? 1024 : 441;
}

static bool huge_uniform(void *arg, uint32_t file, uint64_t *full)
{
	(void)arg;
	(void)file;
	*full = 1024;
	return true;
}

static void test_huge(void)
{
	const struct order_files of = {
	    .files = 150, .pieces = huge_pieces, .sequences = huge_sequences, .uniform = huge_uniform};
	const uint64_t sequences = 150 * UINT64_C(97656249), batches = sequences / 256;
	struct order_params p = {.seq_len = 1024,
	                         .world_size = 8,
	                         .batch_size = 32,
	                         .seed = 1,
	                         .mix_files = 32,
	                         .block = UINT64_C(1) << 28};

	for (unsigned how = 0; how < 4; how++) {
		struct order_place rows[32];
		struct order_need need;
		struct epoch *e;
		unsigned wrong = 0;
		bool final;

		p.shuffle = (enum shuffle)(how % 3);
		p.block = how == 3 ? UINT64_C(1) << 40 : UINT64_C(1) << 28;
		CU_ASSERT_EQUAL_FATAL(epoch_new(&p, &of, &e, NULL), 0);
		CU_ASSERT_EQUAL(epoch_cover(e, 1, &need), 0);
		CU_ASSERT_EQUAL(epoch_cover(e, UINT64_MAX, &need), 1);
		CU_ASSERT_EQUAL(epoch_batches(e, &final), batches);
		CU_ASSERT_EQUAL(epoch_sequences(e), sequences);
		for (uint64_t k = 0; k < batches; k += batches / 50) {
			CU_ASSERT_EQUAL_FATAL(epoch_batch(e, 5, k, rows), 0);
			for (uint32_t j = 0; j < 32; j++) {
				uint32_t rank, row;
				uint64_t batch;

				wrong += rows[j].sequence >= 1024 || rows[j].piece >= 95368 ||
				         epoch_find(e, rows[j].file, rows[j].piece, rows[j].sequence, &rank,
				                    &batch, &row) != 0 ||
				         rank != 5 || batch != k || row != j;
			}
		}
		CU_ASSERT_EQUAL(wrong, 0);
		epoch_free(e);
	}
}

/* ---- what is refused */

static int64_t too_many(void *arg, uint32_t file, uint32_t piece)
{
	(void)arg;
	(void)file;
	(void)piece;
	return RANDPERM_MAX + INT64_C(1);
}

static void test_refused(void)
{
	struct made_files m = make(1, 1, 9, false);
	struct order_files of = made_order(&m);
	struct order_params p = plain;
	struct order_place row;
	struct order_need need;
	struct error err;
	struct epoch *e;
	bool final;

	p.stride = STRIDE_PIECE;
	p.shuffle = SHUFFLE_TORCH;
	CU_ASSERT_EQUAL(epoch_new(&p, &of, &e, &err), -EINVAL);
	CU_ASSERT_PTR_NULL(e);
	p.shuffle = SHUFFLE_BLOCK;
	p.start = 1;
	CU_ASSERT_EQUAL(epoch_new(&p, &of, &e, &err), -EINVAL);
	p = plain;
	p.batch_size = 0;
	CU_ASSERT_EQUAL(epoch_new(&p, &of, &e, &err), -EINVAL);
	p = plain;
	of.cut_file = 2;
	CU_ASSERT_EQUAL(epoch_new(&p, &of, &e, &err), -EINVAL);

	of = made_order(&m);
	of.sequences = too_many;
	p.shuffle = SHUFFLE_TORCH;
	CU_ASSERT_EQUAL_FATAL(epoch_new(&p, &of, &e, &err), 0);
	CU_ASSERT_EQUAL(epoch_cover(e, 1, &need), -ENOTSUP);
	CU_ASSERT_EQUAL(need.file, UINT32_MAX);
	CU_ASSERT_EQUAL(epoch_batches(e, &final), 0);
	CU_ASSERT_EQUAL(epoch_row(e, 0, 0, 0, &row), -ENOENT);
	epoch_free(e);
	epoch_free(NULL);
	made_free(&m);
}

/* Nothing held out, and everything: an epoch without a batch says so. */
static void test_empty(void)
{
	struct made_files m = make(3, 2, 9, true);
	struct order_files of = made_order(&m);
	struct order_params p = plain;
	struct order_need need;
	struct epoch *e;
	bool final;

	for (unsigned how = 0; how < 3; how++) {
		p.val = how == 0;
		of.cut_file = how == 1 ? 3 : 0;
		p.max_tokens = how == 2 ? 5 : 0;
		p.seq_len = how == 2 ? 6 : 1;
		CU_ASSERT_EQUAL_FATAL(epoch_new(&p, &of, &e, NULL), 0);
		CU_ASSERT_EQUAL(epoch_cover(e, 1, &need), 1);
		CU_ASSERT_EQUAL(epoch_batches(e, &final), 0);
		CU_ASSERT(final);
		epoch_free(e);
	}
	made_free(&m);
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"keys are the reference's", test_key},
	    {"permutations and their inverses are the reference's", test_permute},
	    {"many positions at once are permuted like one", test_permute_many},
	    {"randperm gives torch's values", test_torch_values},
	    {"randperm gives torch's values up to ten million", test_torch_sums},
	    {"the reference's example, row by row", test_example},
	    {"shuffle=torch is DistributedSampler, drop and pad", test_torch_sampler},
	    {"counting one number at a time is linear and asks for no more than is needed",
	     test_counting_is_linear},
	    {"max_tokens ends counting", test_max_tokens_stops_counting},
	    {"a piece that can not be counted ends the batches before its block", test_damaged_piece},
	    {"under stride=piece it ends those of its own stream", test_damaged_piece_by_rank},
	    {"a file whose pieces can not be known ends the batches before it", test_damaged_file},
	    {"names what probably closes a block", test_needs_block},
	    {"more blocks than checkpoints", test_checkpoints_double},
	    {"65,536 ranks, every sequence once", test_many_ranks},
	    {"one large block, every sequence once", test_one_block},
	    {"fifteen trillion tokens, and back", test_huge},
	    {"what is refused", test_refused},
	    {"nothing to show is final", test_empty},
	    CU_TEST_INFO_NULL,
	};
	return unit_main("order", tests);
}
