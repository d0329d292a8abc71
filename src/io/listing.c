#define _GNU_SOURCE
#include "io/listing.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "io/draft.h"
#include "io/file.h"
#include "io/http.h"
#include "io/hub.h"
#include "io/list.h"
#include "io/s3.h"
#include "io/split.h"
#include "io/url.h"
#include "io/webfolder.h"

#define LIMIT 4000000
#define LIST_MAX (256u << 20) /* bytes of a local list */
#define LIST_REMOTE_MAX (64u << 20)

/* What is known while sources are taken one after another. */
struct maker {
	struct draft draft;
	const struct listing_options *options;
	bool single; /* one source that is a folder or a glob: names are relative to it */
	bool twice;  /* a file may be there twice */
	size_t base; /* how many bytes of a path as given are that source */
	struct hubuser user;
	struct s3user store;
	bool has_store;
	char **pinned; /* as many as sources were taken */
};

static const char *text_at(const struct draft *d, size_t offset)
{
	return (const char *)d->text.at + offset;
}

/* A path without "//", "/./", "./" in front and '/' at the end; "" for the working directory. In place. */
static void tidy(char *path)
{
	char *to = path;
	const char *from = path;
	if (*from == '/')
		*to++ = *from++;
	while (*from != '\0') {
		size_t n = strcspn(from, "/");
		if (n > 0 && !(n == 1 && from[0] == '.')) {
			if (to > path && to[-1] != '/')
				*to++ = '/';
			memmove(to, from, n);
			to += n;
		}
		from += n + (from[n] == '/');
	}
	*to = '\0';
}

/* The kind by what the file begins with. */
static int look_into(struct source *s, struct kind *kind, struct error *err)
{
	uint8_t head[KIND_HEAD] = { 0 };
	size_t n = (size_t)min_u64(s->size, KIND_HEAD);
	int r = source_read(s, 0, head, n, err);
	if (r == 0 && !kind_of_head(span_of(head, n), kind))
		r = fail(err, ENOTSUP, "%s: neither its name (%s) nor its first bytes tell what it is",
			 s->name, KIND_ENDINGS);
	return r;
}

static int kind_of_file(const char *path, struct kind *kind, struct error *err)
{
	struct source *s;
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	if (strcmp(name, "dataset.json") == 0)
		return fail(err, ENOTSUP, "%s: describes the files beside it, give its folder as source",
			    path);
	if (kind_of_name(span_text(name), kind))
		return 0;
	int r = file_open(path, &s, err);
	if (r != 0)
		return r;
	r = look_into(s, kind, err);
	source_close(s);
	return r;
}

static int add_url(struct maker *m, const char *url, struct error *err)
{
	struct http *http = m->options->http;
	struct http_pin pin = { 0 };
	struct source *s;
	struct kind kind;
	int r = 0;
	if (!kind_of_name(url_file(url), &kind)) {
		r = http_open(http, url, false, &pin, &s, err);
		if (r != 0)
			return r;
		r = look_into(s, &kind, err);
		source_close(s);
	}
	return r == 0 ? draft_add_url(&m->draft, url, kind, err) : r;
}

static int check_url(const struct maker *m, const char *url, struct error *err)
{
	int scheme = (int)strcspn(url, ":");
	if (!url_is_http(url))
		return fail(err, EINVAL, "%.*s: no source of this scheme is known here, http and https are",
			    scheme, url);
	if (m->options->http == NULL)
		return fail(err, ENOTSUP, "%.*s: a URL cannot be read here", scheme, url);
	if (strlen(url) > URL_MAX)
		return fail(err, EINVAL, "a URL of %zu bytes, at most %d are expected", strlen(url), URL_MAX);
	return 0;
}

