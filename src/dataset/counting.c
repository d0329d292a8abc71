/* counting: the thread that counts blocks forward, for who waits first, then in the background. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/log.h"
#include "dataset/fingerprint.h"
#include "dataset/internal.h"
#include "dataset/prefetch.h"
#include "dataset/sidecount.h"
#include "format/jsonl.h"
#include "format/parquet.h"

#define MOST_TOKENS (UINT32_MAX - 2) /* of a piece: what the manifest can hold */
#define NEEDS 40                     /* what is counted side by side, at most */
#define TOGETHER 4                   /* pieces that are fetched for a reader before they are counted, at most */
#define RETRY_S 10 /* between attempts of the background at what failed for a passing reason */

/* For whom something is counted: nobody yet; who waits for a size or a listing; who will read the pieces too.
 */
enum asker { BACKGROUND, WAITING, READER };

enum { DONE = FINGERPRINT_DONE }; /* beside 0 (something was counted), -EAGAIN (being fetched) and other -errno */

/* What will be the same at the next attempt, within this mount. */
static bool lasting(int r)
{
	return r == -EBADMSG || r == -ENOTSUP || r == -ESTALE || r == -ENOENT;
}

static int give_up(struct dataset *d, uint32_t file, uint32_t piece, int r, const struct error *err)
{
	if (!lasting(r))
		return r;
	manifest_set_bad(d->manifest, file, piece, -r, err->text);
	if (!d->streaming) /* that tells of it itself */
		log_warning("cannot count: %s: %s", errno_name(-r), err->text);
	return 0;
}

static uint64_t pieces_of_groups(const struct dataset *d, uint32_t groups)
{
	return max_u64(1, ceil_div(groups, max_u64(1, ceil_div(d->options.seq_len, 16384))));
}

/* The number of pieces of a text file that is open. */
static int count_pieces(struct dataset *d, uint32_t file, struct source *s, uint64_t *pieces,
                        struct error *err)
{
	const struct listed_file *f = manifest_file(d->manifest, file);
	uint32_t groups;
	int r = 0;
	*pieces = 1;
	if (f->kind == KIND_JSONL)
		*pieces = jsonl_pieces(s->size);
	if (f->kind != KIND_PARQUET)
		return 0;
	/* Of a remote file from the head of the footer: a permutation does not need the other megabytes of
	 * it. */
	if (f->remote && file > 0) {
		r = parquet_count_row_groups(s, NULL, &groups, err);
	} else {
		struct textfile *t;
		r = textfiles_get(d->textfiles, file, &t, err);
		if (r == 0) {
			groups = parquet_row_groups(t->parquet);
			textfiles_put(d->textfiles, t, false);
		}
	}
	if (r == 0)
		*pieces = pieces_of_groups(d, groups);
	return r;
}

static int count_file(struct dataset *d, uint32_t file, struct error *err)
{
	struct source *s;
	enum file_kind kind;
	uint64_t pieces;
	/* Opening a remote file pins it and brings the end of it: both are used before it is closed. */
	int r = manifest_open(d->manifest, file, &s, &kind, err);
	if (r != 0)
		return r;
	r = manifest_load(d->manifest, file, err);
	if (r == -ENOENT) {
		r = count_pieces(d, file, s, &pieces, err);
		if (r == 0 && pieces >= ORDER_PIECES)
			r = fail(err, ENOTSUP, "%s: has %" PRIu64 " pieces", s->name, pieces);
		if (r == 0)
			r = manifest_set_pieces(d->manifest, file, (uint32_t)pieces, err);
	}
	source_close(s);
	return r;
}

struct column_sum {
	uint64_t tokens, documents;
	uint64_t around; /* bos and eos of a document */
	const char *name;
};

static int add_count(void *arg, bool null, int64_t value, struct error *err)
{
	struct column_sum *s = arg;
	if (null || value == 0)
		return 0;
	if (value < 0 || value > INT32_MAX)
		return fail(err, EBADMSG, "%s: token_count is %" PRId64, s->name, value);
	s->tokens += (uint64_t)value + s->around;
	s->documents++;
	return 0;
}

