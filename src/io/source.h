/* source: a file of known size that is read by offset, wherever it is.
 *
 * Parsers see a source and never a file descriptor or a URL. All functions
 * may be called from many threads at once, but for source_close.
 */
#ifndef FW_IO_SOURCE_H
#define FW_IO_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct source;

struct source_ops {
	/* Reads exactly n bytes at off, both within size. 0 or -errno with a text. */
	int (*read_at)(struct source *s, uint64_t off, void *buf, size_t n, struct error *err);
	/* The same if it can be done without waiting (page cache), else -EAGAIN. NULL: never. */
	int (*read_now)(struct source *s, uint64_t off, void *buf, size_t n);
	/* Tells the system that these bytes are wanted soon. NULL: no effect. */
	void (*announce)(struct source *s, uint64_t off, uint64_t n);
	/* The bytes that came were damaged: the next that is read of this file, also by another source, does
	 * not come the same way (a new connection). NULL: no effect. */
	void (*doubt)(struct source *s);
	/* Releases everything, s included. */
	void (*close)(struct source *s);
};

/* The first member of each kind's own struct. */
struct source {
	const struct source_ops *ops;
	uint64_t size;    /* bytes */
	const char *name; /* path or URL, for messages; owned by the source */
};

/* Reads exactly n bytes at off. -EBADMSG when the file does not have them: the caller
 * took off or n from bytes that promise more than there is. Else what read_at says. */
int source_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err);

/* The same at once or -EAGAIN. Never waits for a disk or a network. */
int source_read_now(struct source *s, uint64_t off, void *buf, size_t n);

/* Announces a range; what lies outside the file is left out. */
void source_announce(struct source *s, uint64_t off, uint64_t n);

/* Says that the bytes that came were damaged. NULL-safe. */
void source_doubt(struct source *s);

/* NULL-safe. */
void source_close(struct source *s);

/* A source over n bytes of memory, which must outlive it (tests, fuzzers, small bodies). NULL: out of memory. */
struct source *source_memory(const void *bytes, size_t n, const char *name);

#endif
