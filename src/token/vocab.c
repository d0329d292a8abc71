#include "token/vocab.h"

#include <errno.h>
#include <stdlib.h>

#include "token/huge.h"

/* What each base64 digit adds in each of four places to the three bytes they stand for. */
struct digits {
	uint32_t of[4][256];
};

#define NO_DIGIT (UINT32_C(1) << 31)

static void digits_fill(struct digits *d)
{
	static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (unsigned k = 0; k < 4; k++) {
		for (unsigned c = 0; c < 256; c++)
			d->of[k][c] = NO_DIGIT;
		for (uint32_t i = 0; i < 64; i++)
			d->of[k][(uint8_t)all[i]] = i << (18 - 6 * k);
	}
}

/* Decodes canonical base64 with padding; out may be NULL. Number of bytes, or -1. */
static int64_t base64(const struct digits *d, struct span s, uint8_t *out)
{
	if (s.n == 0 || s.n % 4 != 0)
		return -1;
	unsigned pad = s.at[s.n - 1] != '=' ? 0 : s.at[s.n - 2] != '=' ? 1 : 2;
	int64_t n = (int64_t)(s.n / 4 * 3) - pad;
	if (out == NULL)
		return n;
	uint32_t bits, wrong = 0;
	const uint8_t *p = s.at, *last = s.at + s.n - 4;
	for (; p < last; p += 4, out += 3) {
		bits = d->of[0][p[0]] | d->of[1][p[1]] | d->of[2][p[2]] | d->of[3][p[3]];
		wrong |= bits;
		out[0] = (uint8_t)(bits >> 16);
		out[1] = (uint8_t)(bits >> 8);
		out[2] = (uint8_t)bits;
	}
	bits = d->of[0][p[0]] | d->of[1][p[1]] | (pad > 1 ? 0 : d->of[2][p[2]]) |
	       (pad > 0 ? 0 : d->of[3][p[3]]);
	for (unsigned i = 0; i < 3 - pad; i++)
		out[i] = (uint8_t)(bits >> (16 - 8 * i));
	return ((wrong | bits) & NO_DIGIT) != 0 ? -1 : n;
}

struct line {
	struct span token; /* base64 */
	uint32_t id;
};

/* Takes the next line. 1, 0 at the end of the file, or an error. */
static int next_line(struct span *file, uint64_t number, const char *name, struct line *out,
                     struct error *err)
{
	if (file->n == 0)
		return 0;
	const uint8_t *at = file->at, *end = at + file->n, *space = at;
	/* Lines are short: looking at each byte is faster than two calls. */
	while (space<end && * space> ' ')
		space++;
	const uint8_t *p = space + 1;
	uint64_t id = 0;
	if (space == end || *space != ' ' || p == end || *p == '\n')
		return fail(err, EBADMSG, "%s: line %llu: expected base64, a space and an id", name,
		            (unsigned long long)number);
	for (; p < end && *p != '\n'; p++) {
		if (*p < '0' || *p > '9')
			return fail(err, EBADMSG, "%s: line %llu: the id is not a number", name,
			            (unsigned long long)number);
		id = id * 10 + (*p - '0');
		if (p - space > 10)
			return fail(err, EBADMSG, "%s: line %llu: expected base64, a space and an id", name,
			            (unsigned long long)number);
	}
	span_skip(file, (size_t)(p - at) + (p < end));
	if (id >= VOCAB_MOST)
		return fail(err, ENOTSUP, "%s: line %llu: id %llu, at most %u are supported", name,
		            (unsigned long long)number, (unsigned long long)id, VOCAB_MOST);
	*out = (struct line){ .token = span_of(at, (size_t)(space - at)), .id = (uint32_t)id };
	return 1;
}

