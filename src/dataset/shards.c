/* shards: the tokens themselves as files, byte for byte what `prepare` writes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/span.h"
#include "dataset/internal.h"
#include "dataset/shardfile.h"

/* Tokens of the training part (or the held-out one) once all is counted. */
static int part_tokens(struct dataset *d, bool val, uint64_t *out)
{
	struct manifest_sums sums;
	pthread_mutex_lock(&d->lock);
	bool all = d->all_counted;
	pthread_mutex_unlock(&d->lock);
	if (!all || !atomic_load(&d->cut_known))
		return -EAGAIN;
	manifest_sum(d->manifest, d->cut_file, d->cut_piece, val, &sums);
	*out = sums.tokens;
	return 0;
}

/* Tokens [*first, *first + *n) of a part are file `number`. */
static int locate(struct dataset *d, uint64_t number, bool *val, uint64_t *first, uint64_t *n)
{
	uint64_t train, held = 0, each = d->options.shard_tokens;
	int r = part_tokens(d, false, &train);
	if (r == 0 && d->options.val_tokens > 0)
		r = part_tokens(d, true, &held);
	if (r != 0)
		return r;
	if (d->options.shards == SHARDS_NANOGPT)
		each = max_u64(train, 1);
	uint64_t shards = ceil_div(train, each);
	*val = number == shards && d->options.val_tokens > 0;
	if (number >= shards && !*val)
		return -ENOENT;
	*first = *val ? 0 : number * each;
	*n = *val ? held : min_u64(each, train - *first);
	return 0;
}

int dataset_shards_now(struct dataset *d, uint64_t *n)
{
	uint64_t train;
	int r = part_tokens(d, false, &train);
	if (r != 0)
		return r;
	*n = d->options.shards == SHARDS_NANOGPT ? train > 0 : ceil_div(train, d->options.shard_tokens);
	*n += d->options.val_tokens > 0;
	return 0;
}

int dataset_shard_name(struct dataset *d, uint64_t number, char *buf)
{
	bool val;
	uint64_t first, n;
	int r = locate(d, number, &val, &first, &n);
	if (r != 0)
		return r;
	shardfile_name(d->options.shards, val, number, buf);
	return 0;
}

int dataset_shard_number(struct dataset *d, const char *name, uint64_t *number)
{
	char canonical[SHARDFILE_NAME];
	uint64_t n = 0, all;
	bool val = strstr(name, "val") != NULL;
	const char *digits = val ? NULL : strpbrk(name, "0123456789");
	for (int i = 0; digits != NULL && *digits >= '0' && *digits <= '9' && i < 18; i++)
		n = 10 * n + (uint64_t)(*digits++ - '0');
	shardfile_name(d->options.shards, val, n, canonical);
	if (strcmp(name, canonical) != 0)
		return -ENOENT;
	if (val && d->options.val_tokens == 0)
		return -ENOENT;
	int r = dataset_shards_now(d, &all);
	if (r != 0)
		return r;
	if (val)
		n = all - 1;
	*number = n;
	return n < all - (d->options.val_tokens > 0 && !val) ? 0 : -ENOENT;
}

int shards_size_now(struct dataset *d, uint64_t number, uint64_t *size)
{
	bool val;
	uint64_t first, n;
	int r = locate(d, number, &val, &first, &n);
	if (r == 0)
		*size = shardfile_header_size(d->options.shards) + n * d->width;
	return r;
}

/* Finds token `at` of a part: its file, and the place in the file. */
static int find_token(struct dataset *d, bool val, uint64_t at, uint32_t *file, uint64_t *in_file)
{
	uint32_t files = manifest_files(d->manifest);
	for (uint32_t f = val ? 0 : d->cut_file; f < files; f++) {
		struct manifest_sums before = { 0 };
		int64_t all = manifest_file_tokens(d->manifest, f);
		if (all < 0)
			return (int)all;
		uint64_t skip = 0, n = (uint64_t)all;
		if (f == d->cut_file && d->cut_piece > 0) {
			/* Of the file that is cut in two: how much of it belongs to the held-out part. */
			struct manifest_sums whole;
			manifest_sum(d->manifest, f, d->cut_piece, true, &before);
			manifest_sum(d->manifest, f, 0, true, &whole);
			uint64_t held = before.tokens - whole.tokens;
			skip = val              ? 0
			       : d->token_files ? d->cut_piece * manifest_piece_sequences(d->manifest) *
			                                  d->options.seq_len
			                        : held;
			n = val ? held : n - skip;
		}
		if (at < n) {
			*file = f;
			*in_file = skip + at;
			return 0;
		}
		at -= n;
	}
	return -EIO;
}

