#include "dataset/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "dataset/damage.h"
#include "dataset/internal.h"
#include "dataset/outline.h"
#include "dataset/packed.h"
#include "dataset/prefetch.h"
#include "dataset/sidecount.h"
#include "dataset/stored.h"
#include "io/listing.h"

#define CONNECTIONS_SPARE 16 /* transfers that are not of pieces */
#define LISTEN_NS 5000000000 /* counting goes on for so long before the mount is ready */

int64_t dataset_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void dataset_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ns)
{
	int64_t until = dataset_clock() + ns;
	struct timespec t = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
	pthread_cond_timedwait(cond, lock, &t);
}

/* ---- opening ---- */

static char *copy_text(const char *text)
{
	return text == NULL ? NULL : strdup(text);
}

/* *to gets strings of its own. */
static int copy_options(struct options *to, const struct options *from, struct error *err)
{
	*to = *from;
	to->source = calloc(from->sources + 1, sizeof *to->source);
	to->name = copy_text(from->name);
	to->split = copy_text(from->split);
	to->column = copy_text(from->column);
	to->endpoint = copy_text(from->endpoint);
	to->index = copy_text(from->index);
	to->tokenizer = copy_text(from->tokenizer);
	to->pattern = copy_text(from->pattern);
	to->cache = copy_text(from->cache);
	to->config = copy_text(from->config);
	if (to->source == NULL || (from->tokenizer != NULL && to->tokenizer == NULL))
		return fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < from->sources; i++)
		if ((to->source[i] = strdup(from->source[i])) == NULL)
			return fail(err, ENOMEM, "out of memory");
	return 0;
}

static int resolve(struct dataset *d, struct error *err)
{
	struct options *o = &d->options;
	int r = tokenizer_info(o->tokenizer, o->pattern, &d->tokenizer, err);
	if (r != 0)
		return r;
	d->width = tokenizer_width(d->tokenizer.vocab);
	if (o->bos == ID_AUTO)
		o->bos = d->tokenizer.bos;
	if (o->eos == ID_AUTO)
		o->eos = ID_NONE;
	if (o->bos >= (int64_t)d->tokenizer.vocab || o->eos >= (int64_t)d->tokenizer.vocab)
		return fail(err, EINVAL, "%s=%" PRId64 ": the vocabulary has the ids 0 ... %" PRIu32,
		            o->bos >= (int64_t)d->tokenizer.vocab ? "bos" : "eos",
		            o->bos >= (int64_t)d->tokenizer.vocab ? o->bos : o->eos, d->tokenizer.vocab - 1);
	if (o->threads == 0) {
		long cpus = sysconf(_SC_NPROCESSORS_ONLN);
		o->threads = cpus > 8 ? (unsigned)cpus / 4 : 2;
	}
	return o->index != NULL ? packed_open(o->index, &d->packed, err) : 0;
}

/* The tokens of a piece of a token file on a server: pieces_options.tokens. The last piece has the file's
 * tail as well. */
static int token_range(void *arg, uint32_t file, uint32_t piece, struct tokenfile *t, uint64_t *first,
                       uint64_t *n, struct error *err)
{
	struct dataset *d = arg;
	int r = manifest_tokenfile(d->manifest, file, t, err);
	if (r != 0)
		return r;
	uint64_t each = manifest_piece_sequences(d->manifest) * d->options.seq_len;
	bool last = piece + 1 >= manifest_pieces(d->manifest, file);
	*first = piece * each;
	*n = last ? t->tokens - *first : each + 1;
	return 0;
}

static int pin_of(void *arg, uint32_t file, uint8_t out[32], struct error *err)
{
	return manifest_pin(((struct dataset *)arg)->manifest, file, out, err);
}

static int open_of(void *arg, uint32_t file, struct source **out, enum file_kind *kind, struct error *err)
{
	return manifest_open(((struct dataset *)arg)->manifest, file, out, kind, err);
}

static bool still_of(void *arg, uint32_t file)
{
	return manifest_still(((struct dataset *)arg)->manifest, file);
}

static bool remote_of(void *arg, uint32_t file)
{
	return manifest_remote(((struct dataset *)arg)->manifest, file);
}

static void changed(void *arg)
{
	requests_changed(arg);
	prefetch_changed(arg);
}

