#include "io/kind.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Magic numbers of llm.c's shards: uint16 (GPT-2) and uint32 (Llama 3) tokens. */
#define LLMC_U16 20240520
#define LLMC_U32 20240801

static bool ends_with(struct span name, const char *ending)
{
	size_t n = strlen(ending);
	return name.n > n && strncasecmp((const char *)name.at + name.n - n, ending, n) == 0;
}

bool kind_of_name(struct span name, struct kind *out)
{
	static const struct {
		const char *ending;
		struct kind kind;
	} table[] = {
		{ ".parquet", { KIND_PARQUET, CLASS_PARQUET } },
		{ ".jsonl", { KIND_JSONL, CLASS_JSONL } },
		{ ".ndjson", { KIND_JSONL, CLASS_JSONL } },
		{ ".jsonl.gz", { KIND_JSONL_GZ, CLASS_JSONL } },
		{ ".ndjson.gz", { KIND_JSONL_GZ, CLASS_JSONL } },
		{ ".json.gz", { KIND_JSONL_GZ, CLASS_JSONL } },
		{ ".jsonl.zst", { KIND_JSONL_ZST, CLASS_JSONL } },
		{ ".ndjson.zst", { KIND_JSONL_ZST, CLASS_JSONL } },
		{ ".json.zst", { KIND_JSONL_ZST, CLASS_JSONL } },
		{ ".bin", { KIND_TOKENS_BIN, CLASS_TOKENS } },
		{ ".npy", { KIND_TOKENS_NPY, CLASS_TOKENS } },
		{ ".json", { KIND_JSONL, CLASS_JSON } },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (ends_with(name, table[i].ending)) {
			*out = table[i].kind;
			return true;
		}
	return false;
}

static bool begins_with(struct span head, const char *magic, size_t n)
{
	return head.n >= n && memcmp(head.at, magic, n) == 0;
}

bool kind_of_head(struct span head, struct kind *out)
{
	uint32_t number = head.n >= 4 ? load_u32(head.at) : 0;
	/* An encrypted footer is Parquet too: its reader says that it is not supported. */
	if (begins_with(head, "PAR1", 4) || begins_with(head, "PARE", 4))
		*out = (struct kind){ KIND_PARQUET, CLASS_PARQUET };
	else if (begins_with(head, "\x93NUMPY", 6))
		*out = (struct kind){ KIND_TOKENS_NPY, CLASS_TOKENS };
	else if (number == LLMC_U16 || number == LLMC_U32)
		*out = (struct kind){ KIND_TOKENS_BIN, CLASS_TOKENS };
	else if (begins_with(head, "\x1f\x8b", 2))
		*out = (struct kind){ KIND_JSONL_GZ, CLASS_JSONL };
	else if (begins_with(head, "\x28\xb5\x2f\xfd", 4))
		*out = (struct kind){ KIND_JSONL_ZST, CLASS_JSONL };
	else if (begins_with(head, "{", 1) || begins_with(head, "\xef\xbb\xbf{", 4))
		*out = (struct kind){ KIND_JSONL, CLASS_JSONL };
	else
		return false;
	return true;
}

bool kind_ignored(const char *name)
{
	static const char *const never[] = {
		"dataset.json", "dataset_info.json", "dataset_infos.json", "config.json",
	};
	if (name[0] == '.' || name[0] == '_')
		return true;
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (strcmp(name, never[i]) == 0)
			return true;
	return fnmatch("tokenizer*.json", name, 0) == 0;
}

bool kind_hidden(const char *path)
{
	const char *slash = strrchr(path, '/');
	for (const char *at = path; at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '.' || at[0] == '_')
			return true;
	}
	return kind_ignored(slash == NULL ? path : slash + 1);
}

bool kind_is_list(struct span name)
{
	return ends_with(name, ".txt");
}

static const char *const kind_names[] = {
	[KIND_TOKENS_BIN] = "bin", [KIND_TOKENS_NPY] = "npy",    [KIND_PARQUET] = "parquet",
	[KIND_JSONL] = "jsonl",    [KIND_JSONL_GZ] = "jsonl.gz", [KIND_JSONL_ZST] = "jsonl.zst",
};

const char *kind_name(enum file_kind kind)
{
	return kind_names[kind];
}

bool kind_named(const char *name, enum file_kind *out)
{
	for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
		if (strcmp(name, kind_names[i]) == 0) {
			*out = (enum file_kind)i;
			return true;
		}
	return false;
}
