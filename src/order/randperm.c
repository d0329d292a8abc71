#include "order/randperm.h"

#define WORDS 624
#define SHIFT 397

struct twister {
	uint32_t word[WORDS];
	unsigned at;
};

static void twister_seed(struct twister *t, uint32_t seed)
{
	t->word[0] = seed;
	for (unsigned i = 1; i < WORDS; i++)
		t->word[i] = 1812433253u * (t->word[i - 1] ^ t->word[i - 1] >> 30) + i;
	t->at = WORDS;
}

static uint32_t twist(uint32_t high, uint32_t low, uint32_t other)
{
	uint32_t y = (high & 0x80000000u) | (low & 0x7FFFFFFFu);
	return other ^ y >> 1 ^ ((y & 1) ? 0x9908B0DFu : 0);
}

static void twister_turn(struct twister *t)
{
	uint32_t *w = t->word;
	unsigned i;

	for (i = 0; i < WORDS - SHIFT; i++)
		w[i] = twist(w[i], w[i + 1], w[i + SHIFT]);
	for (; i < WORDS - 1; i++)
		w[i] = twist(w[i], w[i + 1], w[i + SHIFT - WORDS]);
	w[i] = twist(w[i], w[0], w[i + SHIFT - WORDS]);
	t->at = 0;
}

static uint32_t twister_next(struct twister *t)
{
	uint32_t y;

	if (t->at == WORDS)
		twister_turn(t);
	y = t->word[t->at++];
	y ^= y >> 11;
	y ^= y << 7 & 0x9D2C5680u;
	y ^= y << 15 & 0xEFC60000u;
	return y ^ y >> 18;
}

void torch_randperm(uint32_t n, uint64_t seed, uint32_t *out)
{
	struct twister t;

	twister_seed(&t, (uint32_t)seed);
	for (uint32_t i = 0; i < n; i++)
		out[i] = i;
	for (uint32_t i = 0; i + 1 < n; i++) {
		uint32_t z = i + twister_next(&t) % (n - i);
		uint32_t kept = out[i];
		out[i] = out[z];
		out[z] = kept;
	}
}