/* Leaves out what is not of the kind that a folder or a glob is of. */
static int choose_kind(struct draft *d, size_t from, const char *what, struct error *err)
{
	enum kind_class class = CLASSES;
	size_t to = from;
	for (size_t i = from; i < d->n; i++)
		if (d->files[i].kind.class < class)
			class = d->files[i].kind.class;
	for (size_t i = from; i < d->n; i++)
		if (d->files[i].kind.class == class)
			d->files[to++] = d->files[i];
	d->n = to;
	return to > from ? 0 : fail(err, ENOENT, "%s: has no file of data, which would end in %s", what,
				    KIND_ENDINGS);
}

/* Leaves out what is of another split, once the names speak of splits. */
static int choose_split(struct maker *m, size_t from, size_t base, const char *what, struct error *err)
{
	struct draft *d = &m->draft;
	const char *word = m->options->split != NULL ? m->options->split : "train";
	unsigned wanted = split_named(word), there = 0;
	unsigned (*of)(const char *path) = split_of_folders;
	char names[SPLIT_TEXT];
	size_t to = from;
	for (int pass = 0; pass < 2 && there == 0; pass++) {
		of = pass == 0 ? split_of_folders : split_of_file;
		for (size_t i = from; i < d->n; i++)
			there |= of(text_at(d, d->files[i].given + base));
	}
	if (there == 0 && wanted != SPLIT_TRAIN)
		return fail(err, ENOENT,
			    "%s: no name in it speaks of a split, so all of it is split=train, not split=%s",
			    what, word);
	if (there == 0)
		return 0;
	for (size_t i = from; i < d->n; i++)
		if ((of(text_at(d, d->files[i].given + base)) & wanted) != 0)
			d->files[to++] = d->files[i];
	split_text(there, names);
	if (to == from)
		return fail(err, ENOENT, "%s: has no file of split=%s; its files are of: %s", what, word,
			    names);
	if (to < d->n)
		log_info("%s: %zu files are not of split=%s and left out (there are: %s)", what, d->n - to,
			 word, names);
	d->n = to;
	return 0;
}

static int choose(struct maker *m, size_t from, size_t base, const char *what, struct error *err)
{
	m->base = base;
	int r = choose_kind(&m->draft, from, what, err);
	return r == 0 ? choose_split(m, from, base, what, err) : r;
}

static int add_folder(struct maker *m, const char *dir, struct error *err)
{
	size_t from = m->draft.n;
	int r = walk(&m->draft, dir, err);
	if (r != 0)
		return r;
	return choose(m, from, strlen(dir) + strlen(draft_slash(dir)), dir[0] == '\0' ? "." : dir, err);
}

/* One path that a glob matches: what it is not looked for by name, is passed over. */
static int add_match(struct draft *d, char *path, struct error *err)
{
	struct kind kind;
	struct stat st;
	tidy(path);
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	if (stat(path, &st) != 0)
		return path_error(path, errno, err);
	if (S_ISDIR(st.st_mode))
		return walk(d, path, err);
	if (!S_ISREG(st.st_mode) || kind_ignored(name) || !kind_of_name(span_text(name), &kind))
		return 0;
	return draft_add(d, "", path, kind, &st, err);
}

static int add_glob(struct maker *m, const char *pattern, struct error *err)
{
	size_t from = m->draft.n, base = strcspn(pattern, "*?[");
	glob_t found = { 0 };
	int r = 0, code = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found);
	if (code == GLOB_NOMATCH)
		r = fail(err, ENOENT, "%s: no path matches", pattern);
	else if (code == GLOB_ABORTED)
		r = path_error(pattern, errno, err);
	else if (code != 0)
		r = fail(err, ENOMEM, "%s: out of memory", pattern);
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		r = add_match(&m->draft, found.gl_pathv[i], err);
	globfree(&found);
	if (r != 0)
		return r;
	while (base > 0 && pattern[base - 1] != '/')
		base--;
	return choose(m, from, base, pattern, err);
}

static int add_list(struct maker *m, const char *path, struct error *err);

