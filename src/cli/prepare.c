/* prepare: writes what shards/ of a mount shows, as files; goes on where it was; in parts on many machines.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/closer.h"
#include "cli/cursor.h"
#include "cli/ledger.h"
#include "cli/meter.h"
#include "cli/shardwriter.h"
#include "cli/subcommands.h"
#include "cli/task.h"
#include "dataset/shardfile.h"
#include "dataset/stream.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unknown"
#endif

#define CHUNK (256u << 10) /* tokens that are read and written at once */

struct prepare {
	struct ledger ledger;
	struct dataset *d;
	const struct options *options; /* resolved */
	unsigned width;
	uint64_t target; /* UINT64_MAX: all */
	struct cursor cursor;
	uint64_t written; /* tokens of all shards so far */
	struct task task;
	struct stream_plan plan; /* of a task */
	struct stream_damage *left_out;
	bool plan_again; /* a damaged piece was found */
	struct meter meter;
	struct closer closer;
	uint8_t *chunk;
	bool quiet, json;
	uint64_t begun_text, begun_left_out; /* of cursors that are closed */
};

static atomic_bool stop;

static void on_signal(int signal)
{
	(void)signal;
	atomic_store(&stop, true);
}

/* ---- one shard ---- */

static int open_cursor(struct prepare *x, const struct prepared_place *at, struct error *err)
{
	const struct prepared_place *have = &x->cursor.at;
	if (x->cursor.stream != NULL && have->file == at->file && have->piece == at->piece &&
	    have->token == at->token)
		return 0;
	x->begun_text += x->cursor.text_bytes;
	x->begun_left_out += x->cursor.left_out;
	cursor_close(&x->cursor);
	return cursor_open(&x->cursor, x->d, at, err);
}

static void count(struct prepare *x, size_t tokens, uint64_t documents)
{
	atomic_fetch_add(&x->meter.tokens, tokens);
	atomic_fetch_add(&x->meter.new_tokens, tokens);
	atomic_fetch_add(&x->meter.documents, documents);
	atomic_store(&x->meter.text_bytes, x->begun_text + x->cursor.text_bytes);
	atomic_store(&x->meter.errors, x->begun_left_out + x->cursor.left_out);
	double share = stream_share(x->d, x->cursor.at.file, x->cursor.at.piece);
	if (x->target != UINT64_MAX)
		share = (double)x->written / (double)x->target > share
		                ? (double)x->written / (double)x->target
		                : share;
	if (!x->task.given)
		atomic_store(&x->meter.share, share);
}

/* A task has reckoned with what the counts say: of a damaged piece that is counted all tasks must know. */
static int check_left_out(struct prepare *x, const struct prepared *record, struct error *err)
{
	const struct prepared_piece *p = record->n_pieces > 0 ? &record->pieces[record->n_pieces - 1] : NULL;
	if (!x->task.given || p == NULL || !(p->flags & PREPARED_LEFT_OUT) ||
	    p->tokens == PREPARED_UNCOUNTED || stream_left_out(&x->plan, p->file, p->piece))
		return 0;
	log_warning("a damaged piece is left out, and every later shard begins elsewhere: %s",
	            x->cursor.piece.cause.text);
	x->plan_again = true;
	int r = ledger_note_damage(&x->ledger, p->file, p->piece, err);
	return r == 0 ? fail(err, EAGAIN, "a damaged piece was found") : r;
}

/* Takes up to `want` tokens, val: those that are held out, into w and the record. */
static int fill(struct prepare *x, bool val, uint64_t want, struct shardwriter *w, struct prepared *record,
                struct error *err)
{
	struct prepared_shard *s = &record->shards[0];
	struct cursor *c = &x->cursor;
	int r = 0;
	while (r == 0 && s->tokens < want && !c->ended) {
		const void *ids;
		size_t got;
		uint64_t documents = s->documents;
		r = cursor_take(c, (size_t)min_u64(CHUNK, want - s->tokens), x->chunk, &ids, &got, record,
		                err);
		if (r == 0)
			r = check_left_out(x, record, err);
		if (r == 0)
			r = shardwriter_add(w, ids, got, err);
		x->written += got;
		count(x, got, s->documents - documents);
		if (r != 0 || !val || c->at.token > 0 || c->held < x->options->val_tokens)
			continue;
		/* The held-out part ends with this piece. */
		r = cursor_take_shared(c, x->chunk, &got, record, err);
		if (r == 0)
			r = shardwriter_add(w, x->chunk, got, err);
		x->written += got;
		return r;
	}
	return r;
}

