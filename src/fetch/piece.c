#define _GNU_SOURCE
#include "fetch/piece.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "fetch/make.h"
#include "token/tokenizer.h"

enum state { STATE_QUEUED, STATE_RUNNING, STATE_READY, STATE_FAILED };

struct entry {
	uint32_t file, piece;
	enum state state;
	enum priority priority;
	unsigned users;
	unsigned tries, damaged; /* attempts of this fetch; how many of them found damage */
	int64_t first_ns,
	        not_before_ns; /* of the fetch; of the next attempt; of a failure: when it is forgotten */
	struct source *source; /* READY */
	uint64_t offset, tokens, documents;
	uint8_t *memory; /* READY without a disk: the ids, `bytes` of them */
	size_t bytes;
	struct error error;        /* FAILED */
	struct entry *chain;       /* of the hash table */
	struct entry *next, *prev; /* of a queue, or of the ready ones by last use */
};

struct list {
	struct entry *first, *last;
	size_t n;
};

#define BUCKETS 4096

struct pieces {
	struct pieces_options o;
	pthread_mutex_t lock;
	pthread_cond_t work;
	atomic_bool stop;
	struct entry *table[BUCKETS];
	struct list queue[3], ready, failed;
	uint64_t memory_bytes, busy_bytes;
	struct pieces_counters counters;
	pthread_mutex_t opening;
	struct tokenizer *tokenizer;
	pthread_t *threads;
	unsigned started;
};

