/* plan: batch size, memory and time of a training run, and the mount that feeds it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "cli/arguments.h"
#include "cli/memory.h"
#include "cli/sheet.h"
#include "cli/subcommands.h"
#include "token/tokenizer.h"

#define GIB 1073741824.0

/* What a mount gives at least, where batches are at hand: 65.6 KB in 209 us, measured on two cores at 2.4
 * GHz. */
#define MOUNT_BYTES 300e6
/* Text that one thread tokenises at least. */
#define TEXT_BYTES 50e6
/* Bytes of English web text in a token of GPT-2. */
#define TEXT_OF_TOKEN 4.5
/* bfloat16, dense: NVIDIA's data sheet of the A100. */
#define A100_FLOPS 312000000000000

struct plan {
	const struct options *options;
	struct model model;
	enum recompute recompute;
	uint64_t gpu_mem, global, tokens, gpus, flops;
	double mfu;
	const char *bench;              /* file of `fineweb bench --json`; NULL: typical numbers */
	double mount_bytes, text_bytes; /* a second: of the mount, of a thread's text */
	uint64_t largest[RECOMPUTES];   /* of gpu_mem */
	uint64_t batch, accumulation;
	bool fits, fsdp;
};

static void add_model(struct sheet *s, const struct plan *p)
{
	const struct model *m = &p->model;
	char n[SHEET_NUMBER], v[SHEET_NUMBER];
	uint64_t parameters = (uint64_t)memory_parameters(m);
	sheet_text(s, "model", NULL, m->name);
	sheet_json(s, "parameters", json_integer((json_int_t)parameters));
	sheet_line(s, "model", "%s: %s parameters, %" PRIu64 " layers, hidden %" PRIu64 ", %" PRIu64 " heads",
	           m->name, sheet_count_text(parameters, n), m->layers, m->hidden, m->heads);
	sheet_line(s, "",
	           "vocabulary %s, batches of %" PRIu64 " x %" PRIu32 " tokens a rank, %" PRIu64 " GPU%s",
	           sheet_count_text(m->vocab, v), p->batch, p->options->seq_len, p->gpus,
	           p->gpus == 1 ? "" : "s");
	if (!m->gated && p->options->seq_len > m->context)
		sheet_line(s, "", "seq_len=%" PRIu32 " is beyond its %" PRIu64 " positions",
		           p->options->seq_len, m->context);
}

static void add_guide(struct sheet *s, const struct plan *p)
{
	const struct model *m = &p->model;
	struct memory_guide g;
	memory_guide(p->batch, p->options->seq_len, m->vocab, m->hidden, m->layers, &g);
	sheet_json(s, "calculate_memory_requirement",
	           json_pack("{s:I,s:f,s:f,s:f,s:f,s:f,s:f}", "parameters", (json_int_t)g.parameters, "model",
	                     g.weights, "activations", g.activations, "gradients", g.gradients, "optimizer",
	                     g.optimizer, "total", g.total, "total_gib", g.total / GIB));
	sheet_plain(s,
	            "\nThe course guide's calculate_memory_requirement(%" PRIu64 ", %" PRIu32 ", %" PRIu64
	            ", %" PRIu64 ", %" PRIu64 ") = %.2f GiB",
	            p->batch, p->options->seq_len, m->vocab, m->hidden, m->layers, g.total / GIB);
	sheet_plain(s, "  (model %.2f, activations %.2f, gradients %.2f, optimizer %.2f)", g.weights / GIB,
	            g.activations / GIB, g.gradients / GIB, g.optimizer / GIB);
}

static void add_memory(struct sheet *s, const struct plan *p)
{
	json_t *list = json_object();
	sheet_plain(s, "\nRealistic, GiB of a rank (bfloat16, Adam):");
	sheet_plain(s, "recompute  weights  grads   Adam  activations  logits  context   total%s",
	            p->gpu_mem > 0 ? "  largest" : "");
	for (int r = 0; r < RECOMPUTES; r++) {
		struct memory_use u;
		memory_use(&p->model, p->batch, p->options->seq_len, (enum recompute)r, p->fsdp ? p->gpus : 1,
		           &u);
		json_t *j = json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "weights", u.weights, "gradients",
		                      u.gradients, "optimizer", u.optimizer, "activations", u.activations,
		                      "logits", u.logits, "context", u.context, "total", u.total, "total_gib",
		                      u.total / GIB);
		char largest[24] = "";
		if (p->gpu_mem > 0) {
			snprintf(largest, sizeof largest, "%9" PRIu64, p->largest[r]);
			s->failed |= json_object_set_new(j, "largest_batch",
			                                 json_integer((json_int_t)p->largest[r])) != 0;
		}
		s->failed |= json_object_set_new(list, memory_recompute[r], j) != 0;
		sheet_plain(s, "%-9s%c%8.2f%7.2f%7.2f%13.2f%8.2f%9.2f%8.2f%s", memory_recompute[r],
		            (int)p->recompute == r ? '*' : ' ', u.weights / GIB, u.gradients / GIB,
		            u.optimizer / GIB, u.activations / GIB, u.logits / GIB, u.context / GIB,
		            u.total / GIB, largest);
	}
	sheet_json(s, "memory", list);
	sheet_plain(
	        s, "%s",
	        "16 bytes a parameter: ZeRO (Rajbhandari et al. 2020, 3.1); activations: Korthikanti et al.\n"
	        "2022, equations 1, 2, 6; flash: Dao et al. 2022; logits: float32 and their gradient, 8 "
	        "BTV;\n"
	        "context: CUDA's own, assumed. The largest batch is the most that fits, without a reserve.");
}

