/* hash: SHA-256 (FIPS 180-4), the one hash of this program.
 *
 * It names cache files, pins files, checks what was stored, and makes the
 * fingerprint. libcrypto computes it (libcurl's TLS brings that library with it).
 * Each struct belongs to one thread.
 */
#ifndef FW_BASE_HASH_H
#define FW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SIZE 32
#define HASH_HEX (2 * HASH_SIZE + 1)

struct hash;

/* A new running hash; NULL when out of memory. */
struct hash *hash_new(void);
/* Adds n bytes. */
void hash_add(struct hash *h, const void *bytes, size_t n);
/* Adds a length and then the text, so that ("ab","c") and ("a","bc") differ. */
void hash_add_text(struct hash *h, const char *text);
/* Adds 8 bytes, little-endian. */
void hash_add_u64(struct hash *h, uint64_t v);
/* Writes the digest and frees h. h may be NULL: then out is all zero. */
void hash_end(struct hash *h, uint8_t out[HASH_SIZE]);

/* The digest of n bytes at once. */
void hash_of(const void *bytes, size_t n, uint8_t out[HASH_SIZE]);

/* n bytes as 2n lower-case hex digits and a NUL. */
void hash_hex(const uint8_t *digest, size_t n, char *out);

#endif
