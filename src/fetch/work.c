/* work: the threads that fetch pieces and make tokens of them.
 *
 * A piece of a local file is read and made by one thread. Of a remote one first a fetcher gets the bytes, so
 * that the network and the tokenizer are never idle at the same time; then a maker makes it. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "fetch/make.h"
#include "fetch/overlay.h"
#include "fetch/table.h"

#define NICE 10           /* of who makes what nobody waits for */
#define FETCH_SPARE 8     /* fetchers that prefetch and counting leave to readers */
#define FETCH_FIRST 4     /* pieces that are fetched for readers at once, whatever the window */
#define LATE_NS 500000000 /* after `retry` begins the last attempt; later there is none */
#define FETCH_LARGEST \
	(64u << 20) /* bytes of a piece that is fetched ahead; a larger one is streamed by its maker */

enum role { ROLE_READER, ROLE_BACKGROUND, ROLE_FETCHER };

struct worker {
	struct pieces *pieces;
	enum role role;
};

static int open_tokenizer(struct pieces *p, struct error *err)
{
	int r = 0;
	pthread_mutex_lock(&p->opening);
	if (p->tokenizer == NULL && p->o.early != NULL) {
		r = early_take(p->o.early, &p->tokenizer, err);
		early_free(p->o.early);
		p->o.early = NULL;
	} else if (p->tokenizer == NULL) {
		r = tokenizer_open(p->o.tokenizer, p->o.pattern, &p->tokenizer, err);
	}
	pthread_mutex_unlock(&p->opening);
	return r;
}

struct result {
	struct source *source;
	uint64_t offset, tokens, documents, text_bytes;
	struct starts starts;
	uint8_t *memory;
	size_t bytes;
	bool found;
};

static void result_free(struct result *r)
{
	source_close(r->source);
	free(r->memory);
	starts_free(&r->starts);
	*r = (struct result){ 0 };
}

static void of_cache(struct result *out, const struct cached_piece *c)
{
	*out = (struct result){
		.source = c->source, .offset = CACHE_HEADER, .tokens = c->tokens, .documents = c->documents
	};
}

static int of_made(struct pieces *p, struct result *out, struct made *m, const char *name, struct error *err)
{
	if (m->cached.source != NULL) {
		of_cache(out, &m->cached);
		m->cached.source = NULL;
		return 0;
	}
	/* The buffer doubled while it grew: what it does not need goes back, unless it soon is another piece's. */
	if (!p->o.documents || m->ids.room > SPARE_MOST) {
		uint8_t *exact = realloc(m->ids.at, m->ids.n > 0 ? m->ids.n : 1);
		if (exact != NULL)
			m->ids.at = exact;
		m->ids.room = m->ids.n;
	}
	*out = (struct result){
		.tokens = m->tokens, .documents = m->documents, .memory = m->ids.at, .bytes = m->ids.room
	};
	out->source = source_memory(out->memory, m->ids.n, name);
	m->ids = (struct buffer){ 0 };
	if (out->source != NULL)
		return 0;
	result_free(out);
	return fail(err, ENOMEM, "out of memory");
}

/* What a thread makes pieces with. */
struct tools {
	struct pieces *pieces;
	enum role role;
	struct encoder *encoder;
	struct buffer spare;
};

/* A thread that waits for the disk makes nothing: its processor is for others. */
static void waits(void *arg, bool begins)
{
	struct tools *t = arg;
	struct pieces *p = t->pieces;
	pthread_mutex_lock(&p->lock);
	if (begins) {
		p->making[t->role]--;
		pthread_cond_broadcast(&p->work);
	} else {
		p->making[t->role]++;
	}
	pthread_mutex_unlock(&p->lock);
}