static void add_batch(struct sheet *s, const struct plan *p)
{
	char n[SHEET_NUMBER];
	uint64_t tokens = p->batch * p->accumulation * p->gpus * p->options->seq_len;
	sheet_json(s, "batch_size", json_integer((json_int_t)p->batch));
	sheet_json(s, "gradient_accumulation_steps", json_integer((json_int_t)p->accumulation));
	sheet_json(s, "global_batch_tokens", json_integer((json_int_t)tokens));
	sheet_plain(s, "%s", "");
	if (!p->fits)
		sheet_line(
		        s, "batch",
		        "not one sequence fits: more memory, --fsdp, --recompute full or a shorter seq_len");
	else
		sheet_line(s, "batch",
		           "batch_size=%" PRIu64 ", %" PRIu64 " accumulation step%s: %s tokens a step",
		           p->batch, p->accumulation, p->accumulation == 1 ? "" : "s",
		           sheet_count_text(tokens, n));
}

static void add_run(struct sheet *s, const struct plan *p)
{
	const struct options *o = p->options;
	char n[SHEET_NUMBER], b[SHEET_NUMBER], m[SHEET_NUMBER];
	unsigned width = tokenizer_width((uint32_t)p->model.vocab);
	double step = (double)(p->batch * p->accumulation * p->gpus * o->seq_len);
	double steps = (double)((uint64_t)(((double)p->tokens + step - 1) / step));
	double operations = memory_operations(&p->model, o->seq_len);
	double rate = (double)p->gpus * (double)p->flops * p->mfu / operations; /* tokens a second */
	double bytes = steps * step / o->seq_len * (o->seq_len + 1.0) * width,
	       seconds = (double)p->tokens / rate;
	double read = rate * width * (o->seq_len + 1.0) / o->seq_len, text = rate * TEXT_OF_TOKEN;
	const char *more = p->bench != NULL ? "" : " and more";
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = o->threads > 0 ? o->threads : cpus > 8 ? (unsigned)cpus / 4 : 2;
	bool reads = read <= p->mount_bytes, tokenizes = text <= p->text_bytes * threads;
	sheet_json(s, "run",
	           json_pack("{s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:b,s:b,s:b}", "tokens",
	                     (json_int_t)p->tokens, "steps", (json_int_t)steps, "operations_per_token",
	                     operations, "tokens_per_second", rate, "hours", seconds / 3600, "bytes_read",
	                     bytes, "bytes_per_second", read, "text_bytes_per_second", text,
	                     "mount_bytes_per_second", p->mount_bytes, "tokenizer_bytes_per_second",
	                     p->text_bytes * threads, "measured", p->bench != NULL, "read_keeps_up", reads,
	                     "tokenizer_keeps_up", tokenizes));
	sheet_line(s, "steps", "%s for %s tokens", sheet_count_text((uint64_t)steps, n),
	           sheet_count_text(p->tokens, m));
	sheet_line(
	        s, "time",
	        "%.1f hours at %.0f %% of %.0f TFLOP/s: %s tokens/s, %.2f GFLOP a token (PaLM, appendix B)",
	        seconds / 3600, 100 * p->mfu, (double)p->flops / 1e12, sheet_count_text((uint64_t)rate, n),
	        operations / 1e9);
	sheet_line(s, "reads", "%s in all, %s/s", sheet_bytes_text(bytes, b), sheet_bytes_text(read, n));
	sheet_line(s, "the mount", "%s: batches at hand come at %.0f MB/s%s",
	           reads ? "keeps up" : "does not keep up on one node", p->mount_bytes / 1e6, more);
	sheet_line(s, "from text", "%s: %s/s of text, and %u threads tokenise %.0f MB/s%s",
	           tokenizes ? "keeps up" : "does not keep up on one node", sheet_bytes_text(text, n),
	           threads, p->text_bytes * threads / 1e6, more);
	if (p->bench != NULL) {
		sheet_line(s, "", "as measured: %s", p->bench);
	} else {
		sheet_line(s, "", "typical of a CPU at 2.4 GHz, not of this machine: for that run");
		sheet_line(s, "", "fineweb bench --json >FILE, and this with --bench FILE");
	}
}

