#include "fetch/piece.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/block.h"
#include "base/checked.h"
#include "base/lock.h"
#include "fetch/make.h"
#include "fetch/table.h"

#define DISK_REST_S 30 /* that a disk is left alone which did not give back a piece */

int64_t piece_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void list_add(struct list *l, struct entry *e)
{
	e->next = NULL;
	e->prev = l->last;
	*(l->last == NULL ? &l->first : &l->last->next) = e;
	l->last = e;
	l->n++;
}

void list_remove(struct list *l, struct entry *e)
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

static void destroy(struct pieces *p, struct entry *e)
{
	p->memory_bytes -= e->bytes;
	source_close(e->source);
	if (p->o.documents && e->memory != NULL && e->bytes <= SPARE_MOST && p->n_spares < SPARES)
		p->spares[p->n_spares++] = (struct buffer){ .at = e->memory, .room = e->bytes };
	else
		free(e->memory);
	starts_free(&e->starts);
	free(e);
}

/* Takes an entry that nobody uses and that is in no list out of the table. */
static void forget(struct pieces *p, struct entry *e)
{
	struct entry **at = slot(p, e->file, e->piece);
	*at = e->chain;
	destroy(p, e);
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
void pieces_trim(struct pieces *p)
{
	struct entry *e = p->ready.first;
	struct share_pool *pool = textfiles_options(p->o.files)->pool;
	uint64_t most = p->o.memory / (pool != NULL && share_crowded(pool) ? 16 : 2);
	while (e != NULL && (p->ready.n > PIECES_OPEN || p->memory_bytes > most)) {
		struct entry *next = e->next;
		if (e->users == 0 && (p->ready.n > PIECES_OPEN || e->bytes > 0)) {
			list_remove(&p->ready, e);
			forget(p, e);
		}
		e = next;
	}
}

void pieces_make_room(struct pieces *p)
{
	pthread_mutex_lock(&p->lock);
	pieces_trim(p);
	pthread_mutex_unlock(&p->lock);
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
	if (p->o.tokenizer_revision > 0)
		hash_add_u64(h, p->o.tokenizer_revision);
	hash_end(h, out->bytes);
	return 0;
}

/* The queue in which a piece waits for its next step. */
static struct list *queue_of(struct pieces *p, const struct entry *e)
{
	bool fetch = e->state == STATE_QUEUED && p->o.remote(p->o.arg, e->file);
	return fetch ? &p->to_fetch[e->priority] : &p->queue[e->priority];
}

void piece_enqueue(struct pieces *p, struct entry *e)
{
	struct list *queue = queue_of(p, e);
	list_add(queue, e);
	pthread_cond_broadcast(queue == &p->to_fetch[e->priority] ? &p->fetch : &p->work);
	if (queue == &p->to_fetch[e->priority])
		fetchers_start(p);
}

/* ---- asking ---- */

/* Under the lock: a reader waits for an entry. */
static void await(struct pieces *p)
{
	if (p->awaited++ == 0)
		p->awaited_ns = piece_clock();
}

bool pieces_awaited(struct pieces *p)
{
	pthread_mutex_lock(&p->lock);
	bool awaited = p->awaited > 0 && piece_clock() - p->awaited_ns < PIECE_HOLD_NS;
	pthread_mutex_unlock(&p->lock);
	return awaited;
}

/* Under the lock. *e is set when the piece is READY. */
static int look(struct pieces *p, uint32_t file, uint32_t piece, enum priority priority, struct entry **out,
                struct error *err)
{
	if (p->failed.first != NULL)
		forgive(p, piece_clock());
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
		e->first_ns = piece_clock();
		*at = e;
		if (priority == PRIORITY_READER)
			await(p);
		piece_enqueue(p, e);
		return -EAGAIN;
	}
	if (priority == PRIORITY_READER && e->priority != priority && e->state != STATE_READY &&
	    e->state != STATE_FAILED)
		await(p);
	switch (e->state) {
	case STATE_READY:
		*out = e;
		return 0;
	case STATE_FAILED:
		if (err != NULL)
			*err = e->error;
		return -e->error.code;
	case STATE_QUEUED:
	case STATE_FETCHED:
		if (priority < e->priority) {
			list_remove(queue_of(p, e), e);
			e->priority = priority;
			piece_enqueue(p, e);
		}
		return -EAGAIN;
	default:
		/* A reader waits no longer because nobody waited before; not every user may do this. */
		if (priority == PRIORITY_READER && e->maker != 0)
			setpriority(PRIO_PROCESS, (id_t)e->maker, getpriority(PRIO_PROCESS, 0));
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
			.source = e->source,
			.offset = e->offset,
			.tokens = e->tokens,
			.documents = e->documents,
			.memory = e->memory,
			.text_bytes = e->text_bytes,
			.starts = p->o.documents ? &e->starts : NULL,
			.entry = e,
		};
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

void pieces_put(struct pieces *p, struct piece_ref *ref)
{
	struct entry *e = ref->entry;
	pthread_mutex_lock(&p->lock);
	if (--e->users == 0 && e->lost)
		destroy(p, e);
	pthread_mutex_unlock(&p->lock);
	ref->entry = NULL;
}

bool pieces_lost(struct pieces *p, struct piece_ref *ref)
{
	struct entry *e = ref->entry;
	pthread_mutex_lock(&p->lock);
	bool disk = e->memory == NULL, first = disk && !e->lost;
	if (first) {
		list_remove(&p->ready, e);
		*slot(p, e->file, e->piece) = e->chain;
		e->lost = true;
	}
	pthread_mutex_unlock(&p->lock);
	if (first)
		pieces_disk_failed(p, true);
	return disk;
}

void pieces_drop(struct pieces *p, struct piece_ref *ref)
{
	struct entry *e = ref->entry;
	pthread_mutex_lock(&p->lock);
	if (--e->users == 0 && e->lost) {
		destroy(p, e);
	} else if (e->users == 0) {
		list_remove(&p->ready, e);
		forget(p, e);
	}
	pthread_mutex_unlock(&p->lock);
	ref->entry = NULL;
}

struct cache *pieces_cache(struct pieces *p)
{
	pthread_mutex_lock(&p->lock);
	bool fails = p->disk_again_ns != 0 && piece_clock() < p->disk_again_ns;
	pthread_mutex_unlock(&p->lock);
	return fails ? NULL : p->o.cache;
}

void pieces_disk_failed(struct pieces *p, bool read)
{
	pthread_mutex_lock(&p->lock);
	p->counters.disk_errors++;
	if (read)
		p->disk_again_ns = piece_clock() + (int64_t)DISK_REST_S * 1000000000;
	pthread_mutex_unlock(&p->lock);
}

int pieces_want(struct pieces *p, uint32_t file, uint32_t piece, enum priority priority)
{
	struct entry *e;
	pthread_mutex_lock(&p->lock);
	int r = look(p, file, piece, priority, &e, NULL);
	pthread_mutex_unlock(&p->lock);
	return r;
}

/* Under the lock: pieces that fill the window, and some. */
static unsigned fetchers_useful(const struct pieces *p)
{
	uint64_t n = p->window.mean == 0 ? 0 : p->window.size / p->window.mean;
	return (unsigned)min_u64(PIECE_FETCHERS, n + 4);
}

void pieces_counters(struct pieces *p, struct pieces_counters *out)
{
	pthread_mutex_lock(&p->lock);
	*out = p->counters;
	out->memory_bytes = p->memory_bytes + p->fetched_bytes;
	out->window = p->o.any_remote ? p->window.size : 0;
	out->flight = p->window.flight;
	out->ahead = p->o.any_remote ? fetchers_useful(p) : 0;
	for (int q = 0; q < 3; q++)
		out->queued += p->queue[q].n + p->to_fetch[q].n;
	pthread_mutex_unlock(&p->lock);
}

/* ---- life ---- */

int pieces_new(const struct pieces_options *options, struct pieces **out, struct error *err)
{
	struct pieces *p = calloc(1, sizeof *p);
	if (p == NULL) {
		early_free(options->early);
		return fail(err, ENOMEM, "out of memory");
	}
	p->o = *options;
	block_bound((size_t)min_u64(BLOCK_BOUND, options->memory / 32));
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	lock_init(&p->lock);
	pthread_mutex_init(&p->opening, NULL);
	pthread_cond_init(&p->work, &monotonic);
	pthread_cond_init(&p->fetch, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int r = workers_start(p);
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
	pthread_cond_broadcast(&p->fetch);
	pthread_mutex_unlock(&p->lock);
}

void pieces_free(struct pieces *p)
{
	if (p == NULL)
		return;
	pieces_stop(p);
	workers_join(p);
	for (size_t i = 0; i < BUCKETS; i++)
		while (p->table[i] != NULL)
			forget(p, p->table[i]);
	while (p->n_spares > 0)
		buffer_free(&p->spares[--p->n_spares]);
	tokenizer_close(p->tokenizer);
	early_free(p->o.early);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->fetch);
	pthread_mutex_destroy(&p->opening);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