static int make_now(struct pieces *p, struct entry *e, struct tools *tools, const struct cache_key *key,
                    struct result *out, struct error *err)
{
	struct tokenfile t;
	uint64_t first = 0, n = 0;
	int r = p->o.tokens != NULL ? p->o.tokens(p->o.arg, e->file, e->piece, &t, &first, &n, err)
	                            : open_tokenizer(p, err);
	if (r == 0 && p->o.tokens == NULL && tools->encoder == NULL &&
	    (tools->encoder = encoder_new(p->tokenizer)) == NULL)
		r = fail(err, ENOMEM, "out of memory for an encoder");
	if (r != 0)
		return r;
	struct make_options mo = {
		.groups = p->o.groups,
		.bos = p->o.bos,
		.eos = p->o.eos,
		.width = p->o.width,
		.spill = (size_t)min_u64(p->o.memory / 32, 64u << 20),
		.most = (size_t)(p->o.memory / 8 * 3),
		.cache = pieces_cache(p),
		.waits = waits,
		.arg = tools,
		.spare = &tools->spare,
		.documents = p->o.documents,
		.keep = p->o.keep && p->o.remote(p->o.arg, e->file),
	};
	pthread_mutex_lock(&p->lock);
	if (tools->spare.at == NULL && p->n_spares > 0)
		tools->spare = p->spares[--p->n_spares];
	pthread_mutex_unlock(&p->lock);
	struct made m;
	int64_t begun = piece_clock();
	r = p->o.tokens != NULL ? make_token_piece(p->o.files, e->file, &t, first, n, &mo, key, &m, err)
	                        : make_piece(p->o.files, e->file, e->piece, tools->encoder, &mo, key, &m, err);
	if (r != 0)
		return r;
	if (m.disk_failed)
		pieces_disk_failed(p, false);
	pthread_mutex_lock(&p->lock);
	p->counters.tokenized += p->o.tokens == NULL;
	p->counters.fetched++;
	p->counters.made_ns += (uint64_t)(piece_clock() - begun);
	p->counters.encoded_ns += m.encoded_ns;
	pthread_mutex_unlock(&p->lock);
	uint64_t text_bytes = m.text_bytes;
	struct starts starts = m.starts;
	m.starts = (struct starts){ 0 };
	r = of_made(p, out, &m, "piece in memory", err);
	made_free(&m);
	out->text_bytes = text_bytes;
	out->starts = starts;
	return r;
}

/* ---- the steps ---- */

/* The same of a piece that is kept with where its documents begin. */
static int find_kept(struct pieces *p, struct entry *e, struct result *out)
{
	struct cached_piece cached;
	struct starts starts;
	uint64_t text_bytes;
	if (starts_find(p->o.cache, &e->key, &starts, &text_bytes) != 0)
		return -ENOENT;
	if (cache_find(p->o.cache, &e->key, &cached, NULL) != 0) {
		starts_free(&starts);
		return -ENOENT;
	}
	of_cache(out, &cached);
	out->starts = starts;
	out->text_bytes = text_bytes;
	out->found = true;
	return 0;
}

/* Whether the piece is in the cache; else takes the host's lock, so that it is made once. 0: found; -ENOENT:
 * it must be made, under e->lock; -EBUSY: another process makes it now; other -errno. */
static int find_cached(struct pieces *p, struct entry *e, struct result *out, struct error *err)
{
	struct cached_piece cached;
	int r = pieces_key(p, e->file, e->piece, &e->key, err);
	if (r != 0)
		return r;
	struct cache *c = pieces_cache(p);
	if (c == NULL)
		return -ENOENT;
	if (p->o.documents)
		return p->o.remote(p->o.arg, e->file) && p->o.tokens == NULL ? find_kept(p, e, out) : -ENOENT;
	r = cache_find(c, &e->key, &cached, err);
	if (r == -EIO) {
		log_warning("the cache's disk fails, tokens are kept in memory: %s", err->text);
		pieces_disk_failed(p, true);
		return -ENOENT;
	}
	if (r != 0) {
		if (cache_lock(c, &e->key, 50, &e->lock) == -EAGAIN)
			return -EBUSY;
		if (cache_find(c, &e->key, &cached, NULL) != 0)
			return -ENOENT;
		cache_unlock(e->lock);
		e->lock = NULL;
	}
	of_cache(out, &cached);
	out->found = true;
	return 0;
}

/* Bytes that may wait to be made. */
static uint64_t fetched_most(const struct pieces *p)
{
	return p->o.memory / (p->o.cache != NULL ? 2 : 16);
}