static int count_column(struct dataset *d, uint32_t file, uint32_t piece, struct error *err)
{
	struct textfile *t;
	int r = textfiles_get(d->textfiles, file, &t, err);
	if (r != 0)
		return r;
	struct column_sum sum = {
		.around = (d->options.bos >= 0 ? 1u : 0u) + (d->options.eos >= 0 ? 1u : 0u),
		.name = t->source->name,
	};
	uint64_t groups = max_u64(1, ceil_div(d->options.seq_len, 16384)), first = piece * groups;
	if (t->token_count < 0)
		r = fail(err, EBADMSG,
		         "%s: has no column token_count, as the first file has: use counts=exact", sum.name);
	for (uint64_t g = first; r == 0 && g < first + groups && g < parquet_row_groups(t->parquet); g++)
		r = parquet_ints(t->parquet, (uint32_t)g, t->token_count, add_count, &sum, err);
	textfiles_put(d->textfiles, t, r != 0);
	if (r == 0 && sum.tokens > MOST_TOKENS)
		r = fail(err, ENOTSUP, "%s: piece %" PRIu32 " has %" PRIu64 " tokens", sum.name, piece,
		         sum.tokens);
	if (r == 0)
		manifest_set_count(d->manifest, file, piece, (uint32_t)sum.tokens, (uint32_t)sum.documents);
	return r;
}

/* Whether counting a need costs no tokenising. */
static bool is_cheap(struct dataset *d, const struct order_need *need)
{
	return d->by_column || need->piece == ORDER_PIECES || d->token_files ||
	       manifest_pieces(d->manifest, need->file) == -EAGAIN;
}

/* Counts what costs no tokenising. 0: it is counted (or known to be bad) now; other -errno: not now. */
static int count_cheap(struct dataset *d, const struct order_need *need, struct error *err)
{
	struct tokenfile t;
	int r;
	if (d->token_files) {
		r = manifest_tokenfile(d->manifest, need->file, &t, err);
		if (r == 0 || manifest_tokenfile_now(d->manifest, need->file, &t) != -EAGAIN)
			return 0;
		return give_up(d, need->file, ORDER_PIECES, r, err);
	}
	if (manifest_pieces(d->manifest, need->file) == -EAGAIN) {
		r = count_file(d, need->file, err);
		return r < 0 ? give_up(d, need->file, ORDER_PIECES, r, err) : 0;
	}
	if (need->piece == ORDER_PIECES || manifest_tokens(d->manifest, need->file, need->piece) != -EAGAIN)
		return 0;
	r = count_column(d, need->file, need->piece, err);
	return r < 0 ? give_up(d, need->file, need->piece, r, err) : 0;
}

int counting_remote(struct dataset *d, const struct order_need *need, struct error *err)
{
	return count_cheap(d, need, err);
}

bool counting_uncounted(void *arg, uint32_t file, uint32_t piece)
{
	struct dataset *d = arg;
	return d->by_column && manifest_tokens(d->manifest, file, piece) == -EAGAIN;
}

void counting_fetched(void *arg, uint32_t file, uint32_t piece)
{
	struct error err = { 0 };
	const struct order_need need = { file, piece };
	if (count_cheap(arg, &need, &err) == 0)
		counting_wake(arg);
}

/* Counts by tokenising: the piece is made, and counted when it is. */
static int count_exactly(struct dataset *d, const struct order_need *need, enum priority priority,
                         struct error *err)
{
	struct piece_ref ref;
	int r = pieces_get(d->pieces, need->file, need->piece, priority, &ref, err);
	if (r == 0)
		pieces_put(d->pieces, &ref);
	if (r == 0 || r == -EAGAIN)
		return manifest_tokens(d->manifest, need->file, need->piece) == -EAGAIN ? -EAGAIN : 0;
	return give_up(d, need->file, need->piece, r, err);
}

/* 0: it is counted (or known to be bad) now; -EAGAIN: it is being counted; other -errno: not now. */
static int count_need(struct dataset *d, const struct order_need *need, enum asker asker, struct error *err)
{
	if (!is_cheap(d, need))
		return count_exactly(d, need, asker == BACKGROUND ? PRIORITY_COUNT : PRIORITY_READER, err);
	if (d->sidecount == NULL || !manifest_remote(d->manifest, need->file))
		return count_cheap(d, need, err);
	/* Who will read the piece as well: one request for both. */
	if (asker == READER && need->piece != ORDER_PIECES &&
	    manifest_pieces(d->manifest, need->file) != -EAGAIN) {
		int r = pieces_want(d->pieces, need->file, need->piece, PRIORITY_READER);
		if (r == -EAGAIN)
			return manifest_tokens(d->manifest, need->file, need->piece) == -EAGAIN ? -EAGAIN : 0;
	}
	return sidecount_want(d->sidecount, need, err);
}