static int disk_grow(void *arg, int *fd, size_t was, size_t n, struct error *err)
{
	return cache_scratch(((struct dataset *)arg)->cache, fd, was, n, err);
}

static void disk_drop(void *arg, int fd)
{
	cache_scratch_drop(((struct dataset *)arg)->cache, fd);
}

static void make_room(void *arg)
{
	struct dataset *d = arg;
	if (d->pieces != NULL)
		pieces_make_room(d->pieces);
}

/* Parts of `memory`: what is fetched ahead and pieces that are kept without a disk have theirs in src/fetch. */
static void open_pool(struct dataset *d)
{
	d->pool = (struct share_pool){
		.small = (size_t)(d->options.memory / 4),
		.large = (size_t)(d->options.memory / 8 * 5),
		.grow = d->cache != NULL ? disk_grow : NULL,
		.drop = disk_drop,
		.room = make_room,
		.arg = d,
	};
	share_pool_init(&d->pool);
}

static int open_rooms(struct dataset *d, struct listing *l, struct error *err)
{
	const struct options *o = &d->options;
	uint32_t groups = (uint32_t)max_u64(1, ceil_div(o->seq_len, 16384));
	struct manifest_options mo = {
		.options = o,
		.tokenizer_sha256 = d->tokenizer.sha256,
		.tokenizer_revision = d->tokenizer.revision,
		.width = d->width,
		.vocab = d->tokenizer.vocab,
		.groups = groups,
		.http = d->http,
		.cache = d->cache,
		.index = d->index,
		.packed = d->packed,
	};
	int r = manifest_new(&mo, l, &d->manifest, err);
	open_pool(d);
	struct textfiles_options to = {
		.column = o->column,
		.page = (size_t)(o->memory / 2),
		.open = open_of,
		.still = still_of,
		.remote = remote_of,
		.pool = &d->pool,
		.recall = outline_recall,
		.remember = outline_remember,
		.arg = d,
	};
	if (r == 0)
		r = textfiles_new(&to, &d->textfiles, err);
	return r;
}

/* counts=column is for FineWeb's own files: Parquet with a token_count column. */
static int choose_counts(struct dataset *d, struct error *err)
{
	struct options *o = &d->options;
	bool column = false;
	const struct listed_file *first = manifest_file(d->manifest, 0);
	bool parquet = first->kind == KIND_PARQUET && d->stored == NULL;
	if (d->stored != NULL) {
		int r = stored_options(d->stored, o, d->tokenizer.sha256, &column, err);
		if (r == 0)
			r = stored_count(d->stored, d->manifest, o, err);
		if (r != 0)
			return r;
	}
	if (parquet && o->counts != COUNTS_EXACT &&
	    (o->counts == COUNTS_COLUMN || strcmp(o->tokenizer, "gpt2") == 0)) {
		int r = opening_first_counts(d, &column, err);
		if (r != 0)
			return r;
	}
	if (o->counts == COUNTS_COLUMN && !column && !d->token_files)
		return fail(err, EINVAL, "%s: has no column token_count: use counts=exact", first->where);
	d->by_column = column;
	manifest_use_column(d->manifest, column);
	o->counts = column ? COUNTS_COLUMN : COUNTS_EXACT;
	/* Files of a server are asked for it only where that changes something. */
	bool asked = !d->lies && !column && !d->streaming &&
	             (o->stride == STRIDE_PIECE || (d->remote && o->index != NULL));
	bool complete = asked && opening_complete(d);
	d->background = d->token_files || column || !d->remote || complete;
	if (o->list == LIST_AUTO)
		o->list = d->background ? LIST_ALL : LIST_COUNTED;
	if (o->stride == STRIDE_PIECE && !d->token_files && !column && d->stored == NULL && !complete &&
	    !d->streaming)
		return fail(err, EINVAL,
		            "stride=piece needs counts that cost no tokenising: token files or a token_count "
		            "column; "
		            "count ahead with `fineweb index`");
	return 0;
}

/* Whether two blocks of a stream fit into the cache, or the source if that is smaller: its text has at most a
 * token a byte. */