int vocab_count_tiktoken(struct span file, const char *name, uint32_t *n, struct error *err)
{
	struct line line;
	uint64_t number = 1;
	int r;
	*n = 0;
	while ((r = next_line(&file, number++, name, &line, err)) > 0)
		if (line.id >= *n)
			*n = line.id + 1;
	if (r == 0 && *n == 0)
		return fail(err, EBADMSG, "%s: no token in it", name);
	return r;
}

/* Stores the length of each token behind its id, then the offsets. */
static int measure(struct vocab *v, struct span file, const char *name, struct error *err)
{
	struct digits d;
	struct line line;
	uint64_t number = 1;
	int r;
	digits_fill(&d);
	while ((r = next_line(&file, number, name, &line, err)) > 0) {
		int64_t n = base64(&d, line.token, NULL);
		if (n <= 0)
			return fail(err, EBADMSG, "%s: line %llu: not base64 of a token", name,
			            (unsigned long long)number);
		if (v->at[line.id + 1] != 0)
			return fail(err, EBADMSG, "%s: line %llu: id %u stands twice", name,
			            (unsigned long long)number, line.id);
		v->at[line.id + 1] = (uint32_t)n;
		if (n > v->longest)
			v->longest = (uint32_t)n;
		number++;
	}
	/* The file is at most 4 GiB (the caller's bound), and so is what it decodes to. */
	for (uint32_t i = 0; i < v->n; i++)
		v->at[i + 1] += v->at[i];
	return r;
}

/* Reads a file whose ids may come in any order. */
static int read_any(struct vocab *v, struct span file, const char *name, struct error *err)
{
	int r = vocab_count_tiktoken(file, name, &v->n, err);
	if (r < 0)
		return r;
	v->at = calloc((size_t)v->n + 1, sizeof *v->at);
	if (v->at == NULL)
		return fail(err, ENOMEM, "%s: out of memory", name);
	r = measure(v, file, name, err);
	if (r < 0)
		return r;
	v->bytes = malloc(v->at[v->n]);
	if (v->bytes == NULL)
		return fail(err, ENOMEM, "%s: out of memory", name);
	struct digits d;
	struct line line;
	uint64_t number = 1;
	digits_fill(&d);
	for (; (r = next_line(&file, number, name, &line, err)) > 0; number++)
		if (base64(&d, line.token, v->bytes + v->at[line.id]) < 0)
			return fail(err, EBADMSG, "%s: line %llu: not base64 of a token", name,
			            (unsigned long long)number);
	return r;
}

/* Reads a file whose ids come one after another, as they mostly do, in one go. 0, or 1: they do not. */
static int read_ordered(struct vocab *v, struct span file, const char *name, struct error *err)
{
	/* The shortest line has 7 bytes. */
	size_t most = file.n / 7 + 1;
	struct digits d;
	struct line line;
	int r;
	digits_fill(&d);
	v->at = malloc((most + 1) * sizeof *v->at);
	v->bytes = malloc(file.n / 4 * 3 + 3);
	if (v->at == NULL || v->bytes == NULL)
		return fail(err, ENOMEM, "%s: out of memory", name);
	v->at[0] = 0;
	while ((r = next_line(&file, v->n + 1, name, &line, err)) > 0) {
		int64_t n =
		        line.id == v->n && v->n < most ? base64(&d, line.token, v->bytes + v->at[v->n]) : -1;
		if (n <= 0)
			return 1;
		v->at[v->n + 1] = v->at[v->n] + (uint32_t)n;
		v->n++;
		if (n > v->longest)
			v->longest = (uint32_t)n;
	}
	return r == 0 && v->n > 0 ? 0 : 1;
}

int vocab_read_tiktoken(struct vocab *v, struct span file, const char *name, struct error *err)
{
	int r = read_ordered(v, file, name, err);
	if (r == 1) {
		vocab_free(v);
		*v = (struct vocab){ 0 };
		r = read_any(v, file, name, err);
	}
	return r < 0 ? r : vocab_index(v, name, err);
}