/* Asks for what will be needed soon as well, so that servers and workers are not idle between two needs. For
 * a reader who waits, these are files to look into, and what his block lacks: the pieces themselves, if they are
 * few. */
static void count_more(struct dataset *d, const struct order_need *needs, uint32_t n, enum asker asker)
{
	uint32_t making = 0;
	for (uint32_t i = 1; i < n; i++) {
		bool cheap = is_cheap(d, &needs[i]);
		if (cheap && d->sidecount != NULL && manifest_remote(d->manifest, needs[i].file)) {
			if (asker != READER || needs[i].piece == ORDER_PIECES || n > TOGETHER)
				sidecount_want(d->sidecount, &needs[i], NULL);
			else
				pieces_want(d->pieces, needs[i].file, needs[i].piece, PRIORITY_READER);
		} else if (!cheap && making++ < 2 * d->options.threads) {
			pieces_want(d->pieces, needs[i].file, needs[i].piece, PRIORITY_COUNT);
		}
	}
}

int counting_made(void *arg, uint32_t file, uint32_t piece, int result, uint64_t tokens, uint64_t documents,
                  struct error *err)
{
	struct dataset *d = arg;
	const char *name = manifest_file(d->manifest, file)->where;
	if (result != 0)
		return result;
	if (d->token_files)
		return 0;
	if (tokens > MOST_TOKENS)
		return fail(err, ENOTSUP, "%s: piece %" PRIu32 " has %" PRIu64 " tokens", name, piece,
		            tokens);
	int64_t n = manifest_tokens(d->manifest, file, piece);
	if (n == -EAGAIN && d->by_column && d->streaming) {
		/* Nobody has counted it before. */
		int r = count_column(d, file, piece, err);
		if (r != 0)
			return r;
		n = manifest_tokens(d->manifest, file, piece);
	}
	if (n == -EAGAIN && !d->by_column)
		manifest_set_count(d->manifest, file, piece, (uint32_t)tokens, (uint32_t)documents);
	if (n < 0 || (uint64_t)n == tokens)
		return 0;
	uint64_t off = (uint64_t)n > tokens ? (uint64_t)n - tokens : tokens - (uint64_t)n;
	if (off * 1000 > (uint64_t)n)
		return fail(err, EBADMSG,
		            "%s: piece %" PRIu32 " has %" PRIu64
		            " tokens, its token_count column says %" PRId64 ": use counts=exact",
		            name, piece, tokens, n);
	log_warning("%s: piece %" PRIu32 " has %" PRIu64 " tokens, its token_count column says %" PRId64
	            ": it is %s",
	            name, piece, tokens, n, tokens > (uint64_t)n ? "cut" : "filled");
	atomic_fetch_add(tokens > (uint64_t)n ? &d->cut : &d->filled, 1);
	return 0;
}

/* ---- the held-out part ---- */

