/* header: the 64 bytes that stand before what the cache keeps.
 *
 * 0 magic (8 bytes)  8 version u32 = 1  12 width u32  16 tokens u64  24 documents u64
 * 32 first 16 bytes of the key  48 first 16 bytes of SHA-256 over the payload (tokens * width bytes) and
 * bytes 0..47. Little-endian. Pure, any thread.
 */
#ifndef FW_STORE_HEADER_H
#define FW_STORE_HEADER_H

#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/span.h"

#define HEADER_SIZE 64
#define HEADER_KEY 16		/* bytes of the key, and of the checksum, that are kept */
#define HEADER_SUMMED 48	/* bytes of the header under the checksum */
#define HEADER_PIECE "FWPIECE1" /* ids of 2 or 4 bytes */
#define HEADER_COUNT "FWCOUNT1" /* a counts record: width 1, tokens its bytes */

struct header {
	const char *magic; /* HEADER_PIECE or HEADER_COUNT */
	uint32_t width;
	uint64_t tokens, documents;
	uint8_t key[HEADER_KEY], sum[HEADER_KEY];
};

/* Writes HEADER_SIZE bytes. */
void header_store(const struct header *h, uint8_t out[HEADER_SIZE]);

/* Reads the header of a file of file_size bytes. Untrusted: magic, version, width, size and key are compared
 * with what is expected. 0, or -EBADMSG with what is wrong (no name: the caller knows it). The checksum is
 * the caller's to check. */
int header_parse(struct span in, const char *magic, const uint8_t *key, uint64_t file_size,
		 struct header *out, struct error *err);

#endif
