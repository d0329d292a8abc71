/* internal: what the files of this floor share; nobody above includes it. */
#ifndef FW_DATASET_INTERNAL_H
#define FW_DATASET_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataset/dataset.h"
#include "dataset/handles.h"
#include "dataset/manifest.h"
#include "dataset/view.h"
#include "fetch/piece.h"
#include "fetch/textfile.h"
#include "io/http.h"
#include "order/epoch.h"
#include "store/cache.h"
#include "store/index.h"
#include "token/tokenizer.h"

struct prefetch;
struct sidecount;
struct damage;
struct stored;
struct packed;

struct request_list {
	struct dataset_request *first, *last;
	size_t n;
};

struct dataset {
	struct options options;
	bool sample;
	struct tokenizer_info tokenizer;
	unsigned width;
	const atomic_bool *outer_stop; /* the caller's, may be NULL */
	bool streaming;                /* dataset_stream opened it: nothing is counted beside the stream */
	bool keeping;                  /* and it leaves pieces of remote files in the cache */
	atomic_bool stop;              /* ends transfers and threads */
	int64_t started_ns;

	struct http *http;
	struct cache *cache;
	struct index *index;
	struct manifest *manifest;
	struct share_pool pool; /* of `memory`, for who reads texts */
	struct textfiles *textfiles;
	struct pieces *pieces;
	struct early *early; /* until the pieces have it */
	struct handles *handles;
	struct views *views;
	struct prefetch *prefetch;
	struct sidecount *sidecount; /* of a remote source of text, else NULL */
	struct damage *damage;
	struct packed *packed; /* of options.index, else NULL */
	struct stored *stored; /* the source is a prepared folder, else NULL */
	bool token_files;      /* the source is token files */
	bool lies; /* tokens are read where they lie on a disk: local token files, a prepared folder */
	bool by_column;
	bool remote;     /* some file is */
	bool background; /* counting goes on without being asked */
	char **pinned;
	size_t pins;

	/* counting; under `lock` */
	pthread_mutex_t lock;
	pthread_cond_t counted;  /* something was counted, or can not be */
	pthread_cond_t to_count; /* something is asked for */
	struct request_list covers;
	bool count_again;      /* pieces changed since the counter looked */
	atomic_bool cut_known; /* `views` is there */
	bool all_counted, fingerprinted;
	bool background_counted; /* what is counted without being asked is counted */
	bool block0;             /* one global batch of the mounted epoch is counted */
	struct error failure;    /* for which counting of the mounted epoch cannot go on; code 0: nothing */
	int count_error;         /* errno for which counting waits before it tries again, 0: none */
	int64_t count_failed_ns; /* until then who asks is told so at once: somebody has waited for `retry` */
	struct error passing;    /* what it met last and tries again; code 0: nothing */
	uint32_t cut_file, cut_piece;
	uint64_t cut_tokens; /* held out so far, while the cut is looked for */
	char fingerprint[65];
	struct error pin_failure;

	/* requests; under `requests` */
	pthread_mutex_t requests;
	pthread_cond_t runnable;
	pthread_cond_t news; /* some piece changed; for a stream, one of CLOCK_MONOTONIC */
	struct request_list run, waiting;
	uint64_t changes; /* how often some piece changed */
	sem_t cancels;    /* posted by dataset_cancel, which may take no lock */

	pthread_t counter, watcher, *repliers;
	unsigned n_repliers;
	bool has_counter, has_watcher;

	atomic_uint_fast64_t cut, filled;
};

int64_t dataset_clock(void); /* CLOCK_MONOTONIC, nanoseconds */
/* Waits for a condition (one of CLOCK_MONOTONIC) for at most so many nanoseconds. */
void dataset_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ns);

/* opening.c: what dataset_open does first. Cache and index are a help: without them d->cache, d->index stay
 * NULL. */
int opening_index(struct dataset *d, struct error *err);
/* Milliseconds for which one attempt of a transfer may stall: a quarter of the time after which who waits for it
 * gives up, 1 to 15 s, so that there is more than one attempt and the last is not over much later. */
unsigned opening_stall_ms(const struct options *o);
/* Lists the sources, and pins those whose revision can be told. */
int opening_files(struct dataset *d, struct listing *l, struct error *err);
/* Starts to open the tokenizer, if the source is on a server and may be text. */
void opening_early(struct dataset *d);
/* Before and after the sources are listed: where what they were at the first mount is remembered. */
void opening_cache(struct dataset *d, bool listed);
/* Whether the first file, a Parquet one, has FineWeb's column token_count; of a file that cannot be read as
 * one, it has not. Remembered of remote files, so that a mount of what is cached needs no network. */
int opening_first_counts(struct dataset *d, bool *column, struct error *err);

/* Opens and starts; then `wait` says when it is ready; NULL: it is to be streamed, keep as dataset_stream's. */
int dataset_open_until(const struct options *options, bool sample, const atomic_bool *stop,
                       int (*wait)(struct dataset *d, struct error *err), bool keep, struct dataset **out,
                       struct error *err);

/* opening.c: whether all counts of text are known without tokenising: a complete index. May wait. */
bool opening_complete(struct dataset *d);

/* counting.c */
void *counting_thread(void *dataset);
/* Counts what takes a server's answer: sidecount_new's count. */
int counting_remote(struct dataset *d, const struct order_need *need, struct error *err);
/* One piece was made: pieces_options.made. */
int counting_made(void *dataset, uint32_t file, uint32_t piece, int result, uint64_t tokens,
                  uint64_t documents, struct error *err);
/* pieces_options.uncounted and fetched: a piece that is fetched is counted with the same request. */
bool counting_uncounted(void *dataset, uint32_t file, uint32_t piece);
void counting_fetched(void *dataset, uint32_t file, uint32_t piece);
/* Looks again at what waits for counts. */
void counting_wake(struct dataset *d);
/* How many batches of a view a request needs. */
uint64_t counting_target(const struct dataset_request *r);

/* requests.c */
int requests_start(struct dataset *d, struct error *err);
/* Answers all with -EINTR and joins the threads. */
void requests_stop(struct dataset *d);
/* Some piece changed: pieces_options.changed. */
void requests_changed(void *dataset);
/* Counting met what will not pass by itself, as a server that refuses: logged once, and who asks is told so at once,
 * without asking the server, for as long as a failed piece is remembered. */
void requests_refuse(struct dataset *d, int r, const struct error *err);
void requests_add(struct request_list *l, struct dataset_request *r);
void requests_remove(struct request_list *l, struct dataset_request *r);

/* rows.c: reads bytes of an object whose batches are counted. wait: may wait for a disk (never for a
 * network): then *done, of rows_done_size bytes and zeroed before the first call, remembers which rows are in
 * buf already. -EAGAIN: a piece is being made, or (without wait) a disk is needed. */
int rows_read(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n, bool wait,
              uint8_t *done, struct error *err);
size_t rows_done_size(const struct dataset *d, uint64_t off, size_t n);
/* Tokens [from, from + n) of a piece (as many as the layout says it has), `width` bytes each, into out. */
int rows_tokens(struct dataset *d, uint32_t file, uint32_t piece, uint64_t from, size_t n, void *out,
                bool wait, struct error *err);

/* shards.c: bytes of a file of shards/ */
int shards_size_now(struct dataset *d, uint64_t number, uint64_t *size);
int shards_read(struct dataset *d, uint64_t number, uint64_t off, void *buf, size_t n, bool wait,
                struct error *err);

#endif