/* Counts the bytes of a fetch before they come, and waits until there is room for them; it is had as soon as
 * nothing else waits to be made. */
static int take_fetched(struct pieces *p, struct entry *e, struct error *err)
{
	int r = 0;
	pthread_mutex_lock(&p->lock);
	while (!p->stop && p->fetched_bytes > 0 && p->fetched_bytes + e->range_bytes > fetched_most(p))
		pthread_cond_wait(&p->fetch, &p->lock);
	if (p->stop)
		r = fail(err, EINTR, "the mount is ending");
	else
		p->fetched_bytes += e->range_bytes;
	if (r != 0)
		e->range_bytes = 0;
	pthread_mutex_unlock(&p->lock);
	return r;
}

/* Under the lock: counts a fetch whose size is not known yet, and no longer. */
static void reserve(struct pieces *p, struct entry *e)
{
	e->reserved = p->window.mean > 0 ? p->window.mean : WINDOW_FIRST / 2;
	p->window.flight += e->reserved;
}

static void unreserve(struct pieces *p, struct entry *e)
{
	p->window.flight -= e->reserved;
	e->reserved = 0;
}

/* Reads the ranges of a piece; the window is told how long that took. */
static int fill(struct pieces *p, struct entry *e, const struct parquet_range *ranges, unsigned n, struct error *err)
{
	int r = 0;
	pthread_mutex_lock(&p->lock);
	unreserve(p, e);
	window_begin(&p->window, &e->transfer, e->range_bytes, piece_clock());
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		r = overlay_fill(e->text->source, ranges[i].off, ranges[i].n, err);
		if (r == 0)
			e->range_off[e->ranges++] = ranges[i].off;
	}
	pthread_mutex_lock(&p->lock);
	window_end(&p->window, &e->transfer, r == 0, piece_clock());
	pthread_cond_broadcast(&p->fetch);
	fetchers_start(p);
	pthread_mutex_unlock(&p->lock);
	return r;
}

/* Fills the overlay of the piece's file with its bytes. */
static int fetch_bytes(struct pieces *p, struct entry *e, struct error *err)
{
	struct parquet_range ranges[PIECE_RANGES];
	unsigned n = 0;
	bool count = false;
	int r = textfiles_get(p->o.files, e->file, &e->text, err);
	if (r != 0)
		return r;
	uint64_t most = min_u64(FETCH_LARGEST, fetched_most(p) / 4);
	if (p->o.tokens != NULL) {
		struct tokenfile t;
		uint64_t first, tokens;
		r = p->o.tokens(p->o.arg, e->file, e->piece, &t, &first, &tokens, err);
		if (r == 0 && tokens <= most / t.width)
			ranges[n++] = (struct parquet_range){ t.offset + first * t.width, tokens * t.width };
	} else {
		count = p->o.uncounted(p->o.arg, e->file, e->piece);
		n = textfile_ranges(e->text, e->piece, p->o.groups, count, p->o.documents, ranges,
		                    PIECE_RANGES, most);
	}
	for (unsigned i = 0; r == 0 && i < n; i++)
		e->range_bytes += ranges[i].n;
	if (r == 0)
		r = take_fetched(p, e, err);
	if (r == 0)
		r = fill(p, e, ranges, n, err);
	if (r == 0 && count)
		p->o.fetched(p->o.arg, e->file, e->piece);
	if (r == 0)
		textfiles_remember(p->o.files, e->text);
	return r;
}

/* Lets go what a fetch holds, which ended with r. After what may pass the file stays open, or a footer of megabytes
 * would be fetched for each attempt; only its next request takes another way. */
static void let_go(struct pieces *p, struct entry *e, int r, const struct error *err)
{
	bool passing = r != 0 && err->again;
	if (e->text != NULL) {
		for (unsigned i = 0; i < e->ranges; i++)
			overlay_drop(e->text->source, e->range_off[i]);
		if (passing)
			source_doubt(e->text->source);
		textfiles_put(p->o.files, e->text, r != 0 && !passing);
	}
	cache_unlock(e->lock);
	if (e->range_bytes > 0) {
		pthread_mutex_lock(&p->lock);
		p->fetched_bytes -= e->range_bytes;
		pthread_cond_broadcast(&p->fetch);
		pthread_mutex_unlock(&p->lock);
	}
	e->text = NULL;
	e->lock = NULL;
	e->ranges = 0;
	e->range_bytes = 0;
}

