#include "tree/readme.h"

#include <errno.h>
#include <inttypes.h>

static int head(struct buffer *out, const struct dataset_facts *f, const char *place)
{
	int r = 0;
	if (f->sample)
		r |= buffer_printf(
		        out,
		        "This is the small sample of FineWeb that comes with the program, because no\n"
		        "source was named. Mount yours: fineweb SOURCE %s\n\n",
		        place);
	r |= buffer_printf(out, "Batches of tokens as plain files\n================================\n\n");
	for (size_t i = 0; i < f->pins && i < 8; i++)
		r |= buffer_printf(out, "  %-11s %s\n", i == 0 ? "source" : "", f->pinned[i]);
	if (f->pins > 8)
		r |= buffer_printf(out, "  %-11s and %zu more\n", "", f->pins - 8);
	return r;
}

static int numbers(struct buffer *out, const struct dataset_facts *f)
{
	const struct options *o = f->options;
	char text[24];
	int r = buffer_printf(out, "  %-11s %s, %s little-endian\n", "tokens", f->tokenizer, f->dtype);
	r |= buffer_printf(
	        out,
	        "  %-11s %" PRIu32 " sequences of %" PRIu32 " tokens and the next one: shape (%" PRIu32
	        ", %" PRIu32 "),\n  %-11s %" PRIu64 " bytes\n",
	        "a batch", o->batch_size, o->seq_len, o->batch_size, o->seq_len + 1, "", f->batch_bytes);
	if (o->world_size == 1)
		r |= buffer_printf(out, "  %-11s 1: rank_0/\n", "ranks");
	else
		r |= buffer_printf(out, "  %-11s %" PRIu32 ": rank_0/ ... rank_%" PRIu32 "/\n", "ranks",
		                   o->world_size, o->world_size - 1);
	r |= buffer_printf(out, "  %-11s %" PRIu32 " in rank_N/, any below 4096 in epoch_E/rank_N/\n",
	                   "epoch", o->epoch);
	r |= buffer_printf(out, "  %-11s shuffle=%s", "order", options_text(o, "shuffle", text, sizeof text));
	r |= buffer_printf(out, ", stride=%s", options_text(o, "stride", text, sizeof text));
	r |= buffer_printf(out, ", tail=%s, seed=%" PRIu64 "\n", options_text(o, "tail", text, sizeof text),
	                   o->seed);
	if (o->val_tokens > 0)
		r |= buffer_printf(out, "  %-11s val/rank_N/, held out and not shuffled\n", "validation");
	return r;
}

static int reading(struct buffer *out, const struct dataset_facts *f, const char *place)
{
	uint32_t rows = f->options->batch_size, columns = f->options->seq_len + 1;
	int r = buffer_printf(out,
	                      "\nNumPy\n\n"
	                      "    a = np.fromfile(\"%s/rank_0/batch_0000.bin\", \"<u%u\").reshape(%" PRIu32
	                      ", %" PRIu32 ")\n"
	                      "    x, y = a[:, :-1], a[:, 1:]\n",
	                      place, f->width, rows, columns);
	r |= buffer_printf(
	        out,
	        "\nPyTorch\n\n"
	        "    a = torch.from_numpy(np.fromfile(path, \"<u%u\").astype(np.int64)).view(%" PRIu32
	        ", %" PRIu32 ")\n"
	        "    x, y = a[:, :-1].to(device), a[:, 1:].to(device)\n",
	        f->width, rows, columns);
	r |= buffer_printf(out,
	                   "\nAll batches of a rank as one array\n\n"
	                   "    np.memmap(\"%s/rank_0/epoch.bin\", \"<u%u\", \"r\").reshape(-1, %" PRIu32
	                   ", %" PRIu32 ")\n",
	                   place, f->width, rows, columns);
	r |= buffer_printf(out,
	                   "\nA batch with NumPy's header, by its name (it is not listed)\n\n"
	                   "    np.load(\"%s/rank_0/batch_0000.npy\", mmap_mode=\"r\")\n",
	                   place);
	r |= buffer_printf(
	        out,
	        "\nA batch as text, and where its rows are from (not listed, made when asked for)\n\n"
	        "    less %s/rank_0/batch_0000.txt\n"
	        "    jq . %s/rank_0/batch_0000.json\n",
	        place, place);
	if (f->options->bos >= 0)
		r |= buffer_printf(
		        out, "\nA document begins at its id %" PRId64 ": masks can be derived from it.\n",
		        f->options->bos);
	return r;
}

static int advice(struct buffer *out, const struct dataset_facts *f)
{
	const struct options *o = f->options;
	int r = buffer_printf(out, "\nTo resume a run, open the next file.");
	if (o->stride == STRIDE_SEQUENCE)
		r |= buffer_printf(
		        out,
		        " To go on with another number of ranks or\n"
		        "another batch size, mount with start=S, the sequences that are consumed:\n"
		        "after k batches of each rank of this mount S = %" PRIu64 " + k * %" PRIu64 ".\n",
		        o->start, (uint64_t)o->world_size * o->batch_size);
	else
		r |= buffer_printf(out,
		                   " Under stride=piece world_size and\nbatch_size must stay the same.\n");
	r |= buffer_printf(
	        out,
	        o->list == LIST_ALL
	                ? "\nA listing waits until all is counted, so that a glob or a copy never sees\n"
	                  "half an epoch. A batch opened by its name does not wait for the others.\n"
	                : "\nA listing ends where counting has come to (list=counted), because counting\n"
	                  "means fetching the text: a glob may see half an epoch. Open batches by their\n"
	                  "names, or mount with list=all.\n");
	r |= buffer_printf(
	        out, "\nThe bytes never change while the parameters are the same; dataset.json has them\n"
	             "all, and the fingerprint that another mount can ask for with fingerprint=.\n"
	             "stats.json has live counters, stats.prom (not listed) the same for Prometheus;\n"
	             "fineweb info MOUNT --watch shows them.\n"
	             "\nA read that fails has an errno that says why, and the log says more. A program\n"
	             "that reads through mmap gets SIGBUS instead: use read() where that matters.\n"
	             "\nKeep updatedb out of the mount: PRUNEFS=\"fuse.fineweb\" in /etc/updatedb.conf.\n");
	return r;
}

int readme_write(struct buffer *out, const struct dataset_facts *facts, const char *place)
{
	int r = head(out, facts, place) | numbers(out, facts) | reading(out, facts, place) |
	        advice(out, facts);
	return r == 0 ? 0 : -ENOMEM;
}
