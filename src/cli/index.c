/* index: counts a source ahead, so that mounts and tasks of prepare need not; tells what it has. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/ledger.h"
#include "cli/meter.h"
#include "cli/output.h"
#include "cli/subcommands.h"
#include "cli/task.h"
#include "dataset/blocking.h"
#include "dataset/packed.h"
#include "dataset/stream.h"

static atomic_bool stop;

static void on_signal(int signal)
{
	(void)signal;
	atomic_store(&stop, true);
}

struct indexing {
	struct dataset *d;
	struct task task;
	struct meter meter;
	bool quiet, json;
	uint64_t damaged; /* pieces that cannot be counted */
};

/* Counts the files of this task that are not counted, by tokenising them. */
static int count_files(struct indexing *x, struct error *err)
{
	struct dataset_facts facts;
	uint64_t first, last;
	int r = 0;
	dataset_facts(x->d, &facts);
	task_part(&x->task, facts.files, &first, &last);
	for (uint32_t f = (uint32_t)first; r == 0 && f < last; f++) {
		struct stream *s;
		struct stream_piece p;
		r = stream_counted(x->d, f, err);
		if (r != 0 && r != -EAGAIN)
			return r;
		if (r == 0)
			continue;
		r = stream_open(x->d, f, 0, &s, err);
		while (r == 0 && (r = stream_next(s, &p, err)) == 0 && p.file == f) {
			atomic_fetch_add(&x->meter.tokens, p.tokens);
			atomic_fetch_add(&x->meter.new_tokens, p.tokens);
			atomic_fetch_add(&x->meter.documents, p.documents);
			atomic_fetch_add(&x->meter.text_bytes, p.text_bytes);
			atomic_fetch_add(&x->meter.errors, p.left_out);
			x->damaged += p.left_out;
			double share = stream_share(x->d, p.file, p.piece) * facts.files;
			atomic_store(&x->meter.share, (share - (double)first) / (double)(last - first));
		}
		stream_close(s);
		r = r == 1 ? 0 : r;
	}
	return r;
}

/* ---- what it has ---- */

struct found {
	struct dataset_facts facts;
	struct dataset_counts train, val;
	uint64_t pieces;
};

/* The counts are in the index now, so that a mount's own way of looking at them costs little. */
static int look(const struct options *o, bool sample, struct dataset **d, struct found *f, struct error *err)
{
	struct dataset_object all = { .kind = OBJECT_EPOCH, .epoch = o->epoch };
	int r = dataset_inspect(o, sample, d, err);
	if (r == 0)
		r = blocking_cover(*d, &all, err);
	if (r == -ENOENT)
		r = 0;
	all.val = true;
	all.epoch = 0;
	if (r == 0 && o->val_tokens > 0)
		r = blocking_cover(*d, &all, err);
	if (r != 0)
		return r;
	dataset_facts(*d, &f->facts);
	dataset_counts(*d, false, &f->train);
	dataset_counts(*d, true, &f->val);
	f->pieces = stream_pieces(*d);
	return 0;
}

static double loss(const struct found *f)
{
	const struct options *o = f->facts.options;
	uint64_t used = f->train.batches_known * o->batch_size * o->world_size;
	uint64_t left = f->train.sequences - min_u64(used, f->train.sequences);
	double lost = (double)f->train.dropped_tokens + (double)left * o->seq_len;
	return f->train.tokens == 0 ? 0 : lost / (double)f->train.tokens;
}

static void print_found(const struct indexing *x, const struct found *f)
{
	const struct options *o = f->facts.options;
	char documents[24] = "null";
	if (f->facts.has_documents)
		snprintf(documents, sizeof documents, "%" PRIu64, f->train.documents);
	if (x->json) {
		printf("{\"files\":%" PRIu32 ",\"pieces\":%" PRIu64 ",\"documents\":%s,\"tokens\":%" PRIu64
		       ",\"held_out_tokens\":%" PRIu64 ",\"sequences\":%" PRIu64 ",\"batches\":%" PRIu64
		       ",\"dropped_tokens\":%" PRIu64 ",\"tail_loss\":%.6f}\n",
		       f->facts.files, f->pieces, documents, f->train.tokens, f->val.tokens,
		       f->train.sequences, f->train.batches_known, f->train.dropped_tokens, loss(f));
		return;
	}
	printf("files      %" PRIu32 "\npieces     %" PRIu64 "\ndocuments  %s\ntokens     %" PRIu64 "\n",
	       f->facts.files, f->pieces, f->facts.has_documents ? documents : "not known of token files",
	       f->train.tokens);
	if (f->val.tokens > 0)
		printf("held out   %" PRIu64 "\n", f->val.tokens);
	printf("sequences  %" PRIu64 " of seq_len=%" PRIu32 "\n", f->train.sequences, o->seq_len);
	printf("batches    %" PRIu64 " a rank: world_size=%" PRIu32 ", batch_size=%" PRIu32 "\n",
	       f->train.batches_known, o->world_size, o->batch_size);
	printf("tail loss  %.3g %% of the tokens are in no batch\n", 100 * loss(f));
}