/* Tokens of a file from `at` on, at most n, of one piece. Returns how many in *got. */
static int file_part(struct dataset *d, uint32_t file, uint64_t at, uint64_t n, uint8_t *out, bool wait,
                     uint64_t *got, struct error *err)
{
	int64_t pieces = manifest_pieces(d->manifest, file);
	if (d->token_files) {
		uint64_t each = manifest_piece_sequences(d->manifest) * d->options.seq_len;
		uint64_t piece = min_u64(at / each, (uint64_t)pieces - 1),
		         all = (uint64_t)manifest_file_tokens(d->manifest, file);
		uint64_t end = piece + 1 == (uint64_t)pieces ? all : (piece + 1) * each;
		*got = min_u64(n, end - at);
		return rows_tokens(d, file, (uint32_t)piece, at - piece * each, (size_t)*got, out, wait, err);
	}
	for (uint32_t p = 0; p < pieces; p++) {
		int64_t tokens = manifest_tokens(d->manifest, file, p);
		if (tokens <= 0)
			continue;
		if (at < (uint64_t)tokens) {
			*got = min_u64(n, (uint64_t)tokens - at);
			return rows_tokens(d, file, p, at, (size_t)*got, out, wait, err);
		}
		at -= (uint64_t)tokens;
	}
	return -EIO;
}

static int read_tokens(struct dataset *d, bool val, uint64_t at, uint64_t n, uint8_t *out, bool wait,
                       struct error *err)
{
	int result = 0;
	while (n > 0) {
		uint32_t file = 0;
		uint64_t in_file = 0, got = 0, most = n;
		int r = find_token(d, val, at, &file, &in_file);
		if (r == 0) {
			int64_t all = manifest_file_tokens(d->manifest, file);
			most = min_u64(most, (uint64_t)all - in_file);
			if (val && file == d->cut_file)
				most = n;
			r = file_part(d, file, in_file, most, out, wait, &got, err);
		}
		if (r == -EAGAIN && wait && got > 0)
			result = r; /* the others that are missing are asked for as well */
		else if (r != 0)
			return r;
		at += got;
		n -= got;
		out += got * d->width;
	}
	return result;
}

int shards_read(struct dataset *d, uint64_t number, uint64_t off, void *buf, size_t n, bool wait,
                struct error *err)
{
	uint8_t header[SHARDFILE_HEADER], *to = buf, *whole = NULL;
	bool val;
	uint64_t first, tokens;
	size_t head = shardfile_header_size(d->options.shards);
	int r = locate(d, number, &val, &first, &tokens);
	if (r != 0)
		return r;
	if (off < head) {
		size_t part = n < head - off ? n : (size_t)(head - off);
		shardfile_header(d->options.shards, d->width, tokens, header);
		memcpy(to, header + off, part);
		to += part;
		off += part;
		n -= part;
	}
	if (n == 0)
		return 0;
	uint64_t from = (off - head) / d->width, last = ceil_div(off - head + n, d->width);
	if (from * d->width != off - head || last * d->width != off - head + n) {
		whole = malloc((size_t)(last - from) * d->width);
		if (whole == NULL)
			return fail(err, ENOMEM, "out of memory");
	}
	r = read_tokens(d, val, first + from, last - from, whole == NULL ? to : whole, wait, err);
	if (r == 0 && whole != NULL)
		memcpy(to, whole + (off - head - from * d->width), n);
	free(whole);
	return r;
}
