/* info: `fineweb info`: chooses what to look at. */
#include "cli/info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/subcommands.h"
#include "io/kind.h"

/* A token file, and whether it is an .npy. */
static bool is_shard(const char *path, bool *npy)
{
	struct stat st;
	struct kind kind;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !kind_of_name(span_text(path), &kind))
		return false;
	*npy = kind.file == KIND_TOKENS_NPY;
	return kind.class == CLASS_TOKENS;
}

static int show(const struct info_request *q, bool watch, struct error *err)
{
	const struct options *o = &q->arguments->options;
	const char *first = o->source[0];
	struct sheet s = { 0 };
	bool npy, mount = o->sources == 1 && info_is_mount(first);
	int r;
	if (watch && q->json)
		return fail(err, EINVAL, "--watch is for eyes: --json goes without it");
	if (watch && !mount)
		return fail(err, EINVAL, "--watch: %s is no mounted folder", first);
	if (watch)
		return info_watch(first, err);
	if (mount)
		r = info_mount(first, &s, err);
	else if (o->sources == 1 && is_shard(first, &npy))
		r = info_shard(q, first, npy, &s, err);
	else
		r = info_source(q, &s, err);
	/* What is known of something damaged is told all the same. */
	int printed = s.json != NULL ? sheet_print(&s, q->json, r == 0 ? err : NULL) : 0;
	sheet_free(&s);
	return r == 0 || printed == -EPIPE ? printed : r;
}

int info_run(int argc, char **argv, struct error *err)
{
	struct arguments a;
	struct info_request q = { .arguments = &a, .tokens = 38000000000, .node_ranks = 1 };
	bool watch = false, debug = false;
	const struct flag flags[] = {
		{ "json", 0, NULL, "as one JSON object", FLAG_SWITCH, &q.json },
		{ "watch", 0, NULL, "of a mount: what it does, each second", FLAG_SWITCH, &watch },
		{ "tokens", 0, "N", "of a training run, for its epochs; default 38B", FLAG_TOKENS,
		  &q.tokens },
		{ "node-ranks", 0, "N", "ranks that one node reads, for its bytes; default 1", FLAG_COUNT,
		  &q.node_ranks },
		{ "debug", 'd', NULL, "log more", FLAG_SWITCH, &debug },
	};
	const struct command command = {
		.name = "info",
		.words = "[SOURCE | MOUNT | FILE]...",
		.about = "Tells what a source is: kind, columns, tokens, sequences, batches, what is lost\n"
		         "at the tails and what a node fetches; of a token file (.bin, .npy) header, ids\n"
		         "and first words; of a mounted folder its options, counts and counters.\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
		.most = SIZE_MAX,
		.sources = true,
	};
	int r = arguments_read(&command, argc, argv, &a, err);
	if (r == 0 && (q.node_ranks == 0 || q.node_ranks > a.options.world_size))
		r = fail(err, EINVAL, "--node-ranks %llu: world_size=%u has 1 to %u",
		         (unsigned long long)q.node_ranks, a.options.world_size, a.options.world_size);
	if (r == 0) {
		log_open(false, debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
		r = show(&q, watch, err);
	}
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