/* One path: a file (of a list too, unless it stands in one), a folder or a glob. */
static int add_path(struct maker *m, const char *given, bool in_list, struct error *err)
{
	struct kind kind;
	struct stat st;
	int r;
	char *path = strdup(given);
	if (path == NULL)
		return fail(err, ENOMEM, "%s: out of memory", given);
	tidy(path);
	if (given[0] == '\0') {
		r = fail(err, ENOENT, "an empty path as a source");
	} else if (stat(path[0] == '\0' ? "." : path, &st) != 0) {
		int code = errno;
		bool pattern = code == ENOENT && path[strcspn(path, "*?[")] != '\0';
		r = pattern ? add_glob(m, path, err) : path_error(given, code, err);
	} else if (S_ISDIR(st.st_mode)) {
		r = add_folder(m, path, err);
	} else if (!S_ISREG(st.st_mode)) {
		r = fail(err, ENOTSUP, "%s: is neither a file nor a folder", given);
	} else if (kind_is_list(span_text(path))) {
		m->single = false;
		r = in_list ? fail(err, ENOTSUP, "%s: a list cannot stand in a list", given) :
			      add_list(m, path, err);
	} else {
		m->single = false;
		r = kind_of_file(path, &kind, err);
		if (r == 0)
			r = draft_add(&m->draft, "", path, kind, &st, err);
	}
	free(path);
	return r;
}

static int add_line(struct maker *m, const char *list, const char *line, struct error *err)
{
	struct buffer path = { 0 };
	const char *slash = strrchr(list, '/');
	int dir = slash == NULL || line[0] == '/' ? 0 : (int)(slash - list) + 1;
	int r;
	if (url_is(line)) {
		r = check_url(m, line, err);
		return r == 0 ? add_url(m, line, err) : r;
	}
	if (buffer_printf(&path, "%.*s%s", dir, list, line) != 0)
		return fail(err, ENOMEM, "%s: out of memory", list);
	r = add_path(m, (const char *)path.at, true, err);
	buffer_free(&path);
	return r;
}

static int add_remote_line(struct maker *m, const char *list, const char *line, struct error *err)
{
	char *url;
	int r = url_join(list, line, &url, err);
	if (r != 0)
		return r;
	r = add_url(m, url, err);
	free(url);
	return r;
}

/* Every line of a list of n bytes, a NUL behind them. `list` is its path or URL, `name` that for messages. */
static int add_lines(struct maker *m, const char *list, const char *name, bool remote, char *text, size_t n,
		     struct error *err)
{
	size_t before = m->draft.n;
	struct list lines;
	const char *line;
	int r = list_begin(&lines, text, n, name, err);
	if (r != 0)
		return r;
	while (r == 0 && (line = list_next(&lines)) != NULL)
		r = remote ? add_remote_line(m, list, line, err) : add_line(m, list, line, err);
	m->single = false;
	if (r != 0) {
		fail_in(err, "%s", name);
		return r;
	}
	return m->draft.n > before ? 0 : fail(err, ENOENT, "%s: no path and no URL is in it", name);
}

static int add_list(struct maker *m, const char *path, struct error *err)
{
	struct source *s = NULL;
	char *text = NULL;
	int r = file_open(path, &s, err);
	if (r != 0)
		return r;
	if (s->size > LIST_MAX)
		r = fail(err, ENOTSUP, "%s: a list of more than %u bytes", path, LIST_MAX);
	else if ((text = malloc((size_t)s->size + 1)) == NULL)
		r = fail(err, ENOMEM, "%s: out of memory", path);
	else
		r = source_read(s, 0, text, (size_t)s->size, err);
	if (r == 0) {
		text[s->size] = '\0';
		r = add_lines(m, path, path, false, text, (size_t)s->size, err);
	}
	free(text);
	source_close(s);
	return r;
}

/* Data sets often call their files data/SPLIT-00000-of-00001.parquet, and then SPLIT is any word: as the
 * first rule of `datasets`. True: there are such files, and only those of the split are left. */
