#include "tree/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "tree/inode.h"

/* Takes a decimal number below `end`. */
static bool take_number(struct span *s, bool zeros, uint64_t end, uint32_t *out)
{
	struct span digits = *s;
	uint64_t v = 0;
	while (s->n > 0 && *s->at >= '0' && *s->at <= '9') {
		v = v * 10 + (uint64_t)(*s->at - '0');
		if (v >= end)
			return false;
		span_skip(s, 1);
	}
	size_t n = digits.n - s->n;
	if (n == 0 || (!zeros && n > 1 && digits.at[0] == '0'))
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool take_text(struct span *s, const char *text)
{
	struct span head;
	size_t n = strlen(text);
	if (s->n < n || !span_is(span_of(s->at, n), text))
		return false;
	return span_take(s, n, &head);
}

struct known {
	enum name_kind kind;
	const char *name;
};

static const struct known batch_endings[] = {
	{ NAME_BIN, ".bin" }, { NAME_NPY, ".npy" }, { NAME_TEXT, ".txt" }, { NAME_JSON, ".json" }
};

static const struct known fixed_names[] = {
	{ NAME_README, "README.txt" }, { NAME_DATASET, "dataset.json" }, { NAME_STATS, "stats.json" },
	{ NAME_VAL, "val" },           { NAME_SHARDS, "shards" },        { NAME_EPOCH_BIN, "epoch.bin" },
	{ NAME_PROM, "stats.prom" },
};

enum name_kind name_parse(const char *name, uint32_t *number)
{
	struct span s = span_text(name);
	*number = 0;
	if (take_text(&s, "batch_")) {
		if (!take_number(&s, true, INODE_NUMBERS, number))
			return NAME_OTHER;
		for (size_t i = 0; i < sizeof batch_endings / sizeof batch_endings[0]; i++)
			if (span_is(s, batch_endings[i].name))
				return batch_endings[i].kind;
		return NAME_OTHER;
	}
	for (size_t i = 0; i < sizeof fixed_names / sizeof fixed_names[0]; i++)
		if (span_is(s, fixed_names[i].name))
			return fixed_names[i].kind;
	if (take_text(&s, "rank_"))
		return take_number(&s, false, INODE_RANKS, number) && s.n == 0 ? NAME_RANK : NAME_OTHER;
	if (take_text(&s, "epoch_"))
		return take_number(&s, false, INODE_EPOCHS, number) && s.n == 0 ? NAME_EPOCH : NAME_OTHER;
	return NAME_OTHER;
}

void name_write(enum name_kind kind, uint32_t number, char out[NAME_SIZE])
{
	const char *fixed = "";
	switch (kind) {
	case NAME_RANK:
		snprintf(out, NAME_SIZE, "rank_%" PRIu32, number);
		return;
	case NAME_EPOCH:
		snprintf(out, NAME_SIZE, "epoch_%" PRIu32, number);
		return;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof batch_endings / sizeof batch_endings[0]; i++)
		if (batch_endings[i].kind == kind) {
			snprintf(out, NAME_SIZE, "batch_%04" PRIu32 "%s", number, batch_endings[i].name);
			return;
		}
	for (size_t i = 0; i < sizeof fixed_names / sizeof fixed_names[0]; i++)
		if (fixed_names[i].kind == kind)
			fixed = fixed_names[i].name;
	snprintf(out, NAME_SIZE, "%s", fixed);
}