static int check_cache(struct dataset *d, struct error *err)
{
	const struct options *o = &d->options;
	uint64_t bytes = 0, two;
	if (d->cache == NULL || o->cache_size == 0 || d->streaming)
		return 0;
	for (uint32_t f = 0; f < manifest_files(d->manifest); f++)
		bytes += manifest_file(d->manifest, f)->size;
	uint64_t source = d->remote ? UINT64_MAX : bytes * d->width;
	if (!mul_u64(2 * o->block, d->width, &two))
		two = UINT64_MAX;
	uint64_t need = min_u64(two, source);
	if (o->cache_size >= need)
		return 0;
	if (o->shuffle == SHUFFLE_BLOCK || o->shuffle == SHUFFLE_NONE)
		return fail(err, EINVAL,
		            "cache_size=%" PRIu64 " cannot hold two blocks: give %" PRIu64
		            " bytes, or a smaller `block`",
		            o->cache_size, need);
	log_warning(
	        "cache_size=%" PRIu64
	        " cannot hold the source: shuffle=%s reads it again and again; `fineweb prepare` it first",
	        o->cache_size, o->shuffle == SHUFFLE_FULL ? "full" : "torch");
	return 0;
}

static int open_pieces(struct dataset *d, struct error *err)
{
	const struct options *o = &d->options;
	struct pieces_options po = {
		.files = d->textfiles,
		.cache = d->cache,
		.tokenizer = o->tokenizer,
		.pattern = o->pattern,
		.early = d->early,
		.tokenizer_sha256 = d->tokenizer.sha256,
		.tokenizer_revision = d->tokenizer.revision,
		.bos = o->bos,
		.eos = o->eos,
		.width = d->width,
		.groups = (uint32_t)max_u64(1, ceil_div(o->seq_len, 16384)),
		.threads = o->threads,
		.retry_s = o->retry,
		.memory = o->memory,
		.tokens = d->token_files ? token_range : NULL,
		.pin = pin_of,
		.remote = remote_of,
		.any_remote = d->remote,
		.documents = d->streaming,
		.keep = d->keeping,
		.uncounted = counting_uncounted,
		.fetched = counting_fetched,
		.made = counting_made,
		.changed = changed,
		.arg = d,
	};
	d->early = NULL;
	int r = pieces_new(&po, &d->pieces, err);
	struct rlimit files = { 1024, 1024 };
	if (r == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = min_u64(files.rlim_max, 65536);
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (r == 0)
		r = handles_new(d->manifest, (unsigned)min_u64(8192, files.rlim_cur / 4), &d->handles, err);
	d->damage = damage_new();
	return r == 0 && d->damage == NULL ? fail(err, ENOMEM, "out of memory") : r;
}

static bool stopped(struct dataset *d)
{
	return d->outer_stop != NULL && atomic_load(d->outer_stop);
}

/* Waits for news, for 50 ms at most: `stop` may be set where no signal reaches the condition. */
static void wait_counted(struct dataset *d)
{
	dataset_wait(&d->counted, &d->lock, 50000000);
}

static int no_batch(struct dataset *d, struct error *err)
{
	const struct options *o = &d->options;
	struct manifest_sums s;
	manifest_sum(d->manifest, d->cut_file, d->cut_piece, false, &s);
	if (o->stride == STRIDE_PIECE && s.pieces < o->world_size)
		return fail(err, EINVAL,
		            "no batch: %" PRIu64 " pieces for world_size=%" PRIu32 " under stride=piece",
		            s.pieces, o->world_size);
	return fail(err, EINVAL,
	            "no batch: the source has %" PRIu64 " sequences of seq_len=%" PRIu32
	            "%s; one batch of world_size=%" PRIu32 " times batch_size=%" PRIu32 " needs %" PRIu64
	            " from start=%" PRIu64 " on",
	            s.sequences, o->seq_len, o->max_tokens > 0 ? " (max_tokens keeps fewer)" : "",
	            o->world_size, o->batch_size, (uint64_t)o->world_size * o->batch_size, o->start);
}

static int check_fingerprint(struct dataset *d, struct error *err)
{
	const char *want = d->options.fingerprint;
	if (strncmp(want, d->fingerprint, strlen(want)) == 0)
		return 0;
	return fail(err, ESTALE,
	            "the fingerprint is %s, fingerprint=%s is asked for: source or options differ",
	            d->fingerprint, want);
}

/* Waits until it is known where the held-out part ends. */
static int wait_cut(struct dataset *d, struct error *err)
{
	int64_t until = d->started_ns + (int64_t)d->options.ready_timeout * 1000000000;
	char printed[65];
	pthread_mutex_lock(&d->lock);
	while (!atomic_load(&d->cut_known) && d->failure.code == 0 && dataset_clock() < until)
		wait_counted(d);
	struct error failure = d->failure, passing = d->passing;
	pthread_mutex_unlock(&d->lock);
	if (!atomic_load(&d->cut_known) && failure.code != 0) {
		*err = failure;
		return -failure.code;
	}
	if (!atomic_load(&d->cut_known))
		return fail(err, ETIMEDOUT, "nothing was counted in ready_timeout=%u s%s%s",
		            d->options.ready_timeout, passing.code != 0 ? ": " : "", passing.text);
	if (d->options.fingerprint[0] == 0)
		return 0;
	int r = dataset_fingerprint(d, printed, err);
	return r == 0 ? check_fingerprint(d, err) : r;
}

/* Waits until one global batch is counted; then for the rest, but not for long. */
static int wait_ready(struct dataset *d, struct error *err)
{
	int64_t began = dataset_clock(), until = d->started_ns + (int64_t)d->options.ready_timeout * 1000000000;
	int r = 0;
	pthread_mutex_lock(&d->lock);
	while (!d->block0 && d->failure.code == 0 && !stopped(d) && dataset_clock() < until)
		wait_counted(d);
	bool block0 = d->block0;
	struct error failure = d->failure, passing = d->passing;
	pthread_mutex_unlock(&d->lock);
	if (stopped(d))
		return fail(err, EINTR, "stopped before the mount was ready");
	uint64_t known = 0;
	bool final = false;
	int stop_code = 0;
	if (atomic_load(&d->cut_known))
		dataset_batches_now(d, false, d->options.epoch, &known, &final, &stop_code);
	if (known == 0 && final)
		return no_batch(d, err);
	if (known == 0 && failure.code != 0) {
		if (err != NULL)
			*err = failure;
		return -failure.code;
	}
	if (!block0 && known == 0)
		return fail(
		        err, ETIMEDOUT,
		        "not one batch was counted in ready_timeout=%u s%s%s: run `fineweb index %s` first",
		        d->options.ready_timeout, passing.code != 0 ? ": " : "", passing.text,
		        d->options.source[0]);
	const char *want = d->options.fingerprint;
	int64_t listen = began + LISTEN_NS < until && want[0] == 0 ? began + LISTEN_NS : until;
	pthread_mutex_lock(&d->lock);
	while ((want[0] != 0 ? !d->fingerprinted : d->background && !d->remote && !d->background_counted) &&
	       d->failure.code == 0 && !stopped(d) && dataset_clock() < listen)
		wait_counted(d);
	bool printed = d->fingerprinted;
	failure = d->failure;
	pthread_mutex_unlock(&d->lock);
	if (want[0] != 0 && !printed)
		r = fail(err, ETIMEDOUT, "the fingerprint was not made in ready_timeout=%u s%s%s",
		         d->options.ready_timeout, failure.code != 0 ? ": " : "",
		         failure.code != 0 ? failure.text : "");
	else if (want[0] != 0)
		r = check_fingerprint(d, err);
	return r;
}

static int start(struct dataset *d, struct error *err)
{
	int r = prefetch_new(d, err);
	if (r == 0 && d->remote)
		r = sidecount_new(d, counting_remote, &d->sidecount, err);
	if (r == 0)
		r = requests_start(d, err);
	if (r != 0 || d->streaming)
		return r;
	r = pthread_create(&d->counter, NULL, counting_thread, d);
	d->has_counter = r == 0;
	return r == 0 ? 0 : fail(err, r, "cannot start a thread: %s", strerror(r));
}

int dataset_open_until(const struct options *options, bool sample, const atomic_bool *stop,
                       int (*wait)(struct dataset *d, struct error *err), bool keep, struct dataset **out,
                       struct error *err)
{
	struct error local;
	struct listing files = { 0 };
	struct dataset *d = calloc(1, sizeof *d);
	if (d == NULL)
		return fail(err, ENOMEM, "out of memory");
	if (err == NULL)
		err = &local;
	d->sample = sample;
	d->outer_stop = stop;
	d->streaming = wait == NULL;
	d->keeping = keep;
	d->started_ns = dataset_clock();
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->requests, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&d->counted, &monotonic);
	pthread_cond_init(&d->to_count, &monotonic);
	pthread_cond_init(&d->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&d->runnable, NULL);
	sem_init(&d->cancels, 0, 0);
	unsigned stall = opening_stall_ms(options);
	const struct http_options ho = {
		.stop = &d->stop,
		.stop_too = stop,
		.stall_timeout_ms = stall,
		.connect_timeout_ms = (unsigned)min_u64(10000, stall),
		.connections = PIECE_FETCHERS + CONNECTIONS_SPARE,
	};
	int r = copy_options(&d->options, options, err);
	if (r == 0)
		r = resolve(d, err);
	if (r == 0)
		opening_early(d);
	if (r == 0)
		r = http_new(&ho, &d->http, err);
	if (r == 0)
		r = opening_index(d, err);
	if (r == 0)
		opening_cache(d, false);
	if (r == 0)
		r = opening_files(d, &files, err);
	if (r == 0)
		opening_cache(d, true);
	if (r == 0)
		r = open_rooms(d, &files, err);
	if (r == 0)
		r = choose_counts(d, err);
	if (r == 0)
		r = check_cache(d, err);
	if (r == 0)
		r = open_pieces(d, err);
	if (r == 0)
		r = start(d, err);
	if (r == 0 && wait != NULL)
		r = wait(d, err);
	listing_free(&files);
	if (r != 0)
		dataset_close(d);
	else
		*out = d;
	return r;
}