static int name_shard(struct prepare *x, bool val, uint64_t number, struct prepared_shard *s,
                      struct error *err)
{
	char name[SHARDFILE_NAME];
	bool one = x->options->shards == SHARDS_NANOGPT;
	shardfile_name(x->options->shards, val, number, name);
	s->val = val;
	s->number = val ? 0 : number;
	s->first = one && !val ? number * x->options->shard_tokens : 0;
	s->name = strdup(name);
	return s->name == NULL ? fail(err, ENOMEM, "out of memory") : 0;
}

/* Makes one shard from where the cursor is, but for its end. *record gets what it has; a shard without tokens
 * is none, and what was passed stays in the record. */
static int make_shard(struct prepare *x, bool val, uint64_t number, uint64_t want, struct shardwriter *w,
                      struct prepared *record, struct error *err)
{
	int r = cursor_begin(&x->cursor, record, err);
	struct prepared_shard *s = r == 0 ? &record->shards[0] : NULL;
	if (r == 0)
		r = name_shard(x, val, number, s, err);
	if (r != 0)
		return r;
	r = shardwriter_open(w, x->ledger.fd, x->ledger.dir, s->name, x->options->shards, x->width, s->first,
	                     want, val || x->options->shards != SHARDS_NANOGPT, err);
	return r == 0 ? fill(x, val, want, w, record, err) : r;
}

/* ---- all shards ---- */

static bool same_place(const struct prepared_place *a, const struct prepared_place *b)
{
	return a->file == b->file && a->piece == b->piece && a->token == b->token;
}

/* Finds a shard that an earlier run made, which begins at *at and has `want` tokens or (less_too) fewer. 0:
 * *at is where it ends; -ENOENT: it must be made. */
static int find_shard(struct prepare *x, const char *name, uint64_t want, bool less_too,
                      struct prepared_place *at, struct error *err)
{
	struct prepared record = { 0 };
	int r = ledger_read(&x->ledger, name, &record, err);
	if (r == 0) {
		const struct prepared_shard *s = &record.shards[0];
		if (same_place(&s->begin, at) && (s->tokens == want || (less_too && s->tokens < want)) &&
		    shardwriter_check(x->ledger.fd, x->ledger.dir, s, x->options->shards, x->width, true,
		                      NULL, NULL) == 0) {
			*at = s->end;
			x->written += s->tokens;
			atomic_fetch_add(&x->meter.tokens, s->tokens);
			atomic_fetch_add(&x->meter.documents, s->documents);
			atomic_fetch_add(&x->meter.shards, 1);
		} else {
			r = -ENOENT;
		}
	}
	prepared_free(&record);
	return r;
}

/* The record behind the last shard; `record` has the pieces without tokens that were passed, or is empty. */
static int write_end(struct prepare *x, uint64_t shards, struct prepared *record, struct error *err)
{
	struct prepared_shard *s;
	struct cursor *c = &x->cursor;
	int r = record->n_shards == 0 ? cursor_begin(c, record, err) : 0;
	if (r != 0)
		return r;
	s = &record->shards[0];
	free(s->name);
	s->name = strdup(LEDGER_END);
	s->number = shards;
	r = c->ended ? 1 : stream_is_end(x->d, c->at.file, c->at.piece, err);
	if (r < 0)
		return r;
	s->val = r == 0;
	s->tokens = c->at.token;
	memset(s->sha256, '0', sizeof s->sha256 - 1);
	r = cursor_documents(c, record, &s->documents, err);
	if (r != 0)
		return r;
	record->ended = true;
	if (s->name == NULL)
		return fail(err, ENOMEM, "out of memory");
	return r == 0 ? ledger_write(&x->ledger, LEDGER_END, record, err) : r;
}

