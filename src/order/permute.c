#include "order/permute.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* Chains that run side by side: a chain waits for its own multiplies most of the time. */
#define LANES 4
#define MANY (16 * LANES)

static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

uint64_t mix64(uint64_t x)
{
	return mix(x);
}

uint64_t order_key(uint64_t seed, uint64_t epoch, uint64_t level, uint64_t a, uint64_t b)
{
	uint64_t h = mix(seed + GOLDEN);
	h = mix(h + GOLDEN * (epoch + 1));
	h = mix(h + GOLDEN * (level + 1));
	h = mix(h + GOLDEN * (a + 1));
	return mix(h + GOLDEN * (b + 1));
}

void permutation_init(struct permutation *p, uint64_t key, uint64_t n)
{
	unsigned bits = n > 2 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;
	unsigned high_bits = bits / 2;

	p->n = n;
	p->low_bits = bits - high_bits;
	p->high_mask = (UINT64_C(1) << high_bits) - 1;
	p->low_mask = (UINT64_C(1) << p->low_bits) - 1;
	p->rounds = bits >= 8 ? 8 : 16;
	for (unsigned r = 0; r < 16; r++)
		p->round_key[r] = key + GOLDEN * (r + 1);
}

static uint64_t forward(const struct permutation *p, uint64_t x)
{
	uint64_t h = x >> p->low_bits, l = x & p->low_mask;

	for (unsigned r = 0; r < p->rounds; r += 2) {
		h ^= mix(l + p->round_key[r]) & p->high_mask;
		l ^= mix(h + p->round_key[r + 1]) & p->low_mask;
	}
	return h << p->low_bits | l;
}

static uint64_t backward(const struct permutation *p, uint64_t x)
{
	uint64_t h = x >> p->low_bits, l = x & p->low_mask;

	for (unsigned r = p->rounds; r > 0; r -= 2) {
		l ^= mix(h + p->round_key[r - 1]) & p->low_mask;
		h ^= mix(l + p->round_key[r - 2]) & p->high_mask;
	}
	return h << p->low_bits | l;
}

uint64_t permute(const struct permutation *p, uint64_t i)
{
	if (p->n <= 1)
		return i;
	do {
		i = forward(p, i);
	} while (i >= p->n);
	return i;
}

uint64_t unpermute(const struct permutation *p, uint64_t y)
{
	if (p->n <= 1)
		return y;
	do {
		y = backward(p, y);
	} while (y >= p->n);
	return y;
}

static void forward_lanes(const struct permutation *p, uint64_t x[LANES])
{
	const unsigned low_bits = p->low_bits;
	const uint64_t high_mask = p->high_mask, low_mask = p->low_mask;
	uint64_t h[LANES], l[LANES];

#pragma GCC unroll 8
	for (unsigned i = 0; i < LANES; i++) {
		h[i] = x[i] >> low_bits;
		l[i] = x[i] & low_mask;
	}
	for (unsigned r = 0; r < p->rounds; r += 2) {
		const uint64_t even = p->round_key[r], odd = p->round_key[r + 1];
#pragma GCC unroll 8
		for (unsigned i = 0; i < LANES; i++)
			h[i] ^= mix(l[i] + even) & high_mask;
#pragma GCC unroll 8
		for (unsigned i = 0; i < LANES; i++)
			l[i] ^= mix(h[i] + odd) & low_mask;
	}
#pragma GCC unroll 8
	for (unsigned i = 0; i < LANES; i++)
		x[i] = h[i] << low_bits | l[i];
}

/* Permutes at most MANY positions, pass after pass over those that still walk. */
static void permute_some(const struct permutation *p, const uint64_t *in, uint64_t *out, unsigned count)
{
	uint64_t x[MANY] = {0};
	unsigned who[MANY], left = count;

	for (unsigned i = 0; i < count; i++) {
		x[i] = in[i];
		who[i] = i;
	}
	while (left > 0) {
		unsigned walking = 0;

		for (unsigned i = 0; i < left; i += LANES)
			forward_lanes(p, &x[i]);
		/* Without a branch on luck: a result that is not final is overwritten by the next pass. */
		for (unsigned i = 0; i < left; i++) {
			uint64_t y = x[i];
			unsigned j = who[i];

			out[j] = y;
			x[walking] = y;
			who[walking] = j;
			walking += y >= p->n;
		}
		left = walking;
	}
}

void permute_many(const struct permutation *p, const uint64_t *in, uint64_t *out, unsigned count)
{
	if (p->n <= 1) {
		for (unsigned i = 0; i < count; i++)
			out[i] = in[i];
		return;
	}
	for (unsigned i = 0; i < count; i += MANY)
		permute_some(p, in + i, out + i, count - i < MANY ? count - i : MANY);
}
