/* dataset: files, pieces, order and tokens together; the face that the upper floors see.
 *
 * All functions may be called from many threads at once, but for open and close. Functions that end
 * in _now never wait; the others that may have to wait take a request and answer through its done function.
 */
#ifndef FW_DATASET_DATASET_H
#define FW_DATASET_DATASET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "dataset/options.h"

struct dataset;

/* Lists and pins the source, opens cache and index, starts the threads, counts until one global batch of the mounted epoch (and of nothing else) is counted
 * and for at most 5 s more. Never returns later than options->ready_timeout + 1 s. Call it after the last fork. *stop (may be NULL) ends it early with -EINTR when it
 * becomes true. 0, or -errno with the cause: -ENOENT (source), -EINVAL (no batch: with the numbers; options that do not fit the source), -ETIMEDOUT (not counted within ready_timeout: names
 * the `fineweb index` command), -ESTALE (fingerprint), and what reading the source says. *options is copied. sample: the source is the bundled sample, by default. */
int dataset_open(const struct options *options, bool sample, const atomic_bool *stop, struct dataset **out, struct error *err);
/* The same for who looks at a data set or reads a part of it: ready when it is known where the held-out part ends;
 * whether there is a batch is not asked. options->fingerprint waits for all pins. */
int dataset_inspect(const struct options *options, bool sample, struct dataset **out, struct error *err);
/* Ends every request with -EINTR, joins the threads, frees all. At most 1 s, whatever the network does. */
void dataset_close(struct dataset *d);

struct dataset_facts {
	const struct options *options; /* as resolved: bos, eos, counts, list, threads, cache are never "auto" */
	bool sample;
	unsigned width;              /* bytes of a token: 2 or 4 */
	const char *dtype;           /* "uint16" or "uint32" */
	uint64_t batch_bytes;        /* B * (T + 1) * width */
	const char *tokenizer;       /* name */
	const char *tokenizer_sha256;
	char *const *pinned;         /* source, pinned: strings for dataset.json, `pins` of them */
	size_t pins;
	uint32_t files;
	int64_t date;                /* mtime of everything, seconds since 1970: date of the pin */
	bool has_documents;          /* false: token files, `documents` is null */
};
void dataset_facts(struct dataset *d, struct dataset_facts *out);
/* 64 lower-case hex digits and NUL. Waits until every file is pinned, which the background does
 * (head and tail of each are read). 0; -EINTR (the mount is ending), or the errno of a file that cannot be pinned. */
int dataset_fingerprint(struct dataset *d, char out[65], struct error *err);

struct dataset_counts {
	uint64_t documents, tokens, sequences, dropped_tokens; /* of what is counted so far */
	uint64_t batches_known; /* of the mounted epoch, or of val */
	bool final;             /* all is counted: batches == batches_known */
};
/* val: of the held-out part (all 0 without val_tokens). Never waits long: it tells what is known. */
void dataset_counts(struct dataset *d, bool val, struct dataset_counts *out);

struct dataset_stats {
	uint64_t cache_hits, cache_misses, pieces_fetched, pieces_tokenized, pieces_cut, pieces_filled,
		bytes_fetched, requests, retries, errors, cache_errors, blocks_counted, memory_bytes, queue_length,
		flight_bytes, window_bytes, uptime_seconds;
};
void dataset_stats(struct dataset *d, struct dataset_stats *out);

/* What can be read. */
enum object_kind {
	OBJECT_BATCH, /* batch `number` of rank, epoch (or val) */
	OBJECT_EPOCH, /* all batches of the rank one after another */
	OBJECT_SHARD, /* file `number` of shards/, in the form of options->shards; the val files come last, see dataset_shard_name */
};
struct dataset_object {
	enum object_kind kind;
	bool val;       /* batch, epoch: the val view; `epoch` is then 0 */
	uint32_t epoch, rank;
	uint64_t number;
};

/* Bytes of an object. 0; -EAGAIN (not counted so far: use dataset_cover), -ENOENT (no such), or the errno of the piece that can not be counted. */
int dataset_size_now(struct dataset *d, const struct dataset_object *o, uint64_t *size);
/* Batches of each rank of a view that are known now, and whether those are all. -errno of a piece that can not be counted stands in *stopped (else 0). */
void dataset_batches_now(struct dataset *d, bool val, uint32_t epoch, uint64_t *known, bool *final, int *stopped);
/* Number of files in shards/: -EAGAIN until all is counted. And the name of one (buf of 64 bytes): 0 or -ENOENT. And back, -ENOENT for a name of no file. */
int dataset_shards_now(struct dataset *d, uint64_t *n);
int dataset_shard_name(struct dataset *d, uint64_t number, char *buf);
int dataset_shard_number(struct dataset *d, const char *name, uint64_t *number);

/* Reads n bytes at off of an object when all is at hand: 0, -EAGAIN, or -errno (as dataset_read). off + n within the object's size. */
int dataset_read_now(struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n);

/* One thing that was asked for. The caller owns the struct (zeroed but for done and arg) and keeps it and buf until done was called, which happens exactly once, from any
 * thread, perhaps before the asking function returns. done must not wait. */
struct dataset_request {
	void (*done)(struct dataset_request *r, int result); /* 0 or -errno */
	void *arg;
	bool only_size;      /* of dataset_cover: as for a listing, nothing of the object will be read */
	struct error *cause; /* gets the text of a failure before done is called; NULL: nobody asks */
	/* private to the dataset */
	struct dataset *dataset;
	struct dataset_object object;
	uint64_t off;
	void *buf;
	size_t n;
	atomic_bool cancelled;
	uint8_t *rows_done;
	int result;
	int64_t deadline_ns;
	struct dataset_request *next;
};
/* Reads; errnos are those of the manual's table. */
void dataset_read(struct dataset_request *r, struct dataset *d, const struct dataset_object *o, uint64_t off, void *buf, size_t n);
/* Counts forward until the object's size is known (0) or the data ends before it (-ENOENT), within options->retry. */
void dataset_cover(struct dataset_request *r, struct dataset *d, const struct dataset_object *o);
/* Marks a request; done will be called with -EINTR within 100 ms from another thread, unless it is finished before. Takes no lock that is held while done runs: may be called from FUSE's interrupt callback. */
void dataset_cancel(struct dataset_request *r);

#endif
