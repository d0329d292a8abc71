#include "io/hubpage.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/log.h"

static json_t *parse(struct span json, struct error *err)
{
	json_error_t e;
	json_t *j = json_loadb((const char *)json.at, json.n, 0, &e);
	if (j == NULL && json_error_code(&e) == json_error_out_of_memory)
		fail(err, ENOMEM, "out of memory for an answer of the Hub");
	else if (j == NULL)
		fail(err, EIO, "the answer is no JSON: line %d: %s", e.line, e.text);
	return j;
}

static bool is_hex(const char *text, size_t n)
{
	return strlen(text) == n && strspn(text, "0123456789abcdefABCDEF") == n;
}

int hubpage_is_commit(const char *text)
{
	return is_hex(text, 40) || is_hex(text, 64);
}

/* A path that can be a name here. */
static bool is_path(const char *path)
{
	size_t n = strlen(path);
	if (n == 0 || n > HUB_PATH || path[n - 1] == '/')
		return false;
	for (const char *at = path; *at != '\0'; at += strcspn(at, "/")) {
		at += at > path;
		size_t part = strcspn(at, "/");
		if (part == 0 || (part <= 2 && at[0] == '.' && (part == 1 || at[1] == '.')))
			return false;
	}
	for (; *path != '\0'; path++)
		if ((unsigned char)*path < 0x20 || *path == 0x7f)
			return false;
	return true;
}

static int take(const json_t *entry, hub_file_fn *fn, void *arg, struct error *err)
{
	const char *type = json_string_value(json_object_get(entry, "type"));
	const char *path = json_string_value(json_object_get(entry, "path"));
	const char *oid = json_string_value(json_object_get(entry, "oid"));
	const json_t *size = json_object_get(entry, "size"), *lfs = json_object_get(entry, "lfs");
	if (type == NULL || path == NULL)
		return fail(err, EIO, "an entry of the tree has no type or no path");
	if (strcmp(type, "file") != 0)
		return 0;
	if (json_is_object(lfs)) {
		oid = json_string_value(json_object_get(lfs, "oid"));
		size = json_object_get(lfs, "size");
	}
	if (oid != NULL && strncmp(oid, "sha256:", 7) == 0)
		oid += 7;
	if (oid == NULL || !hubpage_is_commit(oid) || !json_is_integer(size) || json_integer_value(size) < 0)
		return fail(err, EIO, "%s: has no size or no oid in the tree", path);
	if (!is_path(path)) {
		log_warning("a file of the Hub is passed over, its path has odd bytes");
		return 0;
	}
	return fn(arg, path, (uint64_t)json_integer_value(size), oid, err);
}

int hubpage_tree(struct span json, hub_file_fn *fn, void *arg, struct error *err)
{
	json_t *page = parse(json, err);
	int r = 0;
	if (page == NULL)
		return err != NULL ? -err->code : -EIO;
	if (!json_is_array(page))
		r = fail(err, EIO, "a tree is no list");
	for (size_t i = 0; r == 0 && i < json_array_size(page); i++)
		r = take(json_array_get(page, i), fn, arg, err);
	json_decref(page);
	return r;
}

int hubpage_commit(struct span json, char out[HUB_COMMIT], struct error *err)
{
	json_t *info = parse(json, err);
	int r = 0;
	if (info == NULL)
		return err != NULL ? -err->code : -EIO;
	const char *sha = json_string_value(json_object_get(info, "sha"));
	if (sha == NULL || !hubpage_is_commit(sha))
		r = fail(err, EIO, "a revision has no commit (sha)");
	else
		strcpy(out, sha);
	json_decref(info);
	return r;
}
