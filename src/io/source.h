/* source: a file of known size that is read by offset, wherever it is.
 *
 * Parsers see a source and never a file descriptor or a URL. All functions
 * may be called from many threads at once, but for source_close.
 */
#ifndef FW_IO_SOURCE_H
#define FW_IO_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct source;

/* Bytes of a source where they are; they stay until source_unview. */
struct source_view {
	struct span bytes;
	void *held; /* the source's own */
};

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
	/* Shows bytes that are in memory already: true and a view of them, or false. NULL: none are. */
	bool (*view)(struct source *s, uint64_t off, size_t n, struct source_view *out);
	void (*unview)(struct source *s, struct source_view *v);
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

/* Shows n bytes at off without copying them, where they are in memory as they stand: then true, and
 * source_unview ends it before the source is closed. NULL-safe as to what v has: a zeroed one has nothing. */
bool source_view(struct source *s, uint64_t off, size_t n, struct source_view *out);
void source_unview(struct source *s, struct source_view *v);

/* Announces a range; what lies outside the file is left out. */
void source_announce(struct source *s, uint64_t off, uint64_t n);

/* Says that the bytes that came were damaged. NULL-safe. */
void source_doubt(struct source *s);

/* NULL-safe. */
void source_close(struct source *s);

/* A source over n bytes of memory, which must outlive it (tests, fuzzers, small bodies). NULL: out of memory. */
struct source *source_memory(const void *bytes, size_t n, const char *name);

#endif