/* When the next attempt may begin, 0 for none: damage is looked at once more where the bytes came over a
 * network. */
static int64_t next_attempt(struct pieces *p, struct entry *e, int r, const struct error *err)
{
	int64_t now = piece_clock(), wait;
	if (p->stop)
		return 0;
	if (r == -EBUSY)
		return now + 50000000;
	if (r == -EBADMSG && p->o.remote(p->o.arg, e->file) && e->damaged++ == 0)
		return now;
	if (!err->again)
		return 0;
	/* Doubling from 0.2 s to 10 s, with jitter of a half, or what the server asked for; the last when
	 * `retry` ends. */
	int64_t left = e->first_ns + (int64_t)p->o.retry_s * 1000000000 - now;
	int64_t asked = (int64_t)err->wait_ms * 1000000;
	if (left <= 0 || asked > left)
		return 0;
	wait = (int64_t)200000000 << (e->tries < 6 ? e->tries : 6);
	if (wait > 10000000000)
		wait = 10000000000;
	wait = wait / 2 + (int64_t)((uint64_t)now * 0x9E3779B97F4A7C15u >> 33) % (wait / 2 + 1);
	if (asked > wait)
		wait = asked;
	if (wait > left)
		wait = left;
	e->tries++;
	return now + wait;
}

/* When all that is asked for fails, there are not enough threads for an attempt each before `retry` is over:
 * who waited so long, and saw nothing come meanwhile, shares what the others have. */
static int given_up(struct pieces *p, const struct entry *e, struct error *err)
{
	int64_t until = e->first_ns + (int64_t)p->o.retry_s * 1000000000 + LATE_NS;
	if (piece_clock() < until)
		return 0;
	pthread_mutex_lock(&p->lock);
	bool up = p->failure.code != 0 && p->came_ns < e->first_ns;
	if (up)
		*err = p->failure;
	pthread_mutex_unlock(&p->lock);
	if (!up)
		return 0;
	err->again = false;
	return fail_in(err, "nothing came for %u s", p->o.retry_s);
}

static void finish(struct pieces *p, struct entry *e, int r, struct result *res, struct error *err)
{
	int64_t again = r != 0 ? next_attempt(p, e, r, err) : 0;
	if (again == 0 && r == -EBUSY)
		r = fail(err, EINTR, "the mount is ending");
	if (again == 0) {
		r = p->o.made(p->o.arg, e->file, e->piece, r, res->tokens, res->documents, err);
		if (r != 0) {
			result_free(res);
			/* Who reads every piece once tells of each himself. */
			if (r != -EINTR && !p->o.documents)
				log_warning("%s: piece %" PRIu32 ": %s", errno_name(-r), e->piece, err->text);
		}
	}
	pthread_mutex_lock(&p->lock);
	e->maker = 0;
	p->awaited -= again == 0 && e->priority == PRIORITY_READER;
	if (again != 0) {
		if (r != -EBUSY) {
			p->counters.retries++;
			if (err->again)
				p->failure = *err;
		}
		e->state = STATE_QUEUED;
		e->not_before_ns = again;
		piece_enqueue(p, e);
	} else if (r != 0) {
		e->state = STATE_FAILED;
		e->error = *err;
		e->error.code = -r;
		e->not_before_ns = piece_clock() + (int64_t)PIECE_FAILED_S * 1000000000;
		list_add(&p->failed, e);
		p->counters.errors++;
	} else {
		e->state = STATE_READY;
		e->source = res->source;
		e->offset = res->offset;
		e->tokens = res->tokens;
		e->documents = res->documents;
		e->text_bytes = res->text_bytes;
		e->starts = res->starts;
		e->memory = res->memory;
		e->bytes = res->bytes;
		p->memory_bytes += e->bytes;
		if (!res->found)
			p->came_ns = piece_clock();
		*(res->found ? &p->counters.hits : &p->counters.misses) += 1;
		list_add(&p->ready, e);
		pieces_trim(p);
	}
	pthread_mutex_unlock(&p->lock);
	if (again == 0)
		p->o.changed(p->o.arg);
}