static bool choose_shards(struct maker *m, size_t from, size_t base)
{
	struct draft *d = &m->draft;
	const char *word = m->options->split != NULL ? m->options->split : "train";
	struct span split;
	size_t to = from;
	bool any = false;
	for (size_t i = from; i < d->n; i++)
		any |= split_of_shard(text_at(d, d->files[i].given + base), &split);
	for (size_t i = from; any && i < d->n; i++)
		if (split_of_shard(text_at(d, d->files[i].given + base), &split) && span_is(split, word))
			d->files[to++] = d->files[i];
	if (any)
		d->n = to;
	return any;
}

static int add_hub(struct maker *m, const char *given, char **pinned, struct error *err)
{
	struct draft *d = &m->draft;
	struct hub_found found;
	size_t from = d->n;
	if (m->options->http == NULL)
		return fail(err, ENOTSUP, "%s: the Hub cannot be read here", given);
	int r = m->user.endpoint == NULL ? hubuser_find(&m->user, m->options->http, err) : 0;
	if (r == 0)
		r = hub_list(d, given, m->options, &m->user, &found, err);
	if (r != 0)
		return r;
	*pinned = found.pinned;
	m->base = found.base;
	m->twice = true;
	if (!found.folder) {
		m->single = false;
		return 0;
	}
	r = choose_kind(d, from, given, err);
	if (r != 0 || found.chosen)
		return r;
	if (!choose_shards(m, from, found.split))
		return choose_split(m, from, found.split, given, err);
	return d->n > from ? 0 : fail(err, ENOENT, "%s: has no file of split=%s", given, m->options->split);
}

static int add_s3(struct maker *m, const char *given, struct error *err)
{
	struct s3_found found;
	size_t from = m->draft.n;
	int r = m->has_store ? 0 : s3user_find(&m->store, err);
	m->has_store |= r == 0;
	if (r == 0)
		r = s3_list(&m->draft, given, m->options, &m->store, &found, err);
	if (r == 0 && !found.folder)
		m->single = false;
	return r == 0 && found.folder ? choose(m, from, found.base, given, err) : r;
}

static int add_webfolder(struct maker *m, const char *given, struct error *err)
{
	size_t from = m->draft.n, base = 0;
	char *plain = url_plain(given);
	int r = plain == NULL ? fail(err, ENOMEM, "out of memory for a URL") :
				webfolder_list(&m->draft, given, m->options, &base, err);
	m->twice = true;
	if (r == 0)
		r = choose(m, from, base, plain, err);
	free(plain);
	return r;
}

static int add_source(struct maker *m, const char *given, char **pinned, struct error *err)
{
	struct http_page page;
	char *name;
	if (hub_is(given))
		return add_hub(m, given, pinned, err);
	if (m->options->name != NULL)
		return fail(err, EINVAL, "%s: name=%s is for data sets of the Hub, hf://datasets/...", given,
			    m->options->name);
	if (s3_is(given))
		return add_s3(m, given, err);
	if (!url_is(given))
		return add_path(m, given, false, err);
	int r = check_url(m, given, err);
	if (r == 0 && webfolder_is(given))
		return add_webfolder(m, given, err);
	m->single = false;
	if (r != 0 || !kind_is_list(url_file(given)))
		return r == 0 ? add_url(m, given, err) : r;
	r = http_page(m->options->http, given, LIST_REMOTE_MAX, m->options->patience_s, &page, err);
	name = url_plain(given);
	if (r == 0)
		r = name == NULL ? fail(err, ENOMEM, "out of memory for a URL") :
				   add_lines(m, given, name, true, page.body, page.n, err);
	free(name);
	http_page_free(&page);
	return r;
}

/* How many bytes the names are shorter than the paths as given. */
static size_t common_prefix(const struct draft *d)
{
	const char *first = text_at(d, d->files[0].given);
	size_t n = strlen(first);
	for (size_t i = 1; i < d->n; i++) {
		const char *other = text_at(d, d->files[i].given);
		size_t same = 0;
		while (same < n && first[same] == other[same])
			same++;
		n = same;
	}
	while (n > 0 && first[n - 1] != '/')
		n--;
	return n;
}