static int everything_held_out(struct prepare *x, struct error *err)
{
	return fail(err, EINVAL,
	            "val_tokens=%" PRIu64 " holds out everything: the source has %" PRIu64 " tokens",
	            x->options->val_tokens, x->written);
}

static uint64_t wanted(const struct prepare *x)
{
	return min_u64(x->options->shard_tokens, x->target - x->written);
}

/* Makes shard after shard until the source or the target ends. */
static int make_all(struct prepare *x, struct error *err)
{
	struct prepared_place at = { 0 };
	bool val = x->options->val_tokens > 0, ended = false;
	uint64_t number = 0;
	int r = 0;
	while (r == 0 && !ended) {
		struct prepared record = { 0 };
		struct shardwriter w = { .fd = -1 };
		char name[LEDGER_NAME];
		uint64_t want = val ? UINT64_MAX : wanted(x);
		ledger_name(val, number, name);
		r = want > 0 ? find_shard(x, name, want, true, &at, err) : -ENOENT;
		if (r == -ENOENT) {
			r = open_cursor(x, &at, err);
			if (r == 0 && want > 0)
				r = make_shard(x, val, number, want, &w, &record, err);
			bool made = record.n_shards > 0 && record.shards[0].tokens > 0;
			ended = !made;
			if (r == 0 && val &&
			    (x->cursor.ended || x->cursor.held < x->options->val_tokens ||
			     x->written >= x->target))
				r = everything_held_out(x, err);
			if (r == 0 && made)
				r = closer_add(&x->closer, &w, &record, name, err);
			else if (r == 0 && (r = closer_wait(&x->closer, err)) == 0)
				r = write_end(x, number, &record, err);
			at = x->cursor.at;
		}
		shardwriter_abort(&w);
		prepared_free(&record);
		number += !val;
		val = false;
	}
	return r;
}

/* Makes or finds shard i of all, the held-out one first. */
static int make_planned(struct prepare *x, uint64_t i, uint64_t train, struct error *err)
{
	bool val = x->options->val_tokens > 0, held = val && i == 0;
	uint64_t each = x->options->shard_tokens, number = i - val,
	         want = held ? x->plan.held : min_u64(each, train - number * each);
	struct prepared record = { 0 };
	struct prepared_place at = { 0 };
	struct shardwriter w = { .fd = -1 };
	char name[LEDGER_NAME];
	ledger_name(held, number, name);
	if (!held)
		stream_seek(x->d, &x->plan, number * each, &at);
	int r = find_shard(x, name, want, false, &at, err);
	if (r == -ENOENT) {
		r = open_cursor(x, &at, err);
		/* The held-out part ends with a piece, which may be one that is left out. */
		if (r == 0)
			r = make_shard(x, held, number, held ? UINT64_MAX : want, &w, &record, err);
		if (r == 0 && record.shards[0].tokens != want)
			r = fail(err, EIO, "%s: %s has %" PRIu64 " tokens, the counts say %" PRIu64,
			         x->ledger.dir, record.shards[0].name, record.shards[0].tokens, want);
		if (r == 0)
			r = closer_add(&x->closer, &w, &record, name, err);
	}
	shardwriter_abort(&w);
	prepared_free(&record);
	return r;
}

/* What is behind the last shard: pieces without tokens, or nothing. */
static int make_end(struct prepare *x, uint64_t train, uint64_t shards, struct error *err)
{
	struct prepared record = { 0 };
	struct prepared_place at;
	const void *ids;
	size_t got;
	stream_seek(x->d, &x->plan, train, &at);
	int r = open_cursor(x, &at, err);
	if (r == 0)
		r = cursor_begin(&x->cursor, &record, err);
	while (r == 0 && train == x->plan.train && !x->cursor.ended) {
		r = cursor_take(&x->cursor, 1, x->chunk, &ids, &got, &record, err);
		if (r == 0)
			r = check_left_out(x, &record, err);
	}
	if (r == 0)
		r = write_end(x, shards, &record, err);
	prepared_free(&record);
	return r;
}

