#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/info.h"

static char *path_of(const char *folder, const char *name)
{
	char *path = malloc(strlen(folder) + strlen(name) + 2);
	if (path != NULL)
		sprintf(path, "%s/%s", folder, name);
	return path;
}

json_t *info_load(const char *folder, const char *name, struct error *err)
{
	char *path = path_of(folder, name);
	json_error_t why = { 0 };
	json_t *j = NULL;
	errno = 0;
	if (path != NULL && (j = json_load_file(path, 0, &why)) == NULL)
		fail(err, errno != 0 ? errno : EBADMSG, "%s: %s", path,
		     errno != 0 ? strerror(errno) : why.text);
	else if (path == NULL)
		fail(err, ENOMEM, "out of memory");
	free(path);
	return j;
}

bool info_is_mount(const char *folder)
{
	static const char *const files[] = { "README.txt", "dataset.json", "stats.json" };
	bool all = true;
	struct stat st;
	for (size_t i = 0; i < 3 && all; i++) {
		char *path = path_of(folder, files[i]);
		all = path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode);
		free(path);
	}
	return all;
}

uint64_t info_number(const json_t *stats, const char *kind, const char *key)
{
	const json_t *j = kind == NULL ? stats : json_object_get(json_object_get(stats, "kinds"), kind);
	return (uint64_t)json_integer_value(json_object_get(j, key));
}

static uint64_t number(const json_t *j, const char *key)
{
	return info_number(j, NULL, key);
}

static const char *text(const json_t *j, const char *key)
{
	const char *t = json_string_value(json_object_get(j, key));
	return t == NULL ? "none" : t;
}

static void add_dataset(struct sheet *s, const json_t *d)
{
	char n[SHEET_NUMBER], m[SHEET_NUMBER];
	size_t i;
	json_t *source;
	json_array_foreach(json_object_get(d, "source"), i, source)
	        sheet_line(s, i == 0 ? "source" : "", "%s", json_string_value(source));
	if (json_is_true(json_object_get(d, "sample")))
		sheet_line(s, "", "this is the bundled sample");
	sheet_line(s, "batches",
	           "%s%s a rank: world_size=%" PRIu64 ", batch_size=%" PRIu64 ", seq_len=%" PRIu64 ", %s",
	           sheet_count_text(number(d, "batches_known"), n),
	           json_is_null(json_object_get(d, "batches")) ? " so far" : "", number(d, "world_size"),
	           number(d, "batch_size"), number(d, "seq_len"), text(d, "dtype"));
	sheet_line(s, "tokens", "%s, %s sequences (%s)", sheet_count_text(number(d, "tokens"), n),
	           sheet_count_text(number(d, "sequences"), m), text(d, "tokenizer"));
	sheet_line(s, "order", "shuffle=%s, stride=%s, seed=%" PRIu64 ", epoch=%" PRIu64 ", start=%" PRIu64,
	           text(d, "shuffle"), text(d, "stride"), number(d, "seed"), number(d, "epoch"),
	           number(d, "start"));
	sheet_line(s, "fingerprint", "%s", text(d, "fingerprint"));
}

static void add_stats(struct sheet *s, const json_t *t)
{
	char a[SHEET_NUMBER], b[SHEET_NUMBER], c[SHEET_NUMBER], d[SHEET_NUMBER];
	uint64_t hits = number(t, "cache_hits"), all = hits + number(t, "cache_misses");
	sheet_line(s, "up", "%" PRIu64 " s", number(t, "uptime_seconds"));
	sheet_line(s, "read", "%s in %s reads", sheet_bytes_text((double)number(t, "bytes_read"), a),
	           sheet_count_text(number(t, "reads"), b));
	if (number(t, "reads") > 0)
		sheet_line(s, "", "which took: half at most %s, 90 %% %s, 99 %% %s, the longest %s",
		           sheet_time_text(number(t, "read_p50_us"), a),
		           sheet_time_text(number(t, "read_p90_us"), b),
		           sheet_time_text(number(t, "read_p99_us"), c),
		           sheet_time_text(number(t, "read_max_us"), d));
	sheet_line(s, "fetched", "%s in %s requests, %" PRIu64 " tried again",
	           sheet_bytes_text((double)number(t, "bytes_fetched"), a),
	           sheet_count_text(number(t, "requests"), b), number(t, "retries"));
	sheet_line(s, "pieces", "%s tokenized, %" PRIu64 " cut, %" PRIu64 " filled",
	           sheet_count_text(number(t, "pieces_tokenized"), a), number(t, "pieces_cut"),
	           number(t, "pieces_filled"));
	if (all > 0)
		sheet_line(s, "cache", "%.0f %% of %s look-ups were hits", 100 * (double)hits / (double)all,
		           sheet_count_text(all, a));
	sheet_line(s, "memory", "%s, %" PRIu64 " pieces queued",
	           sheet_bytes_text((double)number(t, "memory_bytes"), a), number(t, "queue_length"));
	sheet_line(s, "errors", "%" PRIu64, number(t, "errors"));
}

int info_mount(const char *path, struct sheet *s, struct error *err)
{
	json_t *dataset = info_load(path, "dataset.json", err);
	json_t *stats = dataset == NULL ? NULL : info_load(path, "stats.json", err);
	int r = stats == NULL ? -err->code : 0;
	if (r == 0) {
		sheet_text(s, "mount", "mount", path);
		add_dataset(s, dataset);
		add_stats(s, stats);
		sheet_json(s, "dataset", json_incref(dataset));
		sheet_json(s, "stats", json_incref(stats));
	}
	json_decref(dataset);
	json_decref(stats);
	return r;
}
