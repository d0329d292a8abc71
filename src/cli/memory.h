/* memory: what a transformer takes to train: parameters, bytes, floating-point operations. Pure; any thread.
 *
 * B: sequences of a rank, T: tokens of a sequence, V: vocabulary, h: hidden size, L: layers, a: heads, k:
 * heads of keys and values, f: inner size of the feed-forward part. All results are bytes unless they say
 * otherwise; products of the bounds below fit a double exactly enough.
 */
#ifndef FW_CLI_MEMORY_H
#define FW_CLI_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct model {
	const char *name; /* "gpt2-124M" */
	uint64_t layers, hidden, heads, kv_heads, inner, vocab;
	uint64_t
	        context; /* positions that are learned (GPT-2), or the longest sequence it was trained with */
	bool gated; /* Llama: rotary positions, no biases, three feed-forward matrices, an output matrix of
	               its own */
};

/* By name; "gpt2" and its sizes alone ("124M") are taken, too. NULL: not known. memory_models lists the
 * names. */
const struct model *memory_model(const char *name);
#define MEMORY_MODELS "gpt2 (or gpt2-124M), gpt2-355M, gpt2-774M, gpt2-1558M, llama-3-8b"

/* The course guide's calculate_memory_requirement(B, T, V, h, L): params = V h + 4 L h^2; weights in 2 bytes,
 * gradients in 2, Adam's two moments in 4 each, activations 4 B T h a layer. */
struct memory_guide {
	double parameters, weights, gradients, optimizer, activations, total;
};
void memory_guide(uint64_t B, uint64_t T, uint64_t V, uint64_t h, uint64_t L, struct memory_guide *out);

/* Parameters. GPT-2 (Radford et al. 2019; weights of input and output shared): 12 L h^2 + 13 L h + V h +
 * positions h + 2 h. Llama (Dubey et al. 2024): L (2 h^2 (1 + k/a) + 3 h f + 2 h) + 2 V h + h. */
double memory_parameters(const struct model *m);

enum recompute {
	RECOMPUTE_NONE,      /* all activations are kept */
	RECOMPUTE_SELECTIVE, /* the attention's scores are made again in the backward pass */
	RECOMPUTE_FLASH, /* FlashAttention (Dao et al. 2022): the same; two float32 a row and head are kept */
	RECOMPUTE_FULL,  /* only the input of each layer is kept */
	RECOMPUTES
};
extern const char *const memory_recompute[RECOMPUTES]; /* "none" ... */

struct memory_use {
	double weights;   /* 2 bytes a parameter: bfloat16 */
	double gradients; /* 2 */
	double optimizer; /* 12: float32 copy and Adam's two moments; with the two above the 16 bytes of ZeRO
	                     (Rajbhandari et al. 2020, section 3.1) */
	double activations; /* of all layers: Korthikanti et al. 2022, equations 1, 2 and 6 */
	double logits;      /* float32, and their gradient: 8 B T V */
	double context;     /* CUDA's own and cuBLAS's workspaces: MEMORY_CONTEXT */
	double total;
};
/* Assumed, not taken from a source: what nvidia-smi shows for a process that only made a context and one
 * product. */
#define MEMORY_CONTEXT (1.0 * (1u << 30))
/* shards: ranks among which weights, gradients and optimizer are divided (ZeRO stage 3, FSDP); 1: each has
 * all. */
void memory_use(const struct model *m, uint64_t B, uint64_t T, enum recompute r, uint64_t shards,
                struct memory_use *out);

/* The largest B whose total is at most `bytes`; 0: not one. */
uint64_t memory_batch(const struct model *m, uint64_t T, enum recompute r, uint64_t shards, double bytes);

/* Floating-point operations of a token, forward and backward: 6 N + 12 L h T (PaLM, Chowdhery et al. 2022,
 * appendix B), N being the parameters that are multiplied with: all but embeddings of positions and tables
 * that are only looked up. What is recomputed is not counted, as MFU does not. */
double memory_operations(const struct model *m, uint64_t T);

#endif