static uint32_t hash_bytes(const uint8_t *p, size_t n)
{
	uint64_t h = n * UINT64_C(0x9E3779B97F4A7C15);
	for (; n >= 8; p += 8, n -= 8)
		h = (h ^ load_u64(p)) * UINT64_C(0xD6E8FEB86659FD93), h ^= h >> 32;
	/* Fewer than 8 bytes are left, each in here at least once. */
	uint64_t tail = 0;
	if (n >= 4)
		tail = load_u32(p) | (uint64_t)load_u32(p + n - 4) << 32;
	else if (n > 0)
		tail = (uint64_t)p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16;
	h = (h ^ tail) * UINT64_C(0xD6E8FEB86659FD93);
	h ^= h >> 32;
	h *= UINT64_C(0x9E3779B97F4A7C15);
	return (uint32_t)(h >> 32);
}

uint32_t vocab_hash(const struct vocab *v, const uint8_t *p, size_t n)
{
	uint32_t hash = hash_bytes(p, n);
	__builtin_prefetch(&v->slot[hash & v->mask]);
	return hash;
}

void vocab_fetch(const struct vocab *v, uint32_t hash)
{
	uint32_t id = v->slot[hash & v->mask];
	if (id != 0)
		__builtin_prefetch(v->bytes + v->at[id - 1]);
}

uint32_t vocab_find_hashed(const struct vocab *v, const uint8_t *p, size_t n, uint32_t hash)
{
	for (uint32_t s = hash & v->mask; v->slot[s] != 0; s = (s + 1) & v->mask) {
		struct span token = vocab_bytes(v, v->slot[s] - 1);
		if (token.n == n && vocab_same(token.at, p, n))
			return v->slot[s] - 1;
	}
	return VOCAB_NONE;
}

uint32_t vocab_find(const struct vocab *v, const uint8_t *p, size_t n)
{
	return n <= v->longest ? vocab_find_hashed(v, p, n, hash_bytes(p, n)) : VOCAB_NONE;
}

int vocab_index(struct vocab *v, const char *name, struct error *err)
{
	uint32_t slots = 512;
	while (slots < 2 * v->n)
		slots *= 2;
	v->mask = slots - 1;
	v->slot = huge_make(slots * sizeof *v->slot);
	if (v->slot == NULL)
		return fail(err, ENOMEM, "%s: out of memory", name);
	uint32_t hash[16] = { 0 };
	for (uint32_t k = 0; k < v->n + 16; k++) {
		/* The place of a token is fetched 16 tokens before it is needed. */
		uint32_t id = k - 16, s = hash[k % 16] & v->mask;
		if (k < v->n) {
			struct span ahead = vocab_bytes(v, k);
			hash[k % 16] = hash_bytes(ahead.at, ahead.n);
			__builtin_prefetch(&v->slot[hash[k % 16] & v->mask], 1);
		}
		if (k < 16)
			continue;
		struct span token = vocab_bytes(v, id);
		if (token.n == 0 || vocab_is_hidden(v, id))
			continue;
		for (; v->slot[s] != 0; s = (s + 1) & v->mask) {
			struct span other = vocab_bytes(v, v->slot[s] - 1);
			if (other.n == token.n && vocab_same(other.at, token.at, token.n))
				return fail(err, EBADMSG, "%s: ids %u and %u have the same bytes", name,
				            v->slot[s] - 1, id);
		}
		v->slot[s] = id + 1;
	}
	for (unsigned b = 0; b < 256; b++) {
		v->byte[b] = vocab_find(v, &(uint8_t){ (uint8_t)b }, 1);
		if (v->byte[b] == VOCAB_NONE)
			return fail(err, EBADMSG, "%s: no token for byte 0x%02X", name, b);
	}
	return 0;
}

void vocab_free(struct vocab *v)
{
	free(v->at);
	free(v->bytes);
	huge_free(v->slot, ((size_t)v->mask + 1) * sizeof *v->slot);
	free(v->hidden);
}