/* One step of looking for its end. 0: go on; DONE; or as count_need. */
static int find_cut(struct dataset *d, struct error *err)
{
	uint32_t files = manifest_files(d->manifest);
	uint64_t want = d->options.val_tokens,
	         full = manifest_piece_sequences(d->manifest) * d->options.seq_len + 1;
	while (d->cut_tokens < want && d->cut_file < files) {
		struct order_need need = { d->cut_file, d->cut_piece };
		int64_t pieces = manifest_pieces(d->manifest, d->cut_file);
		if (pieces == -EAGAIN) {
			need.piece = ORDER_PIECES;
			return count_need(d, &need, WAITING, err);
		}
		if (d->cut_piece >= pieces) {
			d->cut_file++;
			d->cut_piece = 0;
			continue;
		}
		uint64_t same;
		if (manifest_uniform(d->manifest, d->cut_file, &same) && d->cut_piece + 1 < pieces) {
			uint64_t steps = min_u64((uint64_t)pieces - 1 - d->cut_piece,
			                         ceil_div(want - d->cut_tokens, full));
			d->cut_piece += (uint32_t)steps;
			d->cut_tokens += steps * full;
			continue;
		}
		int64_t n = manifest_tokens(d->manifest, d->cut_file, d->cut_piece);
		if (n == -EAGAIN)
			return count_need(d, &need, WAITING, err);
		d->cut_tokens += n < 0 ? 0 : (uint64_t)n;
		d->cut_piece++;
	}
	/* The cut stands on a piece that is there, or behind the last file. */
	while (d->cut_file < files) {
		int64_t pieces = manifest_pieces(d->manifest, d->cut_file);
		if (d->cut_piece == 0 || (pieces >= 0 && d->cut_piece < pieces))
			break;
		d->cut_file++;
		d->cut_piece = 0;
	}
	if (want > 0 && d->cut_file == files)
		return fail(err, EINVAL,
		            "val_tokens=%" PRIu64 " holds out everything: the source has %" PRIu64 " tokens",
		            want, d->cut_tokens);
	int r = views_new(d->manifest, &d->options, d->cut_file, d->cut_piece, &d->views, err);
	if (r != 0)
		return r;
	atomic_store(&d->cut_known, true);
	return DONE;
}

/* ---- covering ---- */

/* Counts one step towards `batches` of a view. 0: go on; DONE: covered, or there are no more; -EAGAIN; other
 * -errno: `stopped` says that it will stay so. */
static int cover_step(struct dataset *d, bool val, uint32_t epoch, uint64_t batches, enum asker asker,
                      bool *stopped, struct error *err)
{
	uint64_t usual = manifest_piece_sequences(d->manifest) / 4 * 3;
	struct view *view;
	struct order_need need = { UINT32_MAX, 0 };
	*stopped = false;
	int r = views_get(d->views, val, epoch, &view, err);
	if (r != 0) {
		*stopped = true;
		return r;
	}
	r = view_cover(view, batches, &need);
	if (r == -EAGAIN) {
		struct order_need more[NEEDS];
		uint32_t n = 0;
		r = count_need(d, &need, asker, err);
		if (r == -EAGAIN) {
			pthread_mutex_lock(&view->lock);
			n = asker == READER ? epoch_needs_block(view->order, usual, more, NEEDS)
			                    : epoch_needs(view->order, more, NEEDS);
			pthread_mutex_unlock(&view->lock);
		}
		count_more(d, more, n, asker);
	} else if (r == 0 || r == 1) {
		r = DONE;
	} else {
		*stopped = true;
		if (need.file != UINT32_MAX)
			manifest_cause(d->manifest, need.file, need.piece, err);
		else
			fail(err, -r,
			     r == -ENOTSUP ? "shuffle=torch takes at most 214748363 sequences"
			                   : "out of memory");
	}
	views_put(d->views, view);
	return r;
}

uint64_t counting_target(const struct dataset_request *r)
{
	if (r->object.kind == OBJECT_BATCH && r->object.number < UINT64_MAX)
		return r->object.number + 1;
	return UINT64_MAX;
}

/* Files of shards/ need every count: one step through all files, in canonical order. */
static int count_all_step(struct dataset *d, uint32_t *at, enum asker asker, struct error *err)
{
	uint32_t files = manifest_files(d->manifest);
	for (; *at < files; ++*at) {
		int64_t pieces = manifest_pieces(d->manifest, *at);
		struct order_need need = { *at, ORDER_PIECES };
		if (pieces == -EAGAIN)
			return count_need(d, &need, asker, err);
		if (manifest_is_tokens(manifest_file(d->manifest, *at)->kind) ||
		    manifest_file_tokens(d->manifest, *at) >= 0)
			continue;
		for (uint32_t p = 0; p < pieces; p++)
			if (manifest_tokens(d->manifest, *at, p) == -EAGAIN) {
				need.piece = p;
				return count_need(d, &need, asker, err);
			}
	}
	pthread_mutex_lock(&d->lock);
	d->all_counted = true;
	pthread_mutex_unlock(&d->lock);
	return DONE;
}

/* ---- the thread ---- */

enum stage { STAGE_CUT, STAGE_FIRST, STAGE_EPOCH, STAGE_VAL, STAGE_ALL, STAGE_PINS, STAGE_IDLE };

