#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>

void progress_number(double n, char out[16])
{
	static const char units[] = " KMBT";
	int unit = 0;
	while (n >= 999.5 && unit < 4) {
		n /= 1000;
		unit++;
	}
	if (unit == 0)
		snprintf(out, 16, "%.0f", n);
	else
		snprintf(out, 16, "%.*f%c", n < 9.995 ? 2 : n < 99.95 ? 1 : 0, n, units[unit]);
}

static double rate(double n, double seconds)
{
	return seconds > 0 ? n / seconds : 0;
}

/* Seconds that are left at the speed so far; < 0: not known. */
static double left(const struct progress *p)
{
	double done = p->share - p->first_share;
	return p->share < 0 || done <= 0 ? -1 : p->seconds * (1 - p->share) / done;
}

#define BAR 24 /* columns of the bar's inside */

/* What a line has, in the order in which it stands there, and the order in which parts are left out where
 * there is no room: the highest first, 0 never. */
enum part {
	PART_BAR,
	PART_TOKENS,
	PART_DOCUMENTS,
	PART_SHARDS,
	PART_SPEED,
	PART_BYTES,
	PART_SHARE,
	PART_LEFT,
	PART_ERRORS,
	PARTS
};
static const unsigned char spare[PARTS] = { 7, 2, 5, 4, 3, 6, 0, 1, 0 };

static void bar(double share, char out[BAR + 3])
{
	int full = (int)(share * BAR);
	out[0] = '[';
	for (int i = 0; i < BAR; i++)
		out[1 + i] = i < full ? '#' : '.';
	out[BAR + 1] = ']';
	out[BAR + 2] = 0;
}

static void write_parts(const struct progress *p, char part[PARTS][48])
{
	char n[16];
	double s = left(p), share = p->share > 1 ? 1 : p->share;
	progress_number((double)p->tokens, n);
	snprintf(part[PART_TOKENS], 48, "%s tokens", n);
	progress_number((double)p->documents, n);
	if (p->documents > 0)
		snprintf(part[PART_DOCUMENTS], 48, "%s documents", n);
	if (p->shards > 0)
		snprintf(part[PART_SHARDS], 48, "%" PRIu64 " shard%s", p->shards, p->shards == 1 ? "" : "s");
	progress_number(rate((double)p->new_tokens, p->seconds), n);
	snprintf(part[PART_SPEED], 48, "%s tokens/s", n);
	if (p->text_bytes > 0)
		snprintf(part[PART_BYTES], 48, "%.1f MB/s", rate((double)p->text_bytes, p->seconds) / 1e6);
	if (share >= 0) {
		bar(share, part[PART_BAR]);
		snprintf(part[PART_SHARE], 48, "%.0f %%", 100 * share);
	}
	if (s >= 0 && s < 1e8)
		snprintf(part[PART_LEFT], 48, "%d:%02d:%02d left", (int)s / 3600, (int)s / 60 % 60,
		         (int)s % 60);
	if (p->errors > 0)
		snprintf(part[PART_ERRORS], 48, "%" PRIu64 " error%s", p->errors, p->errors == 1 ? "" : "s");
}

static size_t join(char part[PARTS][48], char out[PROGRESS_TEXT])
{
	size_t n = 0;
	out[0] = 0;
	for (unsigned i = 0; i < PARTS; i++)
		if (part[i][0] != 0)
			n += (size_t)snprintf(out + n, PROGRESS_TEXT - n, "%s%s",
			                      n == 0              ? ""
			                      : i == PART_BAR + 1 ? " "
			                                          : ", ",
			                      part[i]);
	return n;
}

void progress_line(const struct progress *p, unsigned columns, char out[PROGRESS_TEXT])
{
	char part[PARTS][48] = { 0 };
	write_parts(p, part);
	if (columns == 0)
		part[PART_BAR][0] = 0;
	for (unsigned out_next = 7; join(part, out) > columns && columns > 0 && out_next > 0; out_next--)
		for (unsigned i = 0; i < PARTS; i++)
			if (spare[i] == out_next)
				part[i][0] = 0;
	if (columns > 0 && columns < PROGRESS_TEXT)
		out[columns] = 0;
}

void progress_json(const struct progress *p, bool done, char out[PROGRESS_TEXT])
{
	double s = done ? 0 : left(p);
	char eta[24] = "null", alone[24] = "null";
	if (s >= 0 && s < 1e9)
		snprintf(eta, sizeof eta, "%.0f", s);
	if (p->tokenizer_share > 0)
		snprintf(alone, sizeof alone, "%.3f", p->tokenizer_share);
	snprintf(out, PROGRESS_TEXT,
	         "{\"tokens\":%" PRIu64 ",\"documents\":%" PRIu64 ",\"shards\":%" PRIu64
	         ",\"errors\":%" PRIu64
	         ",\"seconds\":%.3f,\"tokens_per_second\":%.0f,\"text_bytes_per_second\":%.0f,"
	         "\"tokenizer_share\":%s,\"seconds_left\":%s,\"done\":%s}",
	         p->tokens, p->documents, p->shards, p->errors, p->seconds,
	         rate((double)p->new_tokens, p->seconds), rate((double)p->text_bytes, p->seconds), alone, eta,
	         done ? "true" : "false");
}
