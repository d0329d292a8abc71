#include "cli/memory.h"

#include <stddef.h>
#include <strings.h>

/* GPT-2: Radford et al. 2019, table 2, and the published weights. Llama 3: Dubey et al. 2024, table 3. */
static const struct model models[] = {
	{ "gpt2-124M", 12, 768, 12, 12, 3072, 50257, 1024, false },
	{ "gpt2-355M", 24, 1024, 16, 16, 4096, 50257, 1024, false },
	{ "gpt2-774M", 36, 1280, 20, 20, 5120, 50257, 1024, false },
	{ "gpt2-1558M", 48, 1600, 25, 25, 6400, 50257, 1024, false },
	{ "llama-3-8b", 32, 4096, 32, 8, 14336, 128256, 8192, true },
};

const struct model *memory_model(const char *name)
{
	if (strcasecmp(name, "gpt2") == 0)
		return &models[0];
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
		if (strcasecmp(name, models[i].name) == 0 || strcasecmp(name, models[i].name + 5) == 0)
			return &models[i];
	return NULL;
}

void memory_guide(uint64_t B, uint64_t T, uint64_t V, uint64_t h, uint64_t L, struct memory_guide *out)
{
	double n = (double)V * (double)h + (double)L * 4 * (double)h * (double)h;
	*out = (struct memory_guide){
		.parameters = n,
		.weights = 2 * n,
		.gradients = 2 * n,
		.optimizer = n * 4 * 2,
		.activations = (double)B * (double)T * (double)h * 4 * (double)L,
	};
	out->total = out->weights + out->gradients + out->optimizer + out->activations;
}

double memory_parameters(const struct model *m)
{
	double L = (double)m->layers, h = (double)m->hidden, V = (double)m->vocab, f = (double)m->inner;
	double kv = (double)m->kv_heads / (double)m->heads;
	if (m->gated)
		return L * (2 * h * h * (1 + kv) + 3 * h * f + 2 * h) + 2 * V * h + h;
	return L * (4 * h * h + 2 * h * f + 9 * h + f) + V * h + (double)m->context * h + 2 * h;
}

const char *const memory_recompute[RECOMPUTES] = { "none", "selective", "flash", "full" };

/* Bytes that a layer keeps of each of B T tokens, in units of h, without the scores of the attention. GPT-2's
 * 34 as counted by Korthikanti et al., section 4.1: attention 11, feed-forward 19, layer norms 4, dropout
 * masks among them. Llama's counted alike: attention's input, Q, and what its last matrix multiplies 2 each,
 * K and V 2 k/a each, the feed-forward's input 2, its two products, the activation of one and their product 2
 * f/h each, norms 4; no dropout. */
static double kept(const struct model *m)
{
	double f = (double)m->inner / (double)m->hidden, kv = (double)m->kv_heads / (double)m->heads;
	return m->gated ? 12 + 4 * kv + 8 * f : 18 + 4 * f;
}

void memory_use(const struct model *m, uint64_t B, uint64_t T, enum recompute r, uint64_t shards,
                struct memory_use *out)
{
	double n = memory_parameters(m) / (double)shards, tokens = (double)B * (double)T,
	       h = (double)m->hidden;
	double layer = tokens * h * kept(m);
	/* The softmax of the scores, its dropout mask, and what is left of it: 5 a T^2 B; without dropout 2.
	 */
	double scores = (m->gated ? 2.0 : 5.0) * (double)m->heads * (double)T * tokens;
	if (r == RECOMPUTE_NONE)
		layer += scores;
	else if (r == RECOMPUTE_FLASH)
		layer += 8 * (double)m->heads * tokens;
	else if (r == RECOMPUTE_FULL)
		layer = 2 * tokens * h;
	*out = (struct memory_use){
		.weights = 2 * n,
		.gradients = 2 * n,
		.optimizer = 12 * n,
		.activations = (double)m->layers * layer,
		.logits = 8 * tokens * (double)m->vocab,
		.context = MEMORY_CONTEXT,
	};
	/* Full recomputation has one layer whole while it goes back through it. */
	if (r == RECOMPUTE_FULL)
		out->activations += tokens * h * kept(m) + scores;
	out->total = out->weights + out->gradients + out->optimizer + out->activations + out->logits +
	             out->context;
}

/* Everything but a constant is linear in B. */
uint64_t memory_batch(const struct model *m, uint64_t T, enum recompute r, uint64_t shards, double bytes)
{
	struct memory_use none, one;
	memory_use(m, 0, T, r, shards, &none);
	memory_use(m, 1, T, r, shards, &one);
	double room = bytes - none.total, each = one.total - none.total;
	return room < each ? 0 : (uint64_t)(room / each);
}

double memory_operations(const struct model *m, uint64_t T)
{
	double h = (double)m->hidden, looked_up = (double)(m->gated ? m->vocab : m->context) * h;
	return 6 * (memory_parameters(m) - looked_up) + 12 * (double)m->layers * h * (double)T;
}