struct counter {
	struct dataset *d;
	enum stage stage;
	uint32_t at; /* file of STAGE_ALL and STAGE_PINS */
	struct hash *fingerprint;
	int64_t not_before_ns;       /* of the stage, after a passing failure */
	int64_t asked_not_before_ns; /* of the requests */
};

static void note(struct dataset *d, const struct error *err)
{
	pthread_mutex_lock(&d->lock);
	d->failure = *err;
	pthread_cond_broadcast(&d->counted);
	pthread_mutex_unlock(&d->lock);
}

static void next_stage(struct counter *c)
{
	struct dataset *d = c->d;
	c->at = 0;
	c->stage++;
	if (c->stage == STAGE_EPOCH) {
		fingerprint_now(d);
		pthread_mutex_lock(&d->lock);
		d->block0 = true;
		pthread_mutex_unlock(&d->lock);
		if (!d->background)
			c->stage = STAGE_PINS;
	}
	if (c->stage == STAGE_VAL && d->options.val_tokens == 0)
		c->stage++;
	if (c->stage == STAGE_PINS && d->fingerprinted)
		c->stage = STAGE_IDLE;
	if (c->stage == STAGE_PINS)
		c->fingerprint = fingerprint_begin(d);
	pthread_mutex_lock(&d->lock);
	d->background_counted = c->stage >= STAGE_PINS;
	pthread_cond_broadcast(&d->counted);
	pthread_mutex_unlock(&d->lock);
}

/* When what failed for a passing reason is tried again: soon, or when the server asked for it. */
static int64_t pause_ns(const struct error *err)
{
	int64_t ms = err->again ? (int64_t)max_u64(1000, err->wait_ms) : RETRY_S * 1000;
	return dataset_clock() + ms * 1000000;
}

/* What counting waits for, for who asks; 0: it goes on. */
static void set_error(struct dataset *d, int code)
{
	pthread_mutex_lock(&d->lock);
	d->count_error = code;
	pthread_mutex_unlock(&d->lock);
}

/* One step of the background. */
static int background_step(struct counter *c, struct error *err)
{
	struct dataset *d = c->d;
	bool stopped = false;
	int r = 0;
	if (c->stage == STAGE_IDLE || dataset_clock() < c->not_before_ns)
		return -EAGAIN;
	/* What nobody asked for neither takes a server's answers nor a processor from who waits. */
	if (c->stage > STAGE_FIRST && pieces_awaited(d->pieces))
		return -EAGAIN;
	switch (c->stage) {
	case STAGE_CUT:
		r = find_cut(d, err);
		if (r == -EINVAL)
			note(d, err);
		break;
	case STAGE_FIRST:
		r = cover_step(d, false, d->options.epoch, 1, READER, &stopped, err);
		break;
	case STAGE_EPOCH:
	case STAGE_VAL:
		r = cover_step(d, c->stage == STAGE_VAL, d->options.epoch, UINT64_MAX, BACKGROUND, &stopped,
		               err);
		break;
	case STAGE_ALL:
		r = count_all_step(d, &c->at, BACKGROUND, err);
		break;
	default:
		r = fingerprint_step(d, &c->at, &c->fingerprint, err);
		break;
	}
	if (r == DONE || stopped) {
		if (stopped)
			note(d, err);
		next_stage(c);
		return 0;
	}
	if (r < 0 && r != -EAGAIN) {
		if (r != -EINTR)
			log_warning("counting waits: %s: %s", errno_name(-r), err->text);
		c->not_before_ns = pause_ns(err);
		if (err->again) {
			pthread_mutex_lock(&d->lock);
			d->passing = *err;
			pthread_mutex_unlock(&d->lock);
			return -EAGAIN;
		}
		note(d, err);
		if (c->stage == STAGE_PINS && lasting(r)) {
			/* A file that has changed has no pin any more, and this mount no fingerprint. */
			struct hash *h = c->fingerprint;
			uint8_t none[HASH_SIZE];
			hash_end(h, none);
			c->fingerprint = NULL;
			pthread_mutex_lock(&d->lock);
			d->pin_failure = *err;
			pthread_mutex_unlock(&d->lock);
			next_stage(c);
		}
		return -EAGAIN;
	}
	return r;
}

