/* block: large pieces of memory that are kept for the next use. The system would take them back, and fill every
 * page of the next with zeros before it is written: a sixth of the time that a piece takes.
 *
 * What is kept while nobody uses it is at most BLOCKS_KEPT blocks, of as many bytes together as block_bound
 * said last (BLOCK_BOUND before); what is used belongs to who asked for it. Any thread.
 */
#ifndef FW_BASE_BLOCK_H
#define FW_BASE_BLOCK_H

#include <stddef.h>

#define BLOCK_LEAST ((size_t)256 << 10) /* bytes; smaller ones and larger ones are malloc's */
#define BLOCK_MOST ((size_t)8 << 20)
#define BLOCKS_KEPT 16
#define BLOCK_BOUND ((size_t)32 << 20)

/* As malloc, realloc and free, of blocks that only these three know.
 * The content of a new one is anything. NULL: out of memory. */
void *block_new(size_t n);
void *block_grow(void *at, size_t n);
void block_free(void *at);
void block_bound(size_t bytes);

#endif