static int by_where(const void *a, const void *b)
{
	const struct listed_file *x = a, *y = b;
	int r = strcmp(x->where, y->where);
	return r != 0 ? r : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct listed_file *x = a, *y = b;
	int r = strcmp(x->name, y->name);
	return r != 0 ? r : strcmp(x->where, y->where);
}

/* The draft as a listing, which takes its text over. */
static int finish(struct maker *m, size_t sources, struct listing *out, struct error *err)
{
	struct draft *d = &m->draft;
	size_t cut = m->single ? m->base : common_prefix(d), n = 0;
	struct listed_file *files = calloc(d->n, sizeof *files);
	if (files == NULL)
		return fail(err, ENOMEM, "out of memory for a list of %zu files", d->n);
	for (size_t i = 0; i < d->n; i++) {
		const struct found *f = &d->files[i];
		files[i] = (struct listed_file){
			.name = text_at(d, f->given + cut),
			.where = text_at(d, f->where),
			.kind = f->kind.file,
			.remote = f->remote,
			.linked = f->linked,
			.size = f->size,
			.etag = f->etag != 0 ? text_at(d, f->etag) : NULL,
			.inode = f->inode,
			.device = f->device,
			.mtime_ns = f->mtime_ns,
		};
	}
	/* Only where more than one thing was named can a file be there twice. */
	if (!m->single || m->twice || sources > 1)
		qsort(files, d->n, sizeof *files, by_where);
	for (size_t i = 0; i < d->n; i++)
		if (i == 0 || strcmp(files[i].where, files[n - 1].where) != 0)
			files[n++] = files[i];
	qsort(files, n, sizeof *files, by_name);
	*out = (struct listing){
		.files = files, .n = n, .arena = (char *)d->text.at, .pinned = m->pinned, .sources = sources
	};
	d->text = (struct buffer){ 0 };
	m->pinned = NULL;
	return 0;
}

/* The working directory, for the paths that are relative to it. */
static int find_here(struct draft *d, struct error *err)
{
	char *cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		return fail(err, errno == ENOMEM ? ENOMEM : EIO, "the working directory: %s",
			    strerror(errno));
	size_t n = strlen(cwd);
	d->here = malloc(n + 2);
	if (d->here != NULL) {
		memcpy(d->here, cwd, n + 1);
		strcpy(d->here + n, draft_slash(cwd));
	}
	free(cwd);
	return d->here != NULL ? 0 : fail(err, ENOMEM, "out of memory for a path");
}

int listing_make(const char *const *sources, size_t n, const struct listing_options *options,
		 struct listing *out, struct error *err)
{
	struct maker m = { .options = options, .single = n == 1 };
	m.draft.limit = options->limit != 0 ? options->limit : LIMIT;
	int r = find_here(&m.draft, err);
	m.pinned = calloc(n + 1, sizeof *m.pinned);
	if (r == 0 && m.pinned == NULL)
		r = fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n && r == 0; i++) {
		r = add_source(&m, sources[i], &m.pinned[i], err);
		if (r == 0 && m.pinned[i] == NULL && (m.pinned[i] = strdup(sources[i])) == NULL)
			r = fail(err, ENOMEM, "out of memory");
	}
	if (r == 0 && m.draft.n == 0)
		r = fail(err, ENOENT, "no source is given");
	if (r == 0)
		r = finish(&m, n, out, err);
	for (size_t i = 0; m.pinned != NULL && i < n; i++)
		free(m.pinned[i]);
	free(m.pinned);
	hubuser_free(&m.user);
	s3user_free(&m.store);
	free(m.draft.files);
	free(m.draft.here);
	buffer_free(&m.draft.text);
	return r;
}

void listing_free(struct listing *l)
{
	for (size_t i = 0; i < l->sources; i++)
		free(l->pinned[i]);
	free(l->pinned);
	free(l->files);
	free(l->arena);
	*l = (struct listing){ 0 };
}
