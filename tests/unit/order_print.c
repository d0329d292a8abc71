/* Prints, for each set of parameters on standard input, what an epoch says: every row, where sequences
 * are found, the blocks. order_reference.py makes the sets and knows from order.py what must come; `-s`
 * prints only the SHA-256 of it.
 *
 * A line is a set, numbers only: T W B seed epoch shuffle stride tail mix block start max_tokens val
 * cut_file cut_piece hide files {uniform pieces {sequences}} damaged {file piece} finds {file piece
 * sequence}
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "unit/order_files.h"

struct set {
	struct order_params p;
	struct order_files of;
	struct made_files made;
	bool hide;
	bool **damaged; /* [file][piece] */
	uint32_t finds;
	struct order_place *find;
};

static uint64_t number(char **at)
{
	char *end;
	uint64_t v = strtoull(*at, &end, 10);

	if (end == *at) {
		fprintf(stderr, "order_print: a number was expected at \"%.20s\"\n", *at);
		exit(2);
	}
	*at = end;
	return v;
}

static uint32_t number32(char **at)
{
	return (uint32_t)number(at);
}

static void *must(void *p)
{
	if (p == NULL) {
		fprintf(stderr, "order_print: out of memory\n");
		exit(2);
	}
	return p;
}

static void read_files(struct set *s, char **at)
{
	s->made.files = number32(at);
	s->made.file = must(calloc(s->made.files + 1, sizeof *s->made.file));
	s->damaged = must(calloc(s->made.files + 1, sizeof *s->damaged));
	for (uint32_t f = 0; f < s->made.files; f++) {
		bool uniform = number(at) != 0;
		uint32_t pieces = number32(at);

		if (!made_file(&s->made.file[f], pieces, uniform))
			must(NULL);
		s->damaged[f] = must(calloc(pieces, sizeof **s->damaged));
		for (uint32_t p = 0; p < pieces; p++)
			s->made.file[f].sequences[p] = (int64_t)number(at);
	}
}

static void read_set(struct set *s, char *line)
{
	char **at = &line;

	memset(s, 0, sizeof *s);
	s->p.seq_len = number32(at);
	s->p.world_size = number32(at);
	s->p.batch_size = number32(at);
	s->p.seed = number(at);
	s->p.epoch = number32(at);
	s->p.shuffle = (enum shuffle)number(at);
	s->p.stride = (enum stride)number(at);
	s->p.tail = (enum tail)number(at);
	s->p.mix_files = number32(at);
	s->p.block = number(at);
	s->p.start = number(at);
	s->p.max_tokens = number(at);
	s->p.val = number(at) != 0;
	uint32_t cut_file = number32(at), cut_piece = number32(at);
	s->hide = number(at) != 0;
	read_files(s, at);
	s->of = made_order(&s->made);
	s->of.cut_file = cut_file;
	s->of.cut_piece = cut_piece;
	for (uint32_t n = number32(at); n > 0; n--) {
		uint32_t f = number32(at);

		s->damaged[f][number(at)] = true;
	}
	s->finds = number32(at);
	s->find = must(calloc(s->finds + 1, sizeof *s->find));
	for (uint32_t i = 0; i < s->finds; i++) {
		s->find[i].file = number32(at);
		s->find[i].piece = number32(at);
		s->find[i].sequence = number(at);
	}
}

static void free_set(struct set *s)
{
	for (uint32_t f = 0; f < s->made.files; f++)
		free(s->damaged[f]);
	free(s->damaged);
	free(s->find);
	made_free(&s->made);
}

/* Covers batches, telling one number at a time where they are hidden. */
static int cover(struct set *s, struct epoch *e, uint64_t batches)
{
	struct order_need need;
	int rc;

	while ((rc = epoch_cover(e, batches, &need)) == -EAGAIN)
		if (!made_reveal(&s->made, &need))
			return -EDOM;
	return rc;
}

static void print_row(struct set *s, struct epoch *e, struct order_place row, struct buffer *out)
{
	uint64_t n = 1;

	for (uint64_t step = 0; s->damaged[row.file][row.piece]; step++) {
		if (step == n || epoch_next(e, &row, &n) < 0) {
			buffer_printf(out, "damaged\n");
			return;
		}
	}
	buffer_printf(out, "%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", row.file, row.piece, row.sequence);
}

/* Rows of a batch; those of epoch_batch and of epoch_row must be the same, and be found again. */
static void print_batch(struct set *s, struct epoch *e, uint32_t rank, uint64_t batch,
                        struct order_place *rows, struct buffer *out)
{
	int rc = epoch_batch(e, rank, batch, rows);