/* ---- the threads ---- */

/* The first of some queues that may begin now, else NULL and when to look again. */
static struct entry *next_of(struct list *queues, int first, int last, int64_t *wake_ns)
{
	int64_t now = piece_clock();
	*wake_ns = now + 1000000000;
	for (int q = first; q <= last; q++)
		for (struct entry *e = queues[q].first; e != NULL; e = e->next) {
			if (e->not_before_ns <= now)
				return e;
			if (e->not_before_ns < *wake_ns)
				*wake_ns = e->not_before_ns;
		}
	return NULL;
}

/* Whether readers' pieces and those that are being made keep all processors busy: over the few milliseconds that a
 * piece takes the scheduler may give two threads of nice 10 a processor, and two of readers the other. */
static bool processors_needed(const struct pieces *p)
{
	size_t readers = p->making[0] + p->queue[PRIORITY_READER].n;
	return readers > 0 && readers + p->making[1] >= p->processors;
}

/* What is fetched next. What waits to be made is bounded: readers may fill half of `memory`, prefetch a quarter. Of
 * the window readers have what they need, whatever prefetch has of it. */
static struct entry *next_fetch(struct pieces *p, int64_t *wake_ns)
{
	struct window *w = &p->window;
	struct list *queues = p->to_fetch;
	struct entry *e = NULL;
	int64_t wake = piece_clock() + 1000000000;
	*wake_ns = wake;
	if (p->fetched_bytes >= fetched_most(p))
		return NULL;
	if (queues[PRIORITY_READER].n > 0 &&
	    (p->fetching[0] < FETCH_FIRST || p->fetching[0] * w->mean < w->size || window_may(w)))
		e = next_of(queues, PRIORITY_READER, PRIORITY_READER, &wake);
	bool more = p->fetched_bytes <= fetched_most(p) / 2 && p->fetching[1] + FETCH_SPARE < PIECE_FETCHERS;
	if (e == NULL && more && queues[PRIORITY_PREFETCH].n + queues[PRIORITY_COUNT].n > 0 && window_may(w))
		e = next_of(queues, PRIORITY_PREFETCH, PRIORITY_COUNT, wake_ns);
	if (*wake_ns > wake)
		*wake_ns = wake;
	return e;
}

static struct entry *next_for(struct pieces *p, enum role role, int64_t *wake_ns)
{
	if (role == ROLE_READER)
		return next_of(p->queue, PRIORITY_READER, PRIORITY_READER, wake_ns);
	if (role == ROLE_BACKGROUND)
		return processors_needed(p) ? NULL : next_of(p->queue, PRIORITY_PREFETCH, PRIORITY_COUNT, wake_ns);
	return next_fetch(p, wake_ns);
}

static void make_entry(struct pieces *p, struct entry *e, struct tools *tools)
{
	struct result res = { 0 };
	struct error err = { 0 };
	bool fetched = e->text != NULL;
	int r = fetched ? -ENOENT : find_cached(p, e, &res, &err);
	/* Of what is streamed from a server nothing has come yet. */
	if (r == -ENOENT && fetched && e->ranges == 0 && given_up(p, e, &err) != 0)
		r = -err.code;
	if (r == -ENOENT)
		r = make_now(p, e, tools, &e->key, &res, &err);
	let_go(p, e, r, &err);
	finish(p, e, r, &res, &err);
}

