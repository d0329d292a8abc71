/* A whole file: footer, then every column of its row groups, within bounds that keep a run small. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "format/parquet.h"

#define ROWS 5000u /* of a column at most: a few bytes can promise billions of nulls */
#define COLUMNS 16

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct seen {
	unsigned left;
	unsigned sum;
};

static void touch(struct seen *s, struct span text)
{
	if (text.n > 0)
		s->sum += (unsigned)text.at[0] + text.at[text.n - 1];
}

static int see_text(void *arg, const struct document *d, struct error *err)
{
	struct seen *s = arg;
	touch(s, d->text);
	touch(s, d->id);
	touch(s, d->url);
	if (d->text.n > 0 && d->text.at == NULL)
		abort();
	return --s->left == 0 ? fail(err, EINTR, "enough") : 0;
}

static int see_int(void *arg, bool null, int64_t value, struct error *err)
{
	struct seen *s = arg;
	s->sum += null ? 1 : (unsigned)value;
	return --s->left == 0 ? fail(err, EINTR, "enough") : 0;
}

/* A failure must say why. */
static void check(int r, const struct error *err)
{
	if (r < 0 && (err->code != -r || err->text[0] == 0))
		abort();
}

/* A source that shows its bytes where they are, or one that has to be read. */
static void read_all(const uint8_t *bytes, size_t n, bool shows)
{
	struct source *s = source_memory(bytes, n, "fuzz");
	struct source_ops ops;
	struct parquet_limits limits = { .footer = 1u << 20, .page = 1u << 20 };
	struct parquet *p = NULL;
	struct error err = { 0 };
	uint32_t groups = 0;
	if (s == NULL)
		return;
	if (!shows) {
		ops = *s->ops;
		ops.view = NULL;
		s->ops = &ops;
	}
	check(parquet_count_row_groups(s, &limits, &groups, &err), &err);
	int r = parquet_open(s, &limits, &p, &err);
	check(r, &err);
	int text = r == 0 ? parquet_column(p, "text") : -1;
	for (uint32_t g = 0; r == 0 && g < parquet_row_groups(p) && g < 8; g++)
		for (int column = 0; column < COLUMNS; column++) {
			struct seen seen = { .left = ROWS };
			int got = parquet_ints(p, g, column, see_int, &seen, &err);
			check(got, &err);
			if (got == -ENOENT)
				break;
			if (parquet_is_text(p, column, &err) != 0)
				continue;
			seen.left = ROWS;
			check(parquet_texts(p, g, column, text >= 0 ? text : -1, -1, NULL, see_text, &seen, &err),
			      &err);
		}
	parquet_close(p);
	source_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	read_all(bytes, n, true);
	read_all(bytes, n, false);
	return 0;
}