static int measure(struct prepare *x, struct error *err)
{
	free(x->left_out);
	x->left_out = NULL;
	x->plan = (struct stream_plan){ 0 };
	int r = ledger_damage(&x->ledger, &x->left_out, &x->plan.n_left_out, err);
	x->plan.left_out = x->left_out;
	if (r == 0)
		r = stream_measure(x->d, &x->plan, err);
	if (r == -EAGAIN)
		return fail(err, EINVAL,
		            "the pieces of the source are not counted, so that nobody knows where a shard "
		            "begins: run `fineweb index --task %" PRIu32 "/%" PRIu32
		            "` with the same options first, in parallel and with one `cache`",
		            x->task.number, x->task.of);
	if (r == 0 && x->target <= x->plan.held && x->options->val_tokens > 0)
		return fail(err, EINVAL, "target_tokens=%" PRIu64 ": %" PRIu64 " tokens are held out",
		            x->target, x->plan.held);
	return r;
}

/* Makes the shards of a task by the plan as it is now. */
static int make_part_once(struct prepare *x, struct error *err)
{
	bool val = x->options->val_tokens > 0;
	uint64_t train = min_u64(x->plan.train, x->target - x->plan.held);
	uint64_t shards = ceil_div(train, x->options->shard_tokens), first, last;
	int r = 0;
	x->written = 0;
	atomic_store(&x->meter.tokens, 0);
	atomic_store(&x->meter.documents, 0);
	atomic_store(&x->meter.shards, 0);
	task_part(&x->task, shards + val, &first, &last);
	for (uint64_t i = first; r == 0 && i < last; i++) {
		atomic_store(&x->meter.share, (double)(i - first) / (double)(last - first));
		r = make_planned(x, i, train, err);
	}
	if (r == 0)
		r = closer_wait(&x->closer, err);
	return r != 0 || x->task.number + 1 != x->task.of ? r : make_end(x, train, shards, err);
}

/* Makes the shards of a task. When it or another task finds damage that nobody knew of, every later shard
 * begins elsewhere: then those that do not fit are made anew. */
static int make_part(struct prepare *x, struct error *err)
{
	size_t known;
	int r;
	do {
		x->plan_again = false;
		r = measure(x, err);
		if (r != 0)
			return r;
		known = x->plan.n_left_out;
		r = make_part_once(x, err);
		if (r == -EAGAIN && x->plan_again) {
			closer_wait(&x->closer, NULL);
			r = 0;
			continue;
		}
		if (r == 0) {
			free(x->left_out);
			x->left_out = NULL;
			r = ledger_damage(&x->ledger, &x->left_out, &x->plan.n_left_out, err);
			x->plan.left_out = x->left_out;
		}
	} while (r == 0 && (x->plan_again || x->plan.n_left_out != known));
	return r;
}

/* The one file of nanogpt gets its name when all of its parts are there. */
static int join(struct prepare *x, struct prepared *all, struct error *err)
{
	char file[SHARDFILE_NAME];
	int r = ledger_gather(&x->ledger, all, err);
	const struct prepared_shard *last =
	        r == 0 && all->n_shards > 0 ? &all->shards[all->n_shards - 1] : NULL;
	if (last != NULL && !last->val && x->options->shards == SHARDS_NANOGPT) {
		shardfile_name(SHARDS_NANOGPT, false, 0, file);
		r = shardwriter_rename(x->ledger.fd, x->ledger.dir, file,
		                       (last->first + last->tokens) * x->width, err);
	}
	return r == 0 ? ledger_finish(&x->ledger, all, err) : r;
}

/* ---- a folder that is whole ---- */