static int export(struct dataset *d, const char *path, struct error *err)
{
	struct buffer b = { 0 };
	uint32_t files;
	char *copy = strdup(path), *other = strdup(path);
	int r = copy == NULL || other == NULL ? fail(err, ENOMEM, "out of memory") : 0, fd = -1;
	if (r == 0)
		r = packed_write(d, &b, &files, err);
	if (r == 0 && (fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = fail(err, errno, "%s: %s", path, strerror(errno));
	if (r == 0)
		r = ledger_put(fd, copy, basename(other), &b, err);
	if (fd >= 0)
		close(fd);
	buffer_free(&b);
	free(copy);
	free(other);
	return r;
}

static int verify(struct indexing *x, struct error *err)
{
	struct packed_check c;
	int r = packed_verify(x->d, &c, err);
	if (r != 0)
		return r;
	if (x->json)
		printf("{\"files\":%" PRIu64 ",\"pieces\":%" PRIu64 ",\"damaged\":%" PRIu64 "}\n", c.files,
		       c.pieces, c.damaged);
	else
		printf("checked the counts of %" PRIu64 " files, and %" PRIu64
		       " pieces in the cache: %" PRIu64 " damaged\n",
		       c.files, c.pieces, c.damaged);
	return c.damaged == 0
	               ? 0
	               : fail(err, EBADMSG,
	                      "%" PRIu64 " damaged: they are made anew when they are next wanted", c.damaged);
}

/* Before hours of counting: whether a file can be written there. */
static int check_export(const char *path, struct error *err)
{
	struct stat st;
	char *copy = strdup(path);
	if (copy == NULL)
		return fail(err, ENOMEM, "out of memory");
	const char *folder = dirname(copy);
	int r = 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		r = fail(err, EISDIR, "--export %s: is a folder, expected a file", path);
	else if (stat(folder, &st) != 0 || access(folder, W_OK) != 0)
		r = fail(err, errno, "--export %s: %s: %s", path, folder, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		r = fail(err, ENOTDIR, "--export %s: %s: is no folder", path, folder);
	free(copy);
	return r;
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

static int count(struct indexing *x, const struct options *o, bool sample, const char *file,
                 struct error *err)
{
	struct stream_plan plan = { 0 };
	struct found found;
	int r = 0;
	meter_start(&x->meter, x->quiet, false);
	/* Where a column or headers tell, one look at all is enough, and a part of it is nothing. */
	if (!x->task.given)
		r = stream_measure(x->d, &plan, err);
	if (x->task.given || r == -EAGAIN ||
	    (r < 0 && o->on_error == ON_ERROR_SKIP && r != -EINTR && r != -EINVAL))
		r = count_files(x, err);
	meter_end(&x->meter, false);
	if (r == -EINVAL && o->val_tokens > 0)
		return r;
	if (r == 0 && file != NULL)
		r = export(x->d, file, err);
	if (r != 0)
		return r;
	if (x->task.given) {
		if (!x->quiet)
			printf("task %" PRIu32 "/%" PRIu32 " has counted its files\n", x->task.number,
			       x->task.of);
		return 0;
	}
	dataset_close(x->d);
	x->d = NULL;
	r = look(o, sample, &x->d, &found, err);
	if (r == 0 && (!x->quiet || x->json))
		print_found(x, &found);
	return r;
}

int index_run(int argc, char **argv, struct error *err)
{
	const char *file = NULL, *task = NULL;
	bool do_verify = false, debug = false;
	struct indexing x = { 0 };
	const struct flag flags[] = {
		{ "export", 0, "FILE", "write the counts for other nodes: index=FILE", FLAG_TEXT, &file },
		{ "verify", 0, NULL, "check what index and cache have of the source", FLAG_SWITCH,
		  &do_verify },
		{ "task", 0, "I/N", "part I, from 0, of N; default as a cluster says", FLAG_TEXT, &task },
		{ "quiet", 'q', NULL, "say nothing but errors", FLAG_SWITCH, &x.quiet },
		{ "json", 0, NULL, "what was found as JSON", FLAG_SWITCH, &x.json },
		{ "debug", 'd', NULL, "log more", FLAG_SWITCH, &debug },
	};
	const struct command command = {
		.name = "index",
		.words = "[SOURCE]...",
		.about = "Counts the tokens of a source ahead, into index and cache, and tells how many\n"
		         "files, pieces, documents, tokens, sequences and batches it has.\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
		.most = SIZE_MAX,
		.sources = true,
	};
	struct arguments a;
	int r = arguments_read(&command, argc, argv, &a, err);
	if (r == 0)
		r = task_read(task, &x.task, err);
	if (r == 0 && do_verify && (file != NULL || task != NULL))
		r = fail(err, EINVAL, "--verify does not go with %s", file != NULL ? "--export" : "--task");
	if (r == 0 && file != NULL)
		r = check_export(file, err);
	if (r != 0)
		goto out;
	if (a.options.threads == 0)
		a.options.threads =
		        (unsigned)min_u64(1024, max_u64(1, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)));
	log_open(false, debug ? LOG_LEVEL_DEBUG : x.quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING);
	catch_signals();
	r = dataset_stream(&a.options, &stop, true, &x.d, err);
	if (r == 0 && do_verify)
		r = verify(&x, err);
	else if (r == 0)
		r = count(&x, &a.options, a.sample, file, err);
	if (r == -EINTR && atomic_load(&stop))
		fail(err, EINTR, "stopped; files that were counted whole stay counted");
out:
	dataset_close(x.d);
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