struct worker {
	struct pieces *pieces;
	bool background;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void list_add(struct list *l, struct entry *e)
{
	e->next = NULL;
	e->prev = l->last;
	*(l->last == NULL ? &l->first : &l->last->next) = e;
	l->last = e;
	l->n++;
}

static void list_remove(struct list *l, struct entry *e)
{
	*(e->prev == NULL ? &l->first : &e->prev->next) = e->next;
	*(e->next == NULL ? &l->last : &e->next->prev) = e->prev;
	e->next = e->prev = NULL;
	l->n--;
}

static struct entry **slot(struct pieces *p, uint32_t file, uint32_t piece)
{
	uint64_t h = ((uint64_t)file << 32 | piece) * 0x9E3779B97F4A7C15u;
	struct entry **at = &p->table[h >> 52];
	while (*at != NULL && ((*at)->file != file || (*at)->piece != piece))
		at = &(*at)->chain;
	return at;
}

/* Takes an entry that nobody uses and that is in no list out of the table. */
static void forget(struct pieces *p, struct entry *e)
{
	struct entry **at = slot(p, e->file, e->piece);
	*at = e->chain;
	p->memory_bytes -= e->bytes;
	source_close(e->source);
	free(e->memory);
	free(e);
}

/* Forgets the failures whose time is over; they stand in the order in which they end. */
static void forgive(struct pieces *p, int64_t now)
{
	struct entry *e;
	while ((e = p->failed.first) != NULL && e->not_before_ns <= now) {
		list_remove(&p->failed, e);
		forget(p, e);
	}
}

/* Closes what was unused for longest until the bounds hold. */
static void trim(struct pieces *p)
{
	struct entry *e = p->ready.first;
	while (e != NULL && (p->ready.n > PIECES_OPEN || p->memory_bytes > p->o.memory / 2)) {
		struct entry *next = e->next;
		if (e->users == 0 && (p->ready.n > PIECES_OPEN || e->bytes > 0)) {
			list_remove(&p->ready, e);
			forget(p, e);
		}
		e = next;
	}
}

int pieces_key(struct pieces *p, uint32_t file, uint32_t piece, struct cache_key *out, struct error *err)
{
	uint8_t pin[HASH_SIZE];
	int r = p->o.pin(p->o.arg, file, pin, err);
	if (r != 0)
		return r;
	const char *column = textfiles_options(p->o.files)->column;
	struct hash *h = hash_new();
	if (h == NULL)
		return fail(err, ENOMEM, "out of memory");
	hash_add_text(h, "piece 1");
	hash_add(h, pin, sizeof pin);
	hash_add_u64(h, piece);
	hash_add_u64(h, p->o.groups);
	hash_add_text(h, p->o.tokenizer_sha256);
	hash_add_text(h, p->o.pattern == NULL ? "" : p->o.pattern);
	hash_add_u64(h, (uint64_t)p->o.bos);
	hash_add_u64(h, (uint64_t)p->o.eos);
	hash_add_text(h, column == NULL ? "" : column);
	hash_end(h, out->bytes);
	return 0;
}

/* ---- the workers ---- */

static int open_tokenizer(struct pieces *p, struct error *err)
{
	int r = 0;
	pthread_mutex_lock(&p->opening);
	if (p->tokenizer == NULL)
		r = tokenizer_open(p->o.tokenizer, p->o.pattern, &p->tokenizer, err);
	pthread_mutex_unlock(&p->opening);
	return r;
}

struct result {
	struct source *source;
	uint64_t offset, tokens, documents;
	uint8_t *memory;
	size_t bytes;
	bool found;
};

static void result_free(struct result *r)
{
	source_close(r->source);
	free(r->memory);
	*r = (struct result){ 0 };
}

static void of_cache(struct result *out, const struct cached_piece *c)
{
	*out = (struct result){
		.source = c->source, .offset = CACHE_HEADER, .tokens = c->tokens, .documents = c->documents
	};
}

static int of_made(struct result *out, struct made *m, const char *name, struct error *err)
{
	if (m->cached.source != NULL) {
		of_cache(out, &m->cached);
		m->cached.source = NULL;
		return 0;
	}
	/* The buffer doubled while it grew: what it does not need goes back. */
	uint8_t *exact = realloc(m->ids.at, m->ids.n > 0 ? m->ids.n : 1);
	if (exact != NULL)
		m->ids.at = exact;
	*out = (struct result){
		.tokens = m->tokens, .documents = m->documents, .memory = m->ids.at, .bytes = m->ids.n
	};
	out->source = source_memory(out->memory, out->bytes, name);
	m->ids = (struct buffer){ 0 };
	if (out->source != NULL)
		return 0;
	result_free(out);
	return fail(err, ENOMEM, "out of memory");
}

static int make_now(struct pieces *p, struct entry *e, struct encoder **encoder, const struct cache_key *key,
                    struct result *out, struct error *err)
{
	struct tokenfile t;
	uint64_t first = 0, n = 0;
	int r = p->o.tokens != NULL ? p->o.tokens(p->o.arg, e->file, e->piece, &t, &first, &n, err)
	                            : open_tokenizer(p, err);
	if (r == 0 && p->o.tokens == NULL && *encoder == NULL &&
	    (*encoder = encoder_new(p->tokenizer)) == NULL)
		r = fail(err, ENOMEM, "out of memory for an encoder");
	if (r != 0)
		return r;
	struct make_options mo = {
		.groups = p->o.groups,
		.bos = p->o.bos,
		.eos = p->o.eos,
		.width = p->o.width,
		.spill = (size_t)min_u64(p->o.memory / 16, 64u << 20),
		.most = (size_t)(p->o.memory / 4),
		.cache = p->o.cache,
	};
	struct made m;
	r = p->o.tokens != NULL ? make_token_piece(p->o.files, e->file, &t, first, n, &mo, key, &m, err)
	                        : make_piece(p->o.files, e->file, e->piece, *encoder, &mo, key, &m, err);
	if (r != 0)
		return r;
	pthread_mutex_lock(&p->lock);
	p->counters.tokenized += p->o.tokens == NULL;
	p->counters.fetched++;
	pthread_mutex_unlock(&p->lock);
	r = of_made(out, &m, "piece in memory", err);
	made_free(&m);
	return r;
}

/* One attempt: from the cache, else made under the host's lock. -EBUSY: another process makes it now. */
static int attempt(struct pieces *p, struct entry *e, struct encoder **encoder, struct result *out,
                   struct error *err)
{
	struct cache_key key;
	struct cached_piece cached;
	struct cache_lock *lock = NULL;
	int r = pieces_key(p, e->file, e->piece, &key, err);
	if (r != 0)
		return r;
	if (p->o.cache == NULL)
		return make_now(p, e, encoder, &key, out, err);
	if (cache_find(p->o.cache, &key, &cached, NULL) != 0) {
		if (cache_lock(p->o.cache, &key, 50, &lock) == -EAGAIN)
			return -EBUSY;
		if (cache_find(p->o.cache, &key, &cached, NULL) != 0) {
			r = make_now(p, e, encoder, &key, out, err);
			cache_unlock(lock);
			return r;
		}
	}
	cache_unlock(lock);
	of_cache(out, &cached);
	out->found = true;
	return 0;
}

/* When the next attempt may begin, 0 for none: damage is looked at once more where the bytes came over a
 * network. */
static int64_t next_attempt(struct pieces *p, struct entry *e, int r, const struct error *err)
{
	int64_t now = now_ns(), wait;
	if (p->stop)
		return 0;
	if (r == -EBUSY)
		return now + 50000000;
	if (r == -EBADMSG && p->o.remote(p->o.arg, e->file) && e->damaged++ == 0)
		return now;
	if (!err->again)
		return 0;
	/* Doubling from 0.2 s to 10 s, with jitter of a half, or what the server asked for. */
	wait = (int64_t)200000000 << (e->tries < 6 ? e->tries : 6);
	if (wait > 10000000000)
		wait = 10000000000;
	wait = wait / 2 + (int64_t)((uint64_t)now * 0x9E3779B97F4A7C15u >> 33) % (wait / 2 + 1);
	if ((int64_t)err->wait_ms * 1000000 > wait)
		wait = (int64_t)err->wait_ms * 1000000;
	if (now + wait - e->first_ns > (int64_t)p->o.retry_s * 1000000000)
		return 0;
	e->tries++;
	return now + wait;
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
			if (r != -EINTR)
				log_warning("piece %" PRIu32 " of file %" PRIu32 ": %s: %s", e->piece,
				            e->file, errno_name(-r), err->text);
		}
	}
	pthread_mutex_lock(&p->lock);
	if (again != 0) {
		if (r != -EBUSY)
			p->counters.retries++;
		e->state = STATE_QUEUED;
		e->not_before_ns = again;
		list_add(&p->queue[e->priority], e);
		pthread_cond_broadcast(&p->work);
	} else if (r != 0) {
		e->state = STATE_FAILED;
		e->error = *err;
		e->error.code = -r;
		e->not_before_ns = now_ns() + (int64_t)PIECE_FAILED_S * 1000000000;
		list_add(&p->failed, e);
		p->counters.errors++;
	} else {
		e->state = STATE_READY;
		e->source = res->source;
		e->offset = res->offset;
		e->tokens = res->tokens;
		e->documents = res->documents;
		e->memory = res->memory;
		e->bytes = res->bytes;
		p->memory_bytes += e->bytes;
		*(res->found ? &p->counters.hits : &p->counters.misses) += 1;
		list_add(&p->ready, e);
		trim(p);
	}
	pthread_mutex_unlock(&p->lock);
	if (again == 0)
		p->o.changed(p->o.arg);
}