/* Makes a damaged shard again, from where dataset.json says that it begins. */
static int make_again(struct prepare *x, const struct prepared_shard *s, struct error *err)
{
	struct prepared record = { 0 };
	struct shardwriter w = { .fd = -1 };
	int r = open_cursor(x, &s->begin, err);
	x->target = UINT64_MAX;
	if (r == 0)
		r = make_shard(x, s->val, s->number, s->tokens, &w, &record, err);
	if (r == 0)
		r = shardwriter_end(&w, s->sha256, record.shards[0].sha256, err);
	shardwriter_abort(&w);
	if (r == 0)
		atomic_fetch_add(&x->meter.shards, 1);
	prepared_free(&record);
	return r;
}

/* Reads every shard back. repair: those that are damaged are made again. */
static int verify(struct prepare *x, bool repair, struct error *err)
{
	struct prepared all = { 0 };
	size_t damaged = 0;
	int r = ledger_read_whole(&x->ledger, &all, err);
	for (size_t i = 0; r == 0 && i < all.n_shards; i++) {
		const struct prepared_shard *s = &all.shards[i];
		r = shardwriter_check(x->ledger.fd, x->ledger.dir, s, x->options->shards, x->width, false,
		                      &stop, err);
		atomic_store(&x->meter.share, (double)(i + 1) / (double)all.n_shards);
		if (r == 0) {
			atomic_fetch_add(&x->meter.tokens, s->tokens);
			atomic_fetch_add(&x->meter.documents, s->documents);
			atomic_fetch_add(&x->meter.shards, 1);
		}
		if (r == 0 || (r != -EBADMSG && r != -ENOENT && r != -EIO))
			continue;
		damaged++;
		fprintf(stderr, "%s%s\n", err->text, repair ? ": it is made again" : "");
		r = repair ? make_again(x, s, err) : 0;
	}
	if (r == 0 && damaged > 0 && !repair)
		r = fail(err, EBADMSG, "%s: %zu of %zu shards are damaged: run `fineweb prepare` again",
		         x->ledger.dir, damaged, all.n_shards);
	prepared_free(&all);
	return r;
}

/* ---- the command line ---- */

static char *text_of(const struct options *o, const char *name)
{
	char buf[24];
	const char *text = options_text(o, name, buf, sizeof buf);
	return text == NULL ? NULL : strdup(text);
}

