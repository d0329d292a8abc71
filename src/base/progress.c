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

void progress_line(const struct progress *p, char out[PROGRESS_TEXT])
{
	char tokens[16], documents[16], speed[16], rest[64] = "", errors[48] = "";
	double s = left(p);
	progress_number((double)p->tokens, tokens);
	progress_number((double)p->documents, documents);
	progress_number(rate((double)p->new_tokens, p->seconds), speed);
	if (s >= 0 && s < 1e8)
		snprintf(rest, sizeof rest, ", %.0f %%, %d:%02d:%02d left", 100 * p->share, (int)s / 3600,
		         (int)s / 60 % 60, (int)s % 60);
	if (p->errors > 0)
		snprintf(errors, sizeof errors, ", %" PRIu64 " error%s", p->errors,
		         p->errors == 1 ? "" : "s");
	snprintf(out, PROGRESS_TEXT,
	         "%s tokens, %s documents, %" PRIu64 " shard%s, %s tokens/s, %.1f MB/s%s%s", tokens,
	         documents, p->shards, p->shards == 1 ? "" : "s", speed,
	         rate((double)p->text_bytes, p->seconds) / 1e6, rest, errors);
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