static void fetch_entry(struct pieces *p, struct entry *e)
{
	struct result res = { 0 };
	struct error err = { 0 };
	int r = find_cached(p, e, &res, &err);
	bool found = r != -ENOENT;
	if (!found)
		r = given_up(p, e, &err);
	if (!found && r == 0)
		r = fetch_bytes(p, e, &err);
	pthread_mutex_lock(&p->lock);
	unreserve(p, e);
	pthread_mutex_unlock(&p->lock);
	if (found || r != 0) {
		if (!found)
			let_go(p, e, r, &err);
		finish(p, e, r, &res, &err);
		return;
	}
	pthread_mutex_lock(&p->lock);
	if (e->ranges > 0)
		p->came_ns = piece_clock();
	e->state = STATE_FETCHED;
	piece_enqueue(p, e);
	pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
	struct worker w = *(struct worker *)arg;
	struct pieces *p = w.pieces;
	struct tools tools = { .pieces = p, .role = w.role };
	struct list *queues = w.role == ROLE_FETCHER ? p->to_fetch : p->queue;
	pthread_cond_t *cond = w.role == ROLE_FETCHER ? &p->fetch : &p->work;
	free(arg);
	const pid_t self = (pid_t)syscall(SYS_gettid);
	if (w.role == ROLE_BACKGROUND)
		setpriority(PRIO_PROCESS, (id_t)self, NICE);
	/* While the first bytes are on their way the vocabulary can be made ready. */
	if (w.role == ROLE_READER && p->o.any_remote && p->o.tokens == NULL)
		open_tokenizer(p, NULL);
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		int64_t wake = piece_clock() + 1000000000;
		struct entry *e = next_for(p, w.role, &wake);
		if (e == NULL) {
			struct timespec until = { .tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000 };
			p->idle_fetchers += w.role == ROLE_FETCHER;
			pthread_cond_timedwait(cond, &p->lock, &until);
			p->idle_fetchers -= w.role == ROLE_FETCHER;
			continue;
		}
		/* The priority may be raised while it is worked on: what is undone later is what was done
		 * here. */
		enum priority priority = e->priority;
		list_remove(&queues[priority], e);
		e->state = STATE_RUNNING;
		e->maker = w.role == ROLE_BACKGROUND ? self : 0;
		bool nobody = priority != PRIORITY_READER;
		++*(w.role == ROLE_FETCHER ? &p->fetching[nobody] : &p->making[w.role]);
		if (w.role == ROLE_FETCHER) {
			reserve(p, e);
			fetchers_start(p);
		}
		pthread_mutex_unlock(&p->lock);
		if (w.role == ROLE_FETCHER)
			fetch_entry(p, e);
		else
			make_entry(p, e, &tools);
		if (w.role == ROLE_BACKGROUND)
			setpriority(PRIO_PROCESS, (id_t)self, NICE);
		pthread_mutex_lock(&p->lock);
		--*(w.role == ROLE_FETCHER ? &p->fetching[nobody] : &p->making[w.role]);
		if (w.role != ROLE_FETCHER)
			pthread_cond_broadcast(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
	encoder_free(tools.encoder);
	buffer_free(&tools.spare);
	return NULL;
}

static int start_one(struct pieces *p, enum role role)
{
	struct worker *w = malloc(sizeof *w);
	if (w == NULL)
		return -ENOMEM;
	*w = (struct worker){ .pieces = p, .role = role };
	int r = -pthread_create(&p->threads[p->started], NULL, work, w);
	if (r == 0)
		p->started++;
	else
		free(w);
	return r;
}

int workers_start(struct pieces *p)
{
	unsigned fetchers = p->o.any_remote ? PIECE_FETCHERS : 0;
	window_init(&p->window, fetched_most(p));
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int r = 0;
	p->processors = processors > 0 ? (unsigned)processors : 1;
	p->threads = calloc(2 * (size_t)p->o.threads + fetchers, sizeof *p->threads);
	if (p->threads == NULL)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < p->o.threads; i++) {
		r = start_one(p, ROLE_READER);
		if (r == 0)
			r = start_one(p, ROLE_BACKGROUND);
	}
	return r;
}

void fetchers_start(struct pieces *p)
{
	int64_t wake;
	if (p->stop || p->threads == NULL || p->idle_fetchers > 0 || p->fetchers == PIECE_FETCHERS ||
	    next_for(p, ROLE_FETCHER, &wake) == NULL)
		return;
	/* Without one more, those that there are go on. */
	p->fetchers += start_one(p, ROLE_FETCHER) == 0;
}

void workers_join(struct pieces *p)
{
	for (unsigned i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	free(p->threads);
	/* What was fetched and not made any more. */
	for (int q = 0; q < 3; q++)
		for (struct entry *e = p->queue[q].first; e != NULL; e = e->next)
			let_go(p, e, 0, NULL);
}
