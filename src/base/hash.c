#include "base/hash.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"

struct hash {
	EVP_MD_CTX *ctx;
};

struct hash *hash_new(void)
{
	struct hash *h = malloc(sizeof *h);
	if (h == NULL)
		return NULL;
	h->ctx = EVP_MD_CTX_new();
	if (h->ctx == NULL || EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(h->ctx);
		free(h);
		return NULL;
	}
	return h;
}

void hash_add(struct hash *h, const void *bytes, size_t n)
{
	if (h != NULL)
		EVP_DigestUpdate(h->ctx, bytes, n);
}

void hash_add_u64(struct hash *h, uint64_t v)
{
	uint8_t bytes[8];
	store_u64(bytes, v);
	hash_add(h, bytes, sizeof bytes);
}

void hash_add_text(struct hash *h, const char *text)
{
	size_t n = strlen(text);
	hash_add_u64(h, n);
	hash_add(h, text, n);
}

void hash_end(struct hash *h, uint8_t out[HASH_SIZE])
{
	memset(out, 0, HASH_SIZE);
	if (h == NULL)
		return;
	EVP_DigestFinal_ex(h->ctx, out, NULL);
	EVP_MD_CTX_free(h->ctx);
	free(h);
}

void hash_of(const void *bytes, size_t n, uint8_t out[HASH_SIZE])
{
	struct hash *h = hash_new();
	hash_add(h, bytes, n);
	hash_end(h, out);
}

void hash_hex(const uint8_t *digest, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[2 * n] = 0;
}