static bool same_object(const struct dataset_object *a, const struct dataset_object *b)
{
	return a->kind == b->kind && a->val == b->val && a->epoch == b->epoch && a->rank == b->rank &&
	       a->number == b->number;
}

/* Takes a request out of the list, if it is still in it: it may have been cancelled, and its memory be
 * another request by now. */
static bool take(struct dataset *d, struct dataset_request *r, const struct dataset_object *o)
{
	bool found = false;
	pthread_mutex_lock(&d->lock);
	for (struct dataset_request *q = d->covers.first; q != NULL; q = q->next)
		if (q == r && same_object(&q->object, o)) {
			requests_remove(&d->covers, r);
			found = true;
			break;
		}
	pthread_mutex_unlock(&d->lock);
	return found;
}

/* Whoever asks for a batch will read it; for a file of many pieces its size says nothing about which. */
static enum asker who_asks(const struct dataset_request *r)
{
	return r->object.kind == OBJECT_BATCH && !r->only_size ? READER : WAITING;
}

/* One step for each request that waits. Returns true when some of them can go on at once. */
static bool requests_step(struct counter *c, struct error *err)
{
	struct dataset *d = c->d;
	bool more = false;
	struct ask {
		struct dataset_request *r;
		struct dataset_object o;
		uint64_t batches;
		enum asker asker;
	} asks[64];
	size_t n = 0;
	if (dataset_clock() < c->asked_not_before_ns)
		return false;
	pthread_mutex_lock(&d->lock);
	for (struct dataset_request *r = d->covers.first; r != NULL && n < 64; r = r->next)
		asks[n++] = (struct ask){ r, r->object, counting_target(r), who_asks(r) };
	pthread_mutex_unlock(&d->lock);
	for (size_t i = 0; i < n; i++) {
		bool stopped = false;
		int r = asks[i].o.kind == OBJECT_SHARD
		                ? count_all_step(d, &(uint32_t){ 0 }, asks[i].asker, err)
		                : cover_step(d, asks[i].o.val, asks[i].o.epoch, asks[i].batches,
		                             asks[i].asker, &stopped, err);
		if (r == 0)
			more = true;
		if (r >= 0)
			set_error(d, 0);
		if (r < 0 && r != -EAGAIN && !stopped && err->again) {
			/* It waits on, until it is late; the cause is in the log. */
			log_warning("counting waits: %s: %s", errno_name(-r), err->text);
			set_error(d, -r);
			c->asked_not_before_ns = pause_ns(err);
			r = -EAGAIN;
		} else if (r < 0 && r != -EAGAIN && !stopped && r != -EINTR) {
			requests_refuse(d, r, err);
		}
		if (r == 0 || r == -EAGAIN)
			continue;
		uint64_t size;
		int result = dataset_size_now(d, &asks[i].o, &size);
		if (result == -EAGAIN && r >= 0) {
			more = true;
			continue;
		}
		if (result == -EAGAIN)
			result = r;
		if (!take(d, asks[i].r, &asks[i].o))
			continue;
		if (result < 0 && r < 0 && asks[i].r->cause != NULL)
			*asks[i].r->cause = *err;
		asks[i].r->done(asks[i].r, result);
	}
	return more;
}

void *counting_thread(void *arg)
{
	struct dataset *d = arg;
	struct counter c = { .d = d };
	struct error err = { 0 };
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), d->remote ? 0 : 5);
	while (!atomic_load(&d->stop)) {
		pthread_mutex_lock(&d->lock);
		d->count_again = false;
		pthread_mutex_unlock(&d->lock);
		bool more = atomic_load(&d->cut_known) && requests_step(&c, &err);
		more |= background_step(&c, &err) == 0;
		if (more)
			prefetch_counted(d);
		pthread_mutex_lock(&d->lock);
		pthread_cond_broadcast(&d->counted);
		if (!more && !d->count_again && !atomic_load(&d->stop))
			dataset_wait(&d->to_count, &d->lock, 1000000000);
		pthread_mutex_unlock(&d->lock);
	}
	uint8_t none[HASH_SIZE];
	hash_end(c.fingerprint, none);
	return NULL;
}

void counting_wake(struct dataset *d)
{
	pthread_mutex_lock(&d->lock);
	d->count_again = true;
	pthread_cond_signal(&d->to_count);
	pthread_mutex_unlock(&d->lock);
	prefetch_counted(d);
}