/* What the bytes depend on. */
static int fill_terms(struct prepare *x, struct error *err)
{
	struct dataset_facts facts;
	struct prepared *p = &x->ledger.terms;
	struct prepared_terms *t = &p->terms;
	dataset_facts(x->d, &facts);
	const struct options *o = x->options = facts.options;
	x->width = facts.width;
	*t = (struct prepared_terms){
		.tokenizer = strdup(facts.tokenizer),
		.tokenizer_sha256 = strdup(facts.tokenizer_sha256),
		.pattern = text_of(o, "pattern"),
		.column = text_of(o, "column"),
		.name = text_of(o, "name"),
		.split = text_of(o, "split"),
		.counts = text_of(o, "counts"),
		.on_error = text_of(o, "on_error"),
		.format = text_of(o, "shards"),
		.files_sha256 = malloc(HASH_HEX),
		.bos = o->bos,
		.eos = o->eos,
		.width = facts.width,
		.seq_len = o->seq_len,
		.val_tokens = o->val_tokens,
		.target_tokens = x->target == UINT64_MAX ? 0 : x->target,
		.shard_tokens = o->shard_tokens,
	};
	p->version = strdup(PACKAGE_VERSION);
	p->source = calloc(facts.pins + 1, sizeof *p->source);
	if (t->files_sha256 == NULL || p->source == NULL || p->version == NULL || t->counts == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (; p->sources < facts.pins; p->sources++)
		if ((p->source[p->sources] = strdup(facts.pinned[p->sources])) == NULL)
			return fail(err, ENOMEM, "out of memory");
	stream_names(x->d, t->files_sha256);
	return 0;
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

/* What the threads' time went into. */
struct shares {
	unsigned cpus;
	double encoding, reading, rest; /* of all, 0 to 1 */
	double alone;                   /* tokens a second of the tokenizer alone; 0: nothing was encoded */
};

static void find_shares(const struct prepare *x, const struct progress *p, struct shares *s)
{
	double made, encoded;
	cpu_set_t set;
	*s = (struct shares){ .cpus = x->options->threads };
	if (sched_getaffinity(0, sizeof set, &set) == 0 && (unsigned)CPU_COUNT(&set) < s->cpus)
		s->cpus = (unsigned)CPU_COUNT(&set);
	double all = p->seconds * s->cpus;
	stream_spent(x->d, &made, &encoded);
	if (encoded <= 0 || all <= 0)
		return;
	s->encoding = encoded / all;
	s->reading = (made - encoded) / all;
	s->rest = all > made ? (all - made) / all : 0;
	s->alone = (double)p->new_tokens / encoded * s->cpus;
}

static void print_shares(const struct shares *s)
{
	char alone[16];
	progress_number(s->alone, alone);
	printf("%.0f %% of the tokenizer's own %s tokens/s on %u CPU%s; %.0f %% of the time went into "
	       "reading, %.0f %% "
	       "into writing, SHA-256 and waiting\n",
	       100 * s->encoding, alone, s->cpus, s->cpus == 1 ? "" : "s", 100 * s->reading, 100 * s->rest);
}

static void summarise(struct prepare *x, const char *what, bool whole)
{
	struct progress p;
	struct rusage used;
	struct shares shares;
	char tokens[16], speed[16];
	meter_read(&x->meter, &p);
	find_shares(x, &p, &shares);
	atomic_store(&x->meter.tokenizer_share, shares.encoding);
	meter_end(&x->meter, true);
	if (x->json || x->quiet)
		return;
	getrusage(RUSAGE_SELF, &used);
	double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	             (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	progress_number((double)p.tokens, tokens);
	progress_number(p.seconds > 0 ? (double)p.new_tokens / p.seconds : 0, speed);
	printf("%s: %s %" PRIu64 " shard%s, %s tokens, %" PRIu64 " documents", x->ledger.dir, what, p.shards,
	       p.shards == 1 ? "" : "s", tokens, p.documents);
	if (p.new_tokens > 0)
		printf("; %.1f s, %s tokens/s, %.1f MB/s of text, %.1f CPUs busy of %u threads", p.seconds,
		       speed, p.seconds > 0 ? (double)p.text_bytes / p.seconds / 1e6 : 0,
		       p.seconds > 0 ? cpu / p.seconds : 0, x->options->threads);
	if (stream_found(x->d) > 0)
		printf("; %" PRIu64 " pieces were in the cache", stream_found(x->d));
	if (p.errors > 0)
		printf("; %" PRIu64 " damaged pieces left out, dataset.json lists them", p.errors);
	printf("%s\n", whole ? "" : "; when all tasks have ended, run `fineweb prepare --join`");
	if (shares.alone > 0)
		print_shares(&shares);
}

enum mode { MODE_MAKE, MODE_VERIFY, MODE_JOIN };

static int work(struct prepare *x, enum mode mode, struct error *err)
{
	struct prepared all = { 0 };
	bool was_whole = x->ledger.whole, whole = true;
	int r = 0;
	meter_start(&x->meter, x->quiet, x->json);
	if (was_whole) {
		r = mode == MODE_JOIN ? 0 : verify(x, mode == MODE_MAKE, err);
	} else if (mode == MODE_VERIFY) {
		r = fail(err, ENOENT, "%s: is not whole yet: run `fineweb prepare` again", x->ledger.dir);
	} else {
		if (mode == MODE_MAKE)
			r = x->task.given ? make_part(x, err) : make_all(x, err);
		whole = mode == MODE_JOIN || !x->task.given;
		if (r == 0 && whole)
			r = join(x, &all, err);
	}
	if (r == 0 && mode == MODE_JOIN)
		for (size_t i = 0; i < all.n_shards; i++) {
			x->meter.shards++;
			x->meter.tokens += all.shards[i].tokens;
			x->meter.documents += all.shards[i].documents;
		}
	if (r == 0)
		summarise(x, was_whole ? "has" : mode == MODE_JOIN ? "joined" : "wrote", whole);
	meter_end(&x->meter, false);
	prepared_free(&all);
	return r;
}

static int set_form(struct options *o, const char *format, struct error *err)
{
	return format == NULL ? 0 : options_set(o, "shards", format, err);
}

int prepare_run(int argc, char **argv, struct error *err)
{
	const char *dir = NULL, *format = NULL, *task = NULL;
	struct prepare x = { .ledger = { .fd = -1, .work = -1 } };
	uint64_t target = UINT64_MAX;
	bool do_verify = false, do_join = false, debug = false;
	x.closer = (struct closer){ .ledger = &x.ledger, .closed = &x.meter.shards, .w.fd = -1 };
	const struct flag flags[] = {
		{ "output", 'o', "DIR", "the folder to write to", FLAG_TEXT, &dir },
		{ "format", 0, "raw|llmc|npy|nanogpt", "the form of the shards; default raw", FLAG_TEXT,
		  &format },
		{ "target-tokens", 0, "N", "stop after N tokens, as 38e9 or 10B; default all", FLAG_TOKENS,
		  &target },
		{ "verify", 0, NULL, "read all back and compare it with dataset.json", FLAG_SWITCH,
		  &do_verify },
		{ "task", 0, "I/N", "part I, from 0, of N; default as a cluster says", FLAG_TEXT, &task },
		{ "join", 0, NULL, "all tasks have ended: write dataset.json", FLAG_SWITCH, &do_join },
		{ "quiet", 'q', NULL, "say nothing but errors", FLAG_SWITCH, &x.quiet },
		{ "json", 0, NULL, "progress as JSON, one object a line", FLAG_SWITCH, &x.json },
		{ "debug", 'd', NULL, "log more", FLAG_SWITCH, &debug },
	};
	const struct command command = {
		.name = "prepare",
		.words = "[SOURCE]...",
		.about = "Writes the tokens of a source to DIR, byte for byte what shards/ of a mount\n"
		         "shows, and dataset.json. Run again, it goes on where it was stopped, or makes\n"
		         "a damaged shard again. A mount of DIR serves the batches of the source.\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
		.most = SIZE_MAX,
		.sources = true,
		.need = &dir,
		.need_text = "-o DIR, the folder to write to",
	};
	struct arguments a;
	int r = arguments_read(&command, argc, argv, &a, err);
	if (r == 0 && do_verify && do_join)
		r = fail(err, EINVAL, "--verify and --join: expected one of them");
	if (r == 0)
		r = task_read(do_join || do_verify ? "0/1" : task, &x.task, err);
	if (r == 0)
		r = set_form(&a.options, format, err);
	if (r == 0)
		r = options_check(&a.options, err);
	if (r != 0)
		goto out;
	x.task.given = x.task.given && !do_join && !do_verify;
	x.target = target;
	if (a.options.threads == 0)
		a.options.threads =
		        (unsigned)min_u64(1024, max_u64(1, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)));
	log_open(false, debug ? LOG_LEVEL_DEBUG : x.quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING);
	catch_signals();
	x.chunk = malloc(4 * (size_t)CHUNK);
	r = x.chunk == NULL ? fail(err, ENOMEM, "out of memory")
	                    : dataset_stream(&a.options, &stop, false, &x.d, err);
	if (r == 0)
		r = fill_terms(&x, err);
	if (r == 0)
		r = ledger_open(&x.ledger, dir, x.task.given, do_verify || do_join, err);
	if (r == 0)
		r = work(&x, do_verify ? MODE_VERIFY : do_join ? MODE_JOIN : MODE_MAKE, err);
	if (r == -EINTR && atomic_load(&stop))
		fail(err, EINTR, "stopped; the same command goes on after the last whole shard");
out:
	closer_wait(&x.closer, NULL);
	cursor_close(&x.cursor);
	ledger_close(&x.ledger);
	dataset_close(x.d);
	free(x.chunk);
	free(x.left_out);
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