/* The next entry that may run now, else NULL and when to look again. */
static struct entry *next_entry(struct pieces *p, bool background, int64_t *wake_ns)
{
	int64_t now = now_ns();
	*wake_ns = now + 1000000000;
	for (int q = background ? PRIORITY_PREFETCH : PRIORITY_READER;
	     q <= (background ? PRIORITY_COUNT : PRIORITY_READER); q++)
		for (struct entry *e = p->queue[q].first; e != NULL; e = e->next) {
			if (e->not_before_ns <= now)
				return e;
			if (e->not_before_ns < *wake_ns)
				*wake_ns = e->not_before_ns;
		}
	return NULL;
}

static void *work(void *arg)
{
	struct worker w = *(struct worker *)arg;
	struct pieces *p = w.pieces;
	struct encoder *encoder = NULL;
	free(arg);
	if (w.background)
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		int64_t wake;
		struct entry *e = next_entry(p, w.background, &wake);
		if (e == NULL) {
			struct timespec until = { .tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000 };
			pthread_cond_timedwait(&p->work, &p->lock, &until);
			continue;
		}
		list_remove(&p->queue[e->priority], e);
		e->state = STATE_RUNNING;
		pthread_mutex_unlock(&p->lock);
		struct result res = { 0 };
		struct error err = { 0 };
		int r = attempt(p, e, &encoder, &res, &err);
		finish(p, e, r, &res, &err);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	encoder_free(encoder);
	return NULL;
}

/* ---- asking ---- */