int dataset_open(const struct options *options, bool sample, const atomic_bool *stop, struct dataset **out,
                 struct error *err)
{
	return dataset_open_until(options, sample, stop, wait_ready, false, out, err);
}

int dataset_inspect(const struct options *options, bool sample, struct dataset **out, struct error *err)
{
	return dataset_open_until(options, sample, NULL, wait_cut, false, out, err);
}

void dataset_close(struct dataset *d)
{
	if (d == NULL)
		return;
	atomic_store(&d->stop, true);
	if (d->pieces != NULL)
		pieces_stop(d->pieces);
	if (d->has_counter) {
		counting_wake(d);
		pthread_join(d->counter, NULL);
	}
	sidecount_free(d->sidecount);
	requests_stop(d);
	prefetch_stop(d);
	pieces_free(d->pieces);
	early_free(d->early);
	prefetch_free(d);
	views_free(d->views);
	handles_free(d->handles);
	damage_free(d->damage);
	if (d->textfiles != NULL)
		share_pool_free(&d->pool);
	textfiles_free(d->textfiles);
	manifest_free(d->manifest);
	stored_free(d->stored);
	packed_close(d->packed);
	index_close(d->index);
	cache_close(d->cache);
	http_free(d->http);
	for (size_t i = 0; i < d->pins; i++)
		free(d->pinned[i]);
	free(d->pinned);
	options_free(&d->options);
	sem_destroy(&d->cancels);
	pthread_cond_destroy(&d->news);
	pthread_cond_destroy(&d->runnable);
	pthread_cond_destroy(&d->to_count);
	pthread_cond_destroy(&d->counted);
	pthread_mutex_destroy(&d->requests);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* ---- what is known ---- */

void dataset_facts(struct dataset *d, struct dataset_facts *out)
{
	*out = (struct dataset_facts){
		.options = &d->options,
		.sample = d->sample,
		.width = d->width,
		.dtype = d->width == 2 ? "uint16" : "uint32",
		.batch_bytes = (uint64_t)d->options.batch_size * (d->options.seq_len + 1) * d->width,
		.tokenizer = d->tokenizer.name,
		.tokenizer_sha256 = d->tokenizer.sha256,
		.pinned = d->pinned,
		.pins = d->pins,
		.files = manifest_files(d->manifest),
		.date = manifest_date(d->manifest),
		.has_documents = !d->token_files,
	};
}

int dataset_fingerprint(struct dataset *d, char out[65], struct error *err)
{
	int r = 0;
	pthread_mutex_lock(&d->lock);
	while (!d->fingerprinted && d->pin_failure.code == 0 && !atomic_load(&d->stop))
		wait_counted(d);
	if (d->fingerprinted) {
		memcpy(out, d->fingerprint, sizeof d->fingerprint);
	} else if (d->pin_failure.code != 0) {
		r = -d->pin_failure.code;
		if (err != NULL)
			*err = d->pin_failure;
	} else {
		r = fail(err, EINTR, "the mount is ending");
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

void dataset_counts(struct dataset *d, bool val, struct dataset_counts *out)
{
	struct manifest_sums s = { 0 };
	int stop_code;
	*out = (struct dataset_counts){ 0 };
	if (val && d->options.val_tokens == 0) {
		out->final = true;
		return;
	}
	manifest_sum(d->manifest, d->cut_file, d->cut_piece, val, &s);
	dataset_batches_now(d, val, d->options.epoch, &out->batches_known, &out->final, &stop_code);
	out->documents = s.documents;
	out->tokens = s.tokens;
	out->sequences = s.sequences;
	out->dropped_tokens = s.dropped;
}

void dataset_stats(struct dataset *d, struct dataset_stats *out)
{
	struct pieces_counters p;
	struct http_counters h;
	struct view *view;
	*out = (struct dataset_stats){
		.pieces_cut = atomic_load(&d->cut),
		.pieces_filled = atomic_load(&d->filled),
		.uptime_seconds = (uint64_t)(dataset_clock() - d->started_ns) / 1000000000,
	};
	pieces_counters(d->pieces, &p);
	http_counters(d->http, &h);
	out->cache_hits = p.hits;
	out->cache_misses = p.misses;
	out->pieces_fetched = p.fetched;
	out->pieces_tokenized = p.tokenized;
	out->retries = p.retries;
	out->errors = p.errors;
	out->cache_errors = p.disk_errors;
	out->memory_bytes = p.memory_bytes;
	out->queue_length = p.queued;
	out->flight_bytes = p.flight;
	out->window_bytes = p.window;
	out->bytes_fetched = h.bytes;
	out->requests = h.requests;
	if (views_get(d->views, false, d->options.epoch, &view, NULL) == 0) {
		uint32_t streams = d->options.stride == STRIDE_PIECE ? d->options.world_size : 1;
		pthread_mutex_lock(&view->lock);
		for (uint32_t s = 0; s < streams; s++)
			out->blocks_counted += epoch_blocks(view->order, s);
		pthread_mutex_unlock(&view->lock);
		views_put(d->views, view);
	}
}

void dataset_batches_now(struct dataset *d, bool val, uint32_t epoch, uint64_t *known, bool *final,
                         int *stop_code)
{
	struct view *view;
	*known = 0;
	*final = false;
	*stop_code = 0;
	int r = views_look(d->views, val, epoch, &view, NULL);
	if (r != 0) {
		*final = r == -ENOENT;
		*stop_code = r == -ENOENT ? 0 : -r;
		return;
	}
	*final = atomic_load(&view->final);
	*known = atomic_load(&view->known);
	*stop_code = atomic_load(&view->stop_code);
}

int dataset_size_now(struct dataset *d, const struct dataset_object *o, uint64_t *size)
{
	uint64_t known, batch = (uint64_t)d->options.batch_size * (d->options.seq_len + 1) * d->width;
	bool final;
	int stop_code;
	if (o->kind == OBJECT_SHARD)
		return shards_size_now(d, o->number, size);
	if (o->rank >= d->options.world_size || o->epoch > 4095 || (o->val && d->options.val_tokens == 0))
		return -ENOENT;
	dataset_batches_now(d, o->val, o->epoch, &known, &final, &stop_code);
	if (o->kind == OBJECT_EPOCH) {
		*size = known * batch;
		return final ? (known == 0 ? -ENOENT : 0) : stop_code != 0 ? -stop_code : -EAGAIN;
	}
	*size = batch;
	return o->number < known ? 0 : final ? -ENOENT : stop_code != 0 ? -stop_code : -EAGAIN;
}

int dataset_read_now(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n)
{
	struct error err;
	return o->kind == OBJECT_SHARD ? shards_read(d, o->number, off, buf, n, false, &err)
	                               : rows_read(d, o, off, buf, n, false, NULL, &err);
}