	for (uint32_t j = 0; rc == 0 && j < s->p.batch_size; j++) {
		struct order_place one;
		uint32_t r, row;
		uint64_t k;

		rc = epoch_row(e, rank, batch, j, &one);
		if (rc < 0)
			break;
		if (one.file != rows[j].file || one.piece != rows[j].piece ||
		    one.sequence != rows[j].sequence)
			buffer_printf(out, "epoch_row differs from epoch_batch\n");
		rc = epoch_find(e, one.file, one.piece, one.sequence, &r, &k, &row);
		if (s->p.tail == TAIL_DROP && (rc < 0 || r != rank || k != batch || row != j))
			buffer_printf(out, "epoch_find is not its inverse\n");
		rc = 0;
		print_row(s, e, rows[j], out);
	}
	if (rc < 0)
		buffer_printf(out, "error %d\n", rc);
}

static void print_finds(struct set *s, struct epoch *e, struct buffer *out)
{
	for (uint32_t i = 0; i < s->finds; i++) {
		uint32_t rank, row;
		uint64_t batch;

		if (epoch_find(e, s->find[i].file, s->find[i].piece, s->find[i].sequence, &rank, &batch,
		               &row) < 0)
			buffer_printf(out, "found nowhere\n");
		else
			buffer_printf(out, "found %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", rank, batch, row);
	}
}

static void print_blocks(struct set *s, struct epoch *e, struct buffer *out)
{
	uint32_t streams = s->p.stride == STRIDE_PIECE && !s->p.val ? s->p.world_size : 1;

	for (uint32_t r = 0; r < streams; r++) {
		for (uint64_t c = 0; c < epoch_blocks(e, r); c++) {
			buffer_printf(out, "block");
			for (uint64_t i = 0; i < epoch_block_pieces(e, r, c); i++) {
				uint32_t f = 0, p = 0;
				int rc = epoch_block_piece(e, r, c, i, &f, &p);

				buffer_printf(out, rc == 0 ? " %u:%u" : " error", f, p);
			}
			buffer_printf(out, "\n");
		}
	}
	buffer_printf(out, "sequences %" PRIu64 "\n", epoch_sequences(e));
}

static void print_set(struct set *s, struct buffer *out)
{
	struct order_need need;
	struct order_place *rows;
	struct epoch *e;
	uint64_t k = 0;
	bool final;
	int rc;

	made_know(&s->made, !s->hide);
	if (epoch_new(&s->p, &s->of, &e, NULL) < 0) {
		buffer_printf(out, "invalid\n");
		return;
	}
	rows = must(calloc(s->p.batch_size, sizeof *rows));
	while ((rc = cover(s, e, k + 1)) == 0) {
		for (uint32_t r = 0; r < s->p.world_size; r++)
			print_batch(s, e, r, k, rows, out);
		k++;
	}
	if (rc != 1 || epoch_batches(e, &final) != k || !final)
		buffer_printf(out, "cover says %d after batch %" PRIu64 "\n", rc, k);
	if (epoch_batch(e, 0, k, rows) != -ENOENT || epoch_batch(e, s->p.world_size, 0, rows) != -ENOENT)
		buffer_printf(out, "a batch that is not there was given\n");
	if (k == 0) {
		buffer_printf(out, "no batch\n");
		goto out;
	}
	print_finds(s, e, out);
	while ((rc = epoch_cover_blocks(e, UINT64_MAX, &need)) == -EAGAIN)
		if (!made_reveal(&s->made, &need))
			break;
	if (rc != 1)
		buffer_printf(out, "cover_blocks says %d\n", rc);
	print_finds(s, e, out);
	print_blocks(s, e, out);
out:
	free(rows);
	epoch_free(e);
}

int main(int argc, char **argv)
{
	bool sums = argc == 2 && strcmp(argv[1], "-s") == 0;
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		struct buffer out = {0};
		struct set s;

		read_set(&s, line);
		print_set(&s, &out);
		if (sums) {
			uint8_t digest[HASH_SIZE];
			char hex[HASH_HEX];

			hash_of(out.at, out.n, digest);
			hash_hex(digest, HASH_SIZE, hex);
			printf("%s\n", hex);
		} else {
			fwrite(out.at, 1, out.n, stdout);
			printf("end\n");
		}
		buffer_free(&out);
		free_set(&s);
	}
	free(line);
	return 0;
}