static void add_mount(struct sheet *s, const struct plan *p)
{
	char line[256];
	snprintf(line, sizeof line, "seq_len=%" PRIu32 ",batch_size=%" PRIu64 ",world_size=%" PRIu64 "%s%s",
	         p->options->seq_len, p->batch, p->gpus,
	         strcmp(p->options->tokenizer, "gpt2") == 0 ? "" : ",tokenizer=",
	         strcmp(p->options->tokenizer, "gpt2") == 0 ? "" : p->options->tokenizer);
	sheet_text(s, "mount_options", NULL, line);
	sheet_plain(s, "\nfineweb SOURCE MOUNTPOINT -o %s", line);
}

/* Batch size and accumulation: as many steps as make the global batch exact, when that is not many more than
 * needed. */
static void divide(struct plan *p)
{
	uint64_t most = p->options->batch_size, T = p->options->seq_len;
	p->batch = most;
	p->accumulation = 1;
	p->fits = true;
	if (p->gpu_mem > 0) {
		most = p->largest[p->recompute];
		p->fits = most > 0;
		for (p->batch = 1; p->batch * 2 <= most;)
			p->batch *= 2;
	}
	if (p->global == 0 || most == 0)
		return;
	uint64_t rank = max_u64(1, ceil_div(ceil_div(p->global, T), p->gpus)), least = ceil_div(rank, most);
	p->accumulation = least;
	for (uint64_t a = least; a <= 2 * least; a++)
		if (rank % a == 0) {
			p->accumulation = a;
			break;
		}
	p->batch = ceil_div(rank, p->accumulation);
}

struct shape {
	uint64_t layers, hidden, heads, vocab;
};

static int choose_model(struct plan *p, const char *name, const struct shape *q, struct error *err)
{
	const struct model *m = memory_model(name);
	if (m == NULL)
		return fail(err, EINVAL, "--model %.100s: expected %s", name, MEMORY_MODELS);
	p->model = *m;
	if (q->layers > 0)
		p->model.layers = q->layers;
	if (q->heads > 0)
		p->model.heads = p->model.kv_heads = q->heads;
	if (q->vocab > 0)
		p->model.vocab = q->vocab;
	if (q->hidden > 0) {
		p->model.inner = (uint64_t)((double)m->inner / (double)m->hidden * (double)q->hidden);
		p->model.hidden = q->hidden;
	}
	if (q->layers > 0 || q->heads > 0 || q->vocab > 0 || q->hidden > 0)
		p->model.name = "as given";
	if (p->model.layers > 10000 || p->model.hidden > 1000000 || p->model.heads > 10000 ||
	    p->model.vocab > UINT32_MAX)
		return fail(err, EINVAL,
		            "expected at most 10000 layers and heads, 1000000 hidden, 2^32 - 1 ids");
	return 0;
}

static int choose_recompute(struct plan *p, const char *name, struct error *err)
{
	for (int r = 0; r < RECOMPUTES; r++)
		if (strcmp(name, memory_recompute[r]) == 0) {
			p->recompute = (enum recompute)r;
			return 0;
		}
	return fail(err, EINVAL, "--recompute %.100s: expected none, selective, flash or full", name);
}

/* A number of a row of `fineweb bench --json`, 0: it was not measured. */
static double speed_of(const json_t *bench, const char *row)
{
	return json_number_value(json_object_get(json_object_get(bench, row), "bytes_per_second"));
}

/* What this machine does, by its own bench: the mount, or where none could be made the batches without one.
 */
static int read_bench(struct plan *p, struct error *err)
{
	json_error_t where;
	p->mount_bytes = MOUNT_BYTES;
	p->text_bytes = TEXT_BYTES;
	if (p->bench == NULL)
		return 0;
	FILE *f = fopen(p->bench, "re");
	if (f == NULL)
		return fail(err, errno, "--bench %s: %s", p->bench, strerror(errno));
	json_t *bench = json_loadf(f, JSON_REJECT_DUPLICATES, &where);
	fclose(f);
	double mount = speed_of(bench, "mount_first"), batches = speed_of(bench, "batches_warm");
	p->mount_bytes = mount > 0 ? mount : batches;
	p->text_bytes = speed_of(bench, "tokenizer_first");
	json_decref(bench);
	if (p->mount_bytes > 0 && p->text_bytes > 0)
		return 0;
	return fail(err, EBADMSG, "--bench %s: expected what `fineweb bench --json` writes", p->bench);
}

