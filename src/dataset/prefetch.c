#define _GNU_SOURCE
#include "dataset/prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/lock.h"
#include "base/span.h"
#include "dataset/internal.h"
#include "dataset/sidecount.h"
#include "dataset/stored.h"

#define STREAMS 64  /* text streams that are looked after at once */
#define READERS 256 /* readers of token files, by rank and view */
#define ACTIVE_NS 60000000000
#define NEEDS 16         /* what is counted side by side for a block that is wanted, at most */
#define COLD_BATCHES 256 /* batches for which rows are announced after one was not in memory */

/* One block of a stream: which of its pieces were asked for. */
struct wanted {
	uint64_t block, asked;
	uint64_t *keys; /* first 8 bytes of the cache key of each, so that they are not evicted */
	size_t n, room;
};

struct stream {
	bool val, used;
	uint32_t epoch, stream;
	int64_t read_ns;
	struct wanted now, next;
};

struct reader {
	bool val, used;
	uint32_t epoch, rank;
	uint64_t batch, cold_until, announced;
	bool due;
};

struct prefetch {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t thread;
	bool started, stop, due;
	bool uncounted; /* a block that is wanted waits for its counts */
	struct stream streams[STREAMS];
	struct reader readers[READERS];
};

/* ---- what readers do ---- */

static struct stream *find_stream(struct prefetch *p, const struct view *view, uint32_t stream)
{
	struct stream *oldest = &p->streams[0];
	for (size_t i = 0; i < STREAMS; i++) {
		struct stream *s = &p->streams[i];
		if (s->used && s->val == view->val && s->epoch == view->epoch && s->stream == stream)
			return s;
		if (!s->used || (oldest->used && s->read_ns < oldest->read_ns))
			oldest = s;
	}
	free(oldest->now.keys);
	free(oldest->next.keys);
	*oldest = (struct stream){ .used = true, .val = view->val, .epoch = view->epoch, .stream = stream };
	oldest->now.block = UINT64_MAX;
	oldest->next.block = UINT64_MAX;
	return oldest;
}

static struct reader *find_reader(struct prefetch *p, const struct view *view, uint32_t rank)
{
	struct reader *r = &p->readers[(rank ^ view->epoch * 31u ^ view->val) % READERS];
	if (!r->used || r->val != view->val || r->epoch != view->epoch || r->rank != rank)
		*r = (struct reader){ .used = true, .val = view->val, .epoch = view->epoch, .rank = rank };
	return r;
}

static void touch_text(struct prefetch *p, struct view *view, const struct order_place *last)
{
	struct stream *s = find_stream(p, view, last->stream);
	int64_t now = dataset_clock();
	bool new_block = s->now.block != last->block;
	if (new_block && s->next.block == last->block) {
		free(s->now.keys);
		s->now = s->next;
		s->next = (struct wanted){ .block = UINT64_MAX };
	} else if (new_block) {
		free(s->now.keys);
		free(s->next.keys);
		s->now = (struct wanted){ .block = last->block };
		s->next = (struct wanted){ .block = UINT64_MAX };
	}
	s->read_ns = now;
	if (new_block) {
		p->due = true;
		pthread_cond_signal(&p->work);
	}
}

void prefetch_touch(struct dataset *d, struct view *view, uint32_t rank, uint64_t batch,
                    const struct order_place *last)
{
	struct prefetch *p = d->prefetch;
	pthread_mutex_lock(&p->lock);
	if (!d->lies) {
		touch_text(p, view, last);
	} else {
		struct reader *r = find_reader(p, view, rank);
		r->batch = batch;
		if (batch < r->cold_until && batch + PREFETCH_BATCHES / 2 >= r->announced) {
			r->due = true;
			p->due = true;
			pthread_cond_signal(&p->work);
		}
	}
	pthread_mutex_unlock(&p->lock);
}

