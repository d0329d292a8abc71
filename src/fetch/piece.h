/* piece: the pieces of text files, made when somebody wants them, each once.
 *
 * A table of pieces (single flight), queues, and the worker threads: where files are remote as many that fetch
 * bytes as the path to the server pays for (window.h), at most PIECE_FETCHERS; `threads` for readers, as many at nice 10 for prefetch and counting. Bounds: PIECES_OPEN
 * pieces open at once; of `memory`, without a disk, half for pieces (a sixteenth while the files' pool has a large
 * share) and a sixteenth for what is fetched, with one half for what is fetched; a queue is as long as what is
 * asked for. A
 * failed piece keeps its errno and text for PIECE_FAILED_S seconds. Only here is a fetch tried again. Any
 * thread.
 */
#ifndef FW_FETCH_PIECE_H
#define FW_FETCH_PIECE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "fetch/early.h"
#include "fetch/starts.h"
#include "fetch/textfile.h"
#include "format/tokenfile.h"
#include "io/source.h"
#include "store/cache.h"

#define PIECES_OPEN 1024
#define PIECE_FETCHERS 64
#define PIECE_FAILED_S 10

enum priority { PRIORITY_READER, PRIORITY_PREFETCH, PRIORITY_COUNT };

struct pieces;

struct pieces_options {
	struct textfiles *files;
	struct cache *cache;             /* NULL: none */
	const char *tokenizer, *pattern; /* opened when the first piece is made, */
	struct early *early;             /* or already; the pieces' own from pieces_new on. NULL: not yet */
	const char *tokenizer_sha256;
	unsigned tokenizer_revision;
	int64_t bos, eos;
	unsigned width;
	uint32_t groups; /* row groups of a piece */
	unsigned threads, retry_s;
	uint64_t memory;
	/* For token files on a server (NULL: the files are text): the header, and which tokens are this
	 * piece. */
	int (*tokens)(void *arg, uint32_t file, uint32_t piece, struct tokenfile *t, uint64_t *first,
	              uint64_t *n, struct error *err);
	/* Pin of a file (32 bytes), for the cache key. */
	int (*pin)(void *arg, uint32_t file, uint8_t out[32], struct error *err);
	bool (*remote)(void *arg, uint32_t file);
	bool any_remote;
	/* Every piece is read once, in order, by who wants to know where its documents begin: only what is too
	 * large for memory goes into the cache, and with `keep` pieces of remote files that it has room for,
	 * where this finds them again. */
	bool documents, keep;
	/* Whether the count of a piece of a remote file is wanted too; and tells that its bytes are at hand,
	 * so that counting asks nothing. */
	bool (*uncounted)(void *arg, uint32_t file, uint32_t piece);
	void (*fetched)(void *arg, uint32_t file, uint32_t piece);
	/* A piece was made or found (result 0, with its true tokens and documents), or failed for good
	 * (-errno). May turn a success into an error (a count that does not fit): what it returns is the
	 * piece's result. Called without locks held, before readers see it. */
	int (*made)(void *arg, uint32_t file, uint32_t piece, int result, uint64_t tokens, uint64_t documents,
	            struct error *err);
	/* The state of some piece changed: whoever waits should look again. */
	void (*changed)(void *arg);
	void *arg;
};

int pieces_new(const struct pieces_options *options, struct pieces **out, struct error *err);
/* Starts to stop: running fetches are ended through the http client's stop flag, nothing new begins. */
void pieces_stop(struct pieces *p);
/* Joins the threads and frees all. No piece may be held. NULL-safe. */
void pieces_free(struct pieces *p);

/* A piece that is at hand: its ids begin at `offset` of `source`. */
struct piece_ref {
	struct source *source;
	uint64_t offset, tokens, documents;
	const uint8_t *memory;       /* the ids, where they are in memory, else NULL */
	uint64_t text_bytes;         /* that it was made of; 0: not known */
	const struct starts *starts; /* if pieces_options.documents, else NULL */
	void *entry;
};

/* 0 and a reference; -EAGAIN: it was queued (or is being made), `changed` will be called; or the errno of its
 * failure, with the text. */
int pieces_get(struct pieces *p, uint32_t file, uint32_t piece, enum priority priority, struct piece_ref *out,
               struct error *err);
void pieces_put(struct pieces *p, struct piece_ref *ref);
/* The same of a piece that nobody will want again: it is forgotten once nobody uses it. */
void pieces_drop(struct pieces *p, struct piece_ref *ref);
/* Its bytes could not be read: it is made again, in memory, when somebody wants it next; still to be put. False:
 * it was in memory, so that was not it. */
bool pieces_lost(struct pieces *p, struct piece_ref *ref);
/* Asks for it without waiting: 0 at hand, -EAGAIN queued, or its failure. */
int pieces_want(struct pieces *p, uint32_t file, uint32_t piece, enum priority priority);

/* Forgets what is in memory and not used, but for a little. */
void pieces_make_room(struct pieces *p);
/* Whether a reader waits for a piece, and has not done so for longer than PIECE_HOLD_NS: then what nobody waits
 * for should wait. */
#define PIECE_HOLD_NS 2000000000
bool pieces_awaited(struct pieces *p);

/* The name of a piece in the cache. */
int pieces_key(struct pieces *p, uint32_t file, uint32_t piece, struct cache_key *out, struct error *err);

struct pieces_counters {
	uint64_t hits, misses, fetched, tokenized, retries, errors, disk_errors, memory_bytes, queued;
	uint64_t made_ns, encoded_ns; /* that threads made pieces, and encoded meanwhile */
	uint64_t window, flight;      /* bytes that may be under way (0: no file is remote), and that are */
	unsigned ahead;               /* pieces that it pays to ask for ahead */
};
void pieces_counters(struct pieces *p, struct pieces_counters *out);

#endif