/* Under the lock. *e is set when the piece is READY. */
static int look(struct pieces *p, uint32_t file, uint32_t piece, enum priority priority, struct entry **out,
                struct error *err)
{
	if (p->failed.first != NULL)
		forgive(p, now_ns());
	struct entry **at = slot(p, file, piece), *e = *at;
	if (e == NULL) {
		if (p->stop)
			return fail(err, EINTR, "the mount is ending");
		e = calloc(1, sizeof *e);
		if (e == NULL)
			return fail(err, ENOMEM, "out of memory");
		e->file = file;
		e->piece = piece;
		e->priority = priority;
		e->first_ns = now_ns();
		*at = e;
		list_add(&p->queue[priority], e);
		pthread_cond_broadcast(&p->work);
		return -EAGAIN;
	}
	switch (e->state) {
	case STATE_READY:
		*out = e;
		return 0;
	case STATE_FAILED:
		if (err != NULL)
			*err = e->error;
		return -e->error.code;
	case STATE_QUEUED:
		if (priority < e->priority) {
			list_remove(&p->queue[e->priority], e);
			e->priority = priority;
			list_add(&p->queue[priority], e);
			pthread_cond_broadcast(&p->work);
		}
		return -EAGAIN;
	default:
		if (priority < e->priority)
			e->priority = priority;
		return -EAGAIN;
	}
}

int pieces_get(struct pieces *p, uint32_t file, uint32_t piece, enum priority priority, struct piece_ref *out,
               struct error *err)
{
	struct entry *e = NULL;
	pthread_mutex_lock(&p->lock);
	int r = look(p, file, piece, priority, &e, err);
	if (r == 0) {
		e->users++;
		if (e != p->ready.last) {
			list_remove(&p->ready, e);
			list_add(&p->ready, e);
		}
		*out = (struct piece_ref){
			.source = e->source, .offset = e->offset, .tokens = e->tokens, .entry = e
		};
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

void pieces_put(struct pieces *p, struct piece_ref *ref)
{
	struct entry *e = ref->entry;
	pthread_mutex_lock(&p->lock);
	e->users--;
	pthread_mutex_unlock(&p->lock);
	ref->entry = NULL;
}

int pieces_want(struct pieces *p, uint32_t file, uint32_t piece, enum priority priority)
{
	struct entry *e;
	pthread_mutex_lock(&p->lock);
	int r = look(p, file, piece, priority, &e, NULL);
	pthread_mutex_unlock(&p->lock);
	return r;
}

void pieces_counters(struct pieces *p, struct pieces_counters *out)
{
	pthread_mutex_lock(&p->lock);
	*out = p->counters;
	out->memory_bytes = p->memory_bytes;
	out->queued = p->queue[0].n + p->queue[1].n + p->queue[2].n;
	pthread_mutex_unlock(&p->lock);
}

/* ---- life ---- */

int pieces_new(const struct pieces_options *options, struct pieces **out, struct error *err)
{
	struct pieces *p = calloc(1, sizeof *p);
	if (p == NULL)
		return fail(err, ENOMEM, "out of memory");
	p->o = *options;
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->opening, NULL);
	pthread_cond_init(&p->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	p->threads = calloc(2 * (size_t)options->threads, sizeof *p->threads);
	int r = p->threads == NULL ? -ENOMEM : 0;
	while (r == 0 && p->started < 2 * options->threads) {
		struct worker *w = malloc(sizeof *w);
		if (w == NULL) {
			r = -ENOMEM;
			break;
		}
		*w = (struct worker){ .pieces = p, .background = p->started >= options->threads };
		r = -pthread_create(&p->threads[p->started], NULL, work, w);
		if (r == 0)
			p->started++;
		else
			free(w);
	}
	if (r != 0) {
		pieces_free(p);
		return fail(err, -r, "cannot start worker threads: %s", strerror(-r));
	}
	*out = p;
	return 0;
}

void pieces_stop(struct pieces *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void pieces_free(struct pieces *p)
{
	if (p == NULL)
		return;
	pieces_stop(p);
	for (unsigned i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	for (size_t i = 0; i < BUCKETS; i++)
		while (p->table[i] != NULL)
			forget(p, p->table[i]);
	tokenizer_close(p->tokenizer);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->opening);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p);
}