void prefetch_missed(struct dataset *d, struct view *view, uint32_t rank, uint64_t batch)
{
	struct prefetch *p = d->prefetch;
	if (!d->lies)
		return;
	pthread_mutex_lock(&p->lock);
	struct reader *r = find_reader(p, view, rank);
	r->batch = batch;
	r->cold_until = batch + COLD_BATCHES;
	if (r->announced > batch + PREFETCH_BATCHES || r->announced <= batch)
		r->announced = batch + 1;
	r->due = true;
	p->due = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void prefetch_announce_rows(struct dataset *d, const struct order_place *places, uint32_t rows)
{
	if (!d->lies)
		return;
	uint64_t T = d->options.seq_len, full = manifest_piece_sequences(d->manifest);
	for (uint32_t i = 0; i < rows; i++) {
		struct tokenfile t;
		struct source *s;
		if (d->stored != NULL) {
			stored_announce(d->stored, places[i].file, places[i].piece, places[i].sequence * T,
			                T + 1);
			continue;
		}
		if (manifest_tokenfile_now(d->manifest, places[i].file, &t) != 0 ||
		    handles_get(d->handles, places[i].file, true, &s, NULL) != 0)
			continue;
		uint64_t at = (places[i].piece * full + places[i].sequence) * T;
		source_announce(s, t.offset + at * t.width, (T + 1) * t.width);
		handles_put(d->handles, places[i].file);
	}
}

void prefetch_changed(struct dataset *d)
{
	struct prefetch *p = d->prefetch;
	pthread_mutex_lock(&p->lock);
	p->due = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void prefetch_counted(struct dataset *d)
{
	struct prefetch *p = d->prefetch;
	pthread_mutex_lock(&p->lock);
	if (p->uncounted) {
		p->uncounted = false;
		p->due = true;
		pthread_cond_signal(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
}

static bool has_key(const struct wanted *w, uint64_t key)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->keys[i] == key)
			return true;
	return false;
}

bool prefetch_keeps(void *arg, const struct cache_key *key)
{
	struct dataset *d = arg;
	struct prefetch *p = d->prefetch;
	uint64_t k = load_u64(key->bytes);
	int64_t since = dataset_clock() - ACTIVE_NS;
	bool keeps = false;
	if (p == NULL || d->options.shuffle == SHUFFLE_FULL || d->options.shuffle == SHUFFLE_TORCH)
		return false;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < STREAMS && !keeps; i++) {
		const struct stream *s = &p->streams[i];
		keeps = s->used && s->read_ns > since && (has_key(&s->now, k) || has_key(&s->next, k));
	}
	pthread_mutex_unlock(&p->lock);
	return keeps;
}

/* ---- the thread ---- */

static void remember(struct wanted *w, const struct cache_key *key)
{
	if (w->n == w->room) {
		size_t room = w->room == 0 ? 64 : 2 * w->room;
		uint64_t *keys = realloc(w->keys, room * sizeof *keys);
		if (keys == NULL)
			return;
		w->keys = keys;
		w->room = room;
	}
	w->keys[w->n++] = load_u64(key->bytes);
}

/* True when no more may be asked for now. */
static bool enough(struct dataset *d)
{
	struct pieces_counters c;
	pieces_counters(d->pieces, &c);
	return c.queued >= 2 * d->options.threads + c.ahead ||
	       (d->cache == NULL && c.memory_bytes > d->options.memory / 4);
}

/* The next piece of a block that was not asked for. 0; -ENOENT: all were; -EAGAIN: the block is not counted, and
 * needs[0 ... *n - 1] should be. */
static int next_piece(struct dataset *d, struct view *view, uint32_t stream, const struct wanted *w, uint32_t *file,
                      uint32_t *piece, struct order_need needs[NEEDS], uint32_t *n)
{
	int r = -ENOENT;
	struct order_need need;
	pthread_mutex_lock(&view->lock);
	if (w->block >= epoch_blocks(view->order, stream)) {
		r = epoch_cover_blocks(view->order, w->block + 1, &need);
		if (r == -EAGAIN) {
			/* Not more than the block may have: a piece is about 2^20 tokens, if none was counted, block c
			 * at most 2^(20 + c). */
			bool one = d->options.stride != STRIDE_PIECE;
			uint32_t most = one || w->block >= 4 ? NEEDS : 1u << w->block;
			*n = epoch_needs_block(view->order, manifest_piece_sequences(d->manifest), needs, most);
		} else if (r != 0 || w->block >= epoch_blocks(view->order, stream)) {
			r = -ENOENT;
		}
	} else {
		r = 0;
	}
	if (r == 0)
		r = w->asked < epoch_block_pieces(view->order, stream, w->block)
		            ? epoch_block_piece(view->order, stream, w->block, w->asked, file, piece)
		            : -ENOENT;
	pthread_mutex_unlock(&view->lock);
	return r;
}

/* What the background does not count by itself: text, and files of a server before it comes to them. */
static void want_counts(struct dataset *d, const struct order_need *needs, uint32_t n)
{
	/* Under stride=piece some are of other ranks, and to count them need not mean to fetch them. */
	bool fetch = !d->token_files && (!d->by_column || (d->remote && d->options.stride != STRIDE_PIECE));
	for (uint32_t i = 0; i < n && !enough(d); i++)
		if (fetch && needs[i].piece != ORDER_PIECES)
			pieces_want(d->pieces, needs[i].file, needs[i].piece, PRIORITY_PREFETCH);
		else if (!d->background && d->sidecount != NULL)
			sidecount_want(d->sidecount, &needs[i], NULL);
}

/* Asks for pieces of one block. False when it should go on later. Called with the lock, which it lets go. */
static bool want_block(struct dataset *d, struct view *view, struct stream *s, bool next)
{
	struct prefetch *p = d->prefetch;
	for (;;) {
		struct wanted *w = next ? &s->next : &s->now;
		struct wanted copy = *w;
		uint32_t stream = s->stream, file, piece, n = 0;
		struct order_need needs[NEEDS];
		struct cache_key key;
		/* Before it is looked, so that no count comes unseen. */
		p->uncounted = true;
		pthread_mutex_unlock(&p->lock);
		bool full = enough(d);
		int r = full ? -EBUSY : next_piece(d, view, stream, &copy, &file, &piece, needs, &n);
		bool have_key = false;
		want_counts(d, needs, n);
		if (r == 0) {
			pieces_want(d->pieces, file, piece, PRIORITY_PREFETCH);
			have_key = pieces_key(d->pieces, file, piece, &key, NULL) == 0;
		}
		pthread_mutex_lock(&p->lock);
		w = next ? &s->next : &s->now;
		if (r != 0 || p->stop || w->block != copy.block || s->stream != stream)
			return r == -ENOENT && w->block == copy.block;
		w->asked = copy.asked + 1;
		if (have_key)
			remember(w, &key);
	}
}

static void step_streams(struct dataset *d)
{
	struct prefetch *p = d->prefetch;
	int64_t since = dataset_clock() - ACTIVE_NS;
	for (size_t i = 0; i < STREAMS && !p->stop; i++) {
		struct stream *s = &p->streams[i];
		struct view *view;
		if (!s->used || s->read_ns <= since ||
		    views_get(d->views, s->val, s->epoch, &view, NULL) != 0)
			continue;
		if (want_block(d, view, s, false)) {
			if (s->next.block == UINT64_MAX)
				s->next.block = s->now.block + 1;
			want_block(d, view, s, true);
		}
		views_put(d->views, view);
	}
}

static void announce_batch(struct dataset *d, struct view *view, uint32_t rank, uint64_t batch,
                           struct order_place *rows)
{
	pthread_mutex_lock(&view->lock);
	int r = epoch_batch(view->order, rank, batch, rows);
	pthread_mutex_unlock(&view->lock);
	if (r == 0)
		prefetch_announce_rows(d, rows, d->options.batch_size);
}

static void step_readers(struct dataset *d)
{
	struct prefetch *p = d->prefetch;
	struct order_place *rows = NULL;
	for (size_t i = 0; i < READERS && !p->stop; i++) {
		struct reader *r = &p->readers[i], copy;
		struct view *view;
		if (!r->used || !r->due)
			continue;
		r->due = false;
		copy = *r;
		r->announced = copy.batch + PREFETCH_BATCHES + 1;
		if (rows == NULL)
			rows = malloc(d->options.batch_size * sizeof *rows);
		if (rows == NULL || views_get(d->views, copy.val, copy.epoch, &view, NULL) != 0)
			continue;
		pthread_mutex_unlock(&p->lock);
		for (uint64_t b = max_u64(copy.announced, copy.batch + 1); b <= copy.batch + PREFETCH_BATCHES;
		     b++)
			announce_batch(d, view, copy.rank, b, rows);
		views_put(d->views, view);
		pthread_mutex_lock(&p->lock);
	}
	free(rows);
}

static void *prefetch_thread(void *arg)
{
	struct dataset *d = arg;
	struct prefetch *p = d->prefetch;
	if (!d->lies)
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (!p->due) {
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		p->due = false;
		step_streams(d);
		step_readers(d);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int prefetch_new(struct dataset *d, struct error *err)
{
	struct prefetch *p = calloc(1, sizeof *p);
	if (p == NULL)
		return fail(err, ENOMEM, "out of memory");
	lock_init(&p->lock);
	pthread_cond_init(&p->work, NULL);
	d->prefetch = p;
	int r = pthread_create(&p->thread, NULL, prefetch_thread, d);
	p->started = r == 0;
	return r == 0 ? 0 : fail(err, r, "cannot start a thread: %s", strerror(r));
}

void prefetch_stop(struct dataset *d)
{
	struct prefetch *p = d->prefetch;
	if (p == NULL || !p->started)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	p->started = false;
}

void prefetch_free(struct dataset *d)
{
	struct prefetch *p = d->prefetch;
	if (p == NULL)
		return;
	for (size_t i = 0; i < STREAMS; i++) {
		free(p->streams[i].now.keys);
		free(p->streams[i].next.keys);
	}
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
	d->prefetch = NULL;
}