static int check(const struct plan *p, struct error *err)
{
	if (p->gpus > 65536)
		return fail(err, EINVAL, "--gpus %" PRIu64 ": expected 1 to 65536", p->gpus);
	if (p->global > UINT64_C(1) << 50 || p->tokens > UINT64_C(1) << 60)
		return fail(err, EINVAL, "expected less than 2^50 tokens a step, 2^60 in all");
	return 0;
}

static int print(struct plan *p, bool json, struct error *err)
{
	struct sheet s = { 0 };
	for (int r = 0; r < RECOMPUTES; r++)
		p->largest[r] = memory_batch(&p->model, p->options->seq_len, (enum recompute)r,
		                             p->fsdp ? p->gpus : 1, (double)p->gpu_mem);
	divide(p);
	add_model(&s, p);
	sheet_json(&s, "seq_len", json_integer(p->options->seq_len));
	sheet_json(&s, "gpus", json_integer((json_int_t)p->gpus));
	add_guide(&s, p);
	add_memory(&s, p);
	add_batch(&s, p);
	if (p->tokens > 0 && p->fits)
		add_run(&s, p);
	if (p->fits)
		add_mount(&s, p);
	return sheet_print(&s, json, err);
}

int plan_run(int argc, char **argv, struct error *err)
{
	const char *model = "gpt2", *recompute = "flash";
	struct plan p = { .flops = A100_FLOPS, .mfu = 0.4, .gpus = UINT64_MAX };
	struct shape shape = { 0 };
	bool json = false;
	const struct flag flags[] = {
		{ "model", 0, "NAME", "gpt2 (124M), gpt2-355M, -774M, -1558M, llama-3-8b", FLAG_TEXT,
		  &model },
		{ "layers", 0, "N", "this and the next three change the model", FLAG_COUNT, &shape.layers },
		{ "hidden", 0, "N", "hidden size", FLAG_COUNT, &shape.hidden },
		{ "heads", 0, "N", "heads of the attention", FLAG_COUNT, &shape.heads },
		{ "vocab", 0, "N", "ids of the vocabulary", FLAG_COUNT, &shape.vocab },
		{ "recompute", 0, "none|selective|flash|full", "of activations; default flash", FLAG_TEXT,
		  &recompute },
		{ "gpu-mem", 0, "SIZE", "of a GPU, as 80G: gives the largest batch", FLAG_SIZE, &p.gpu_mem },
		{ "global-batch-tokens", 0, "N", "tokens of a step of all GPUs, as 0.5M", FLAG_TOKENS,
		  &p.global },
		{ "tokens", 0, "N", "of the run, as 10B: gives steps, hours, bytes", FLAG_TOKENS, &p.tokens },
		{ "gpus", 0, "N", "default world_size", FLAG_COUNT, &p.gpus },
		{ "mfu", 0, "SHARE", "of the GPU's speed that is used; default 0.4", FLAG_RATIO, &p.mfu },
		{ "gpu-flops", 0, "N", "operations a second; default 312T (A100)", FLAG_TOKENS, &p.flops },
		{ "fsdp", 0, NULL, "GPUs share weights, gradients, Adam (ZeRO stage 3)", FLAG_SWITCH,
		  &p.fsdp },
		{ "bench", 0, "FILE", "speeds of this machine, of `fineweb bench --json`", FLAG_TEXT,
		  &p.bench },
		{ "json", 0, NULL, "as one JSON object", FLAG_SWITCH, &json },
	};
	const struct command command = {
		.name = "plan",
		.about = "Tells what memory a batch takes, the largest batch that fits, and what a run\n"
		         "reads, for --batch-size (32) sequences of --seq-len (1024) tokens.\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
	};
	struct arguments a;
	int r = arguments_read(&command, argc, argv, &a, err);
	p.options = &a.options;
	if (r == 0 && p.gpus == UINT64_MAX)
		p.gpus = a.options.world_size;
	if (r == 0)
		r = choose_model(&p, model, &shape, err);
	if (r == 0)
		r = choose_recompute(&p, recompute, err);
	if (r == 0)
		r = check(&p, err);
	if (r == 0)
		r = read_bench(&p, err);
	if (r == 0)
		r = print(&p, json, err);
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
