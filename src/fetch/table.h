/* table: the table of pieces, as its two files share it; nobody above includes it. */
#ifndef FW_FETCH_TABLE_H
#define FW_FETCH_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fetch/piece.h"
#include "fetch/window.h"
#include "store/cache.h"
#include "token/tokenizer.h"

/* QUEUED for its first thread; FETCHED: its bytes are in memory and it waits for a thread that makes tokens
 * of them. */
enum state { STATE_QUEUED, STATE_FETCHED, STATE_RUNNING, STATE_READY, STATE_FAILED };

#define PIECE_RANGES 8

struct entry {
	uint32_t file, piece;
	enum state state;
	enum priority priority;
	unsigned users;
	bool lost; /* its disk does not give it back: out of the table, freed by its last user */
	unsigned tries, damaged; /* attempts of this fetch; how many of them found damage */
	int64_t first_ns,
	        not_before_ns; /* of the fetch; of the next attempt; of a failure: when it is forgotten */
	struct source *source; /* READY */
	uint64_t offset, tokens, documents, text_bytes;
	struct starts starts; /* READY, if pieces_options.documents */
	uint8_t *memory;      /* READY without a disk: the ids, `bytes` of them */
	size_t bytes;
	struct error error; /* FAILED */
	/* while it is fetched and made */
	struct cache_key key;
	struct cache_lock *lock; /* of this host */
	pid_t maker;             /* the thread of ROLE_BACKGROUND that makes it, else 0 */
	struct textfile *text;   /* FETCHED: `ranges` of its overlay are filled */
	unsigned ranges;
	uint64_t range_off[PIECE_RANGES], range_bytes;
	struct window_transfer transfer;
	uint64_t reserved; /* bytes of the window, until it is known how many it takes */
	struct entry *chain;       /* of the hash table */
	struct entry *next, *prev; /* of a queue, or of the ready or failed ones */
};

struct list {
	struct entry *first, *last;
	size_t n;
};

#define BUCKETS 4096
#define SPARES 8

struct pieces {
	struct pieces_options o;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for who makes tokens */
	pthread_cond_t fetch; /* for who fetches */
	atomic_bool stop;
	struct entry *table[BUCKETS];
	struct list queue[3];    /* by priority: pieces that are made in one go, and those that are fetched */
	struct list to_fetch[3]; /* pieces of remote files */
	struct list ready, failed;
	struct buffer spares[SPARES]; /* of pieces that nobody will want again, for the next ones */
	unsigned n_spares;
	uint64_t memory_bytes;  /* of pieces without a disk */
	uint64_t fetched_bytes; /* that wait for a thread that makes tokens of them */
	int64_t disk_again_ns; /* the cache's disk failed: until then it is not used */
	struct window window;   /* of what is fetched */
	unsigned fetching[2];   /* pieces: for readers; for prefetch and counting */
	unsigned fetchers, idle_fetchers; /* threads that were started, and those that wait */
	unsigned making[2];     /* pieces: for readers; for prefetch and counting */
	unsigned processors;    /* of the machine */
	unsigned awaited;       /* pieces that a reader waits for, */
	int64_t awaited_ns;     /* since then there is one */
	int64_t came_ns;        /* when a fetch last brought what it was for; 0: never */
	struct error failure;   /* of the last attempt that may be made again */
	struct pieces_counters counters;
	pthread_mutex_t opening;
	struct tokenizer *tokenizer;
	pthread_t *threads;
	unsigned started;
};

int64_t piece_clock(void); /* CLOCK_MONOTONIC, nanoseconds */
void list_add(struct list *l, struct entry *e);
void list_remove(struct list *l, struct entry *e);
/* Under the lock: puts an entry into the queue of its next step, and wakes a thread for it. */
void piece_enqueue(struct pieces *p, struct entry *e);
/* Under the lock: starts another thread that fetches, if one would have something to do. */
void fetchers_start(struct pieces *p);
/* Under the lock: closes what was unused for longest until the bounds hold. */
void pieces_trim(struct pieces *p);

/* The cache, or NULL: none, or its disk failed a moment ago. Without the lock. */
struct cache *pieces_cache(struct pieces *p);
/* Counts a failure of its disk; read: it is left alone for a while. Without the lock. */
void pieces_disk_failed(struct pieces *p, bool read);

/* Starts and joins the threads. */
int workers_start(struct pieces *p);
void workers_join(struct pieces *p);

#endif
