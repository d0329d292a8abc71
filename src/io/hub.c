#define _GNU_SOURCE
#include "io/hub.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/card.h"
#include "io/http.h"
#include "io/hubpage.h"
#include "io/pattern.h"
#include "io/url.h"

#define SCHEME "hf://datasets/"
#define PAGE_MAX (64u << 20)
#define CARD_FILE_MAX (16u << 20)
#define PAGES 100000 /* of one tree */
#define ID_PART 96   /* bytes of NS and of NAME, which the Hub bounds, too */
#define REVISION_MAX 512

struct hub {
	struct draft *draft;
	const struct listing_options *options;
	const struct hubuser *user;
	struct error *err;
	const char *source;
	char *id, *revision, *path; /* NS/NAME; "main"; "" */
	char commit[HUB_COMMIT];
	struct buffer text; /* made anew for each URL */
};

bool hub_is(const char *source)
{
	return strncmp(source, "hf://", 5) == 0;
}

/* ---- the source as it is written ---- */

static int wrong(struct hub *h, const char *what)
{
	return fail(h->err, EINVAL, "%s: %s, hf://datasets/NAMESPACE/NAME[@REVISION][/PATH] is expected",
	            h->source, what);
}

static bool is_id(const char *s, size_t n)
{
	static const char extra[] = "._-";
	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    memchr(extra, c, 3) == NULL)
			return false;
	}
	return n > 0 && n <= ID_PART && s[0] != '.';
}

/* How many bytes a revision has: it ends at '/', but for refs/convert/NAME and refs/pr/NUMBER. */
static size_t revision_length(const char *s)
{
	size_t n = strncmp(s, "refs/convert/", 13) == 0 ? 13 : strncmp(s, "refs/pr/", 8) == 0 ? 8 : 0;
	return n + strcspn(s + n, "/");
}

static int parse(struct hub *h)
{
	const char *at = h->source + sizeof SCHEME - 1;
	if (strncmp(h->source, SCHEME, sizeof SCHEME - 1) != 0)
		return wrong(h, "only data sets can be read");
	size_t ns = strcspn(at, "/"), name = at[ns] == '/' ? strcspn(at + ns + 1, "/@") : 0;
	if (!is_id(at, ns) || !is_id(at + ns + 1, name))
		return wrong(h, "has no namespace and name");
	h->id = strndup(at, ns + 1 + name);
	at += ns + 1 + name;
	size_t n = at[0] == '@' ? revision_length(at + 1) : 0;
	if (at[0] == '@' && (n == 0 || n > REVISION_MAX))
		return wrong(h, "has no revision behind '@'");
	h->revision = n > 0 ? strndup(at + 1, n) : strdup("main");
	at += at[0] == '@' ? n + 1 : 0;
	while (*at == '/')
		at++;
	n = strlen(at);
	while (n > 0 && at[n - 1] == '/')
		n--;
	h->path = strndup(at, n);
	if (h->id == NULL || h->revision == NULL || h->path == NULL)
		return fail(h->err, ENOMEM, "out of memory");
	url_decode(h->revision, h->revision, strlen(h->revision) + 1);
	if (n > HUB_PATH)
		return wrong(h, "has a path that is too long");
	return 0;
}

/* ---- asking ---- */

/* Makes "{endpoint}{before}{id}{between}" + `part` as one component + "/path". NULL: out of memory. */
static const char *url(struct hub *h, const char *before, const char *between, const char *part,
                       const char *path, const char *query)
{
	struct buffer *b = &h->text;
	b->n = 0;
	int r = buffer_printf(b, "%s%s%s%s", h->user->endpoint, before, h->id, between);
	if (r == 0)
		r = url_add_encoded(b, part, "", h->err);
	if (r == 0 && path[0] != '\0')
		r = buffer_add(b, "/", 1, 0, h->err);
	if (r == 0)
		r = url_add_encoded(b, path, "/", h->err);
	if (r == 0)
		r = buffer_add(b, query, strlen(query) + 1, 0, h->err);
	if (r != 0)
		fail(h->err, ENOMEM, "out of memory for a URL");
	return r == 0 ? (const char *)b->at : NULL;
}

/* Says of an error what only this place knows. */
static int explain(struct hub *h, int r)
{
	struct error cause = *h->err;
	if (r == -EACCES)
		fail(h->err, EACCES, "%s: %s: %s", h->source, cause.text,
		     h->user->has_token ? "the token that was sent does not give access"
		                        : "no token was sent, HF_TOKEN or a login gives one");
	else
		fail_in(h->err, "%s", h->source);
	h->err->again = cause.again;
	h->err->wait_ms = cause.wait_ms;
	return r;
}

static int ask(struct hub *h, const char *where, size_t limit, struct http_page *page)
{
	if (where == NULL)
		return -ENOMEM;
	return http_page(h->options->http, where, limit, h->options->patience_s, page, h->err);
}

static bool recall(struct hub *h, const char *what, const char *revision, const char *path,
                   struct buffer *out)
{
	const struct listing_memory *m = h->options->memory;
	struct buffer key = { 0 };
	bool found = m != NULL &&
	             buffer_printf(&key, "hub %s 1 %s %s@%s/%s", what, h->user->endpoint, h->id, revision,
	                           path) == 0 &&
	             m->get(m->arg, (const char *)key.at, out);
	buffer_free(&key);
	return found;
}

static void remember(struct hub *h, const char *what, const char *revision, const char *path,
                     const void *bytes, size_t n)
{
	const struct listing_memory *m = h->options->memory;
	struct buffer key = { 0 };
	if (m != NULL &&
	    buffer_printf(&key, "hub %s 1 %s %s@%s/%s", what, h->user->endpoint, h->id, revision, path) == 0)
		m->put(m->arg, (const char *)key.at, bytes, n);
	buffer_free(&key);
}

/* The commit of the revision: the one of the first listing. */
static int find_commit(struct hub *h)
{
	struct buffer kept = { 0 };
	struct http_page page = { 0 };
	int r = 0;
	if (hubpage_is_commit(h->revision)) {
		strcpy(h->commit, h->revision);
		return 0;
	}
	if (!h->options->repin && recall(h, "commit", h->revision, "", &kept) && kept.n < HUB_COMMIT) {
		memcpy(h->commit, kept.at, kept.n);
		h->commit[kept.n] = '\0';
	}
	buffer_free(&kept);
	if (hubpage_is_commit(h->commit))
		return 0;
	r = ask(h, url(h, "/api/datasets/", "/revision/", h->revision, "", "?expand=sha"), PAGE_MAX, &page);
	if (r == -ENOENT)
		r = fail(h->err, ENOENT, "there is no data set %s, or it has no revision %s", h->id,
		         h->revision);
	if (r == 0)
		r = hubpage_commit(span_of(page.body, page.n), h->commit, h->err);
	http_page_free(&page);
	if (r == 0)
		remember(h, "commit", h->revision, "", h->commit, strlen(h->commit));
	return r == 0 ? 0 : explain(h, r);
}

/* The card; empty when there is none. */
static int find_card(struct hub *h, struct buffer *card)
{
	struct http_page page = { 0 };
	if (recall(h, "card", h->commit, "", card))
		return 0;
	int r = ask(h, url(h, "/datasets/", "/resolve/", h->commit, "README.md", ""), CARD_FILE_MAX, &page);
	if (r == -ENOENT)
		r = 0;
	else if (r == 0)
		r = buffer_add(card, page.body, page.n, 0, h->err);
	http_page_free(&page);
	if (r == 0)
		remember(h, "card", h->commit, "", card->at, card->n);
	return r == 0 ? 0 : explain(h, r);
}

/* ---- trees ---- */

/* A tree as it is remembered: lines of size, oid and path. */
static int write_line(void *arg, const char *path, uint64_t size, const char *oid, struct error *err)
{
	(void)err;
	return buffer_printf(arg, "%" PRIu64 " %s %s\n", size, oid, path);
}

static int ask_tree(struct hub *h, const char *path, bool recursive, struct buffer *lines)
{
	struct http_page page = { 0 };
	const char *first =
	        url(h, "/api/datasets/", "/tree/", h->commit, path, recursive ? "?recursive=true" : "");
	char *next = first == NULL ? NULL : strdup(first);
	int r = next == NULL ? fail(h->err, ENOMEM, "out of memory for a URL") : 0;
	for (size_t n = 0; r == 0 && next != NULL; n++) {
		char *further = NULL;
		r = n == PAGES ? fail(h->err, ENOTSUP, "a tree of more than %d pages", PAGES)
		               : ask(h, next, PAGE_MAX, &page);
		if (r == 0)
			r = hubpage_tree(span_of(page.body, page.n), write_line, lines, h->err);
		if (r == 0 && page.next != NULL)
			r = url_join(next, page.next, &further, h->err);
		http_page_free(&page);
		free(next);
		next = further;
	}
	free(next);
	return r == 0 ? 0 : explain(h, r);
}

/* What is done with the files of a tree: all below a folder, or those that a pattern matches. */
struct filter {
	const char *pattern; /* NULL: all */
	const char *below;   /* "" or a folder */
	bool strict;         /* hidden names and what describes a data set are passed over */
};

/* What `datasets` never takes for data, unless the pattern names just it. */
static bool never_data(const char *path, const char *pattern)
{
	static const char *const names[] = {
		"README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json",
	};
	const char *slash = strrchr(path, '/'), *last = strrchr(pattern, '/');
	const char *name = slash == NULL ? path : slash + 1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return strcmp(name, last == NULL ? pattern : last + 1) != 0;
	return false;
}

static bool wanted(const struct filter *f, const char *path)
{
	size_t n = strlen(f->below);
	if (n > 0 && (strncmp(path, f->below, n) != 0 || path[n] != '/'))
		return false;
	if (f->strict && kind_hidden(n > 0 ? path + n + 1 : path))
		return false;
	return f->pattern == NULL || (pattern_matches(f->pattern, path) && !never_data(path, f->pattern));
}

static int add_file(struct hub *h, const char *path, uint64_t size, const char *oid, struct kind kind)
{
	char etag[HUB_COMMIT + 2];
	struct buffer given = { 0 };
	const char *where = url(h, "/datasets/", "/resolve/", h->commit, path, "");
	int r = where == NULL ? -ENOMEM : buffer_printf(&given, SCHEME "%s/%s", h->id, path);
	if (r != 0)
		return fail(h->err, ENOMEM, "out of memory for a list of files");
	snprintf(etag, sizeof etag, "\"%.*s\"", HUB_COMMIT - 1, oid);
	const struct remote_file f = { .where = where,
		                       .given = (const char *)given.at,
		                       .kind = kind,
		                       .size = size,
		                       .etag = etag,
		                       .linked = true };
	r = draft_add_remote(h->draft, &f, h->err);
	buffer_free(&given);
	return r;
}

/* Adds those of a remembered tree's files that are wanted. */
static int add_lines(struct hub *h, struct buffer *lines, const struct filter *f)
{
	int r = 0;
	if (lines->n == 0)
		return 0;
	for (char *at = (char *)lines->at, *end = at + lines->n; r == 0 && at < end;) {
		char oid[HUB_COMMIT];
		uint64_t size;
		int path = 0;
		struct kind kind;
		char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
		if (stop == NULL)
			break;
		*stop = '\0';
		at = stop + 1;
		if (sscanf(line, "%" SCNu64 " %64s%n", &size, oid, &path) == 2 && line[path] == ' ' &&
		    wanted(f, line + path + 1) && kind_of_name(span_text(line + path + 1), &kind))
			r = add_file(h, line + path + 1, size, oid, kind);
		*stop = '\n';
	}
	return r;
}

static int find_tree(struct hub *h, const char *path, struct buffer *lines)
{
	if (recall(h, "tree", h->commit, path, lines))
		return 0;
	int r = ask_tree(h, path, true, lines);
	if (r == 0)
		remember(h, "tree", h->commit, path, lines->at, lines->n);
	return r;
}

static int add_tree(struct hub *h, const char *path, const struct filter *f)
{
	struct buffer lines = { 0 };
	int r = find_tree(h, path, &lines);
	if (r == 0)
		r = add_lines(h, &lines, f);
	buffer_free(&lines);
	return r;
}

/* ---- what is asked for ---- */

/* The file `path`, from its folder's list. */
static int add_named(struct hub *h)
{
	struct buffer lines = { 0 };
	const char *slash = strrchr(h->path, '/');
	char *folder = strndup(h->path, slash == NULL ? 0 : (size_t)(slash - h->path));
	size_t before = h->draft->n;
	int r = folder == NULL ? fail(h->err, ENOMEM, "out of memory") : 0;
	bool kept = r == 0 && recall(h, "file", h->commit, h->path, &lines);
	if (r == 0 && !kept)
		r = ask_tree(h, folder, false, &lines);
	const struct filter exactly = { .pattern = h->path, .below = "" };
	if (r == 0)
		r = add_lines(h, &lines, &exactly);
	if (r == 0 && !kept && h->draft->n > before)
		remember(h, "file", h->commit, h->path, lines.at, lines.n);
	buffer_free(&lines);
	free(folder);
	return r;
}

/* The files of a configuration; the trees below its patterns' folders, each once. */
static int add_patterns(struct hub *h, const struct card_files *c)
{
	struct buffer lines = { 0 };
	char *folder = NULL;
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const struct filter f = { .pattern = c->patterns[i], .below = "" };
		size_t before = h->draft->n, n = pattern_folder(c->patterns[i]);
		if (!pattern_is(c->patterns[i])) {
			const char *slash = strrchr(c->patterns[i], '/');
			n = slash == NULL ? 0 : (size_t)(slash - c->patterns[i]);
		}
		if (folder == NULL || strlen(folder) != n || strncmp(folder, c->patterns[i], n) != 0) {
			free(folder);
			folder = strndup(c->patterns[i], n);
			lines.n = 0;
			r = folder == NULL ? fail(h->err, ENOMEM, "out of memory")
			                   : find_tree(h, folder, &lines);
		}
		if (r == 0)
			r = add_lines(h, &lines, &f);
		if (r == 0 && h->draft->n == before)
			r = fail(h->err, ENOENT,
			         "%s: nothing of a kind that can be read (%s) matches the card's %s of"
			         " name=%s",
			         h->source, KIND_ENDINGS, c->patterns[i], c->name);
	}
	buffer_free(&lines);
	free(folder);
	return r;
}

static size_t length_in(const struct hub *h, const char *folder)
{
	return strlen(SCHEME) + strlen(h->id) + 1 + (folder[0] != '\0' ? strlen(folder) + 1 : 0);
}

static int add_folder(struct hub *h, const char *folder, struct hub_found *out)
{
	const struct filter all = { .below = folder, .strict = true };
	out->folder = true;
	out->split = length_in(h, folder);
	return add_tree(h, folder, &all);
}

/* All of the data set: what its card says, else its folders. */
static int add_whole(struct hub *h, struct hub_found *out)
{
	const char *name = h->options->name, *split = h->options->split != NULL ? h->options->split : "train";
	struct buffer card = { 0 };
	struct card_files c = { 0 };
	out->base = length_in(h, "");
	int r = find_card(h, &card);
	if (r == 0) {
		r = card_choose(span_of(card.at, card.n), name, split, &c, h->err);
		if (r != 0)
			fail_in(h->err, "%s", h->source);
	}
	if (r == 0 && !c.configured && name != NULL && strcmp(name, "default") != 0)
		r = fail(h->err, ENOENT, "%s: has no configurations in its card, so there is no name=%s",
		         h->source, name);
	if (r == 0 && c.n > 0) {
		out->folder = out->chosen = true;
		r = add_patterns(h, &c);
	} else if (r == 0) {
		r = add_folder(h, c.configured ? c.data_dir : "", out);
	}
	if (r == 0 && c.configured)
		log_info("%s: name=%s, split=%s by its card", h->source, c.name, split);
	card_free(&c);
	buffer_free(&card);
	return r;
}

static int add_path(struct hub *h, struct hub_found *out)
{
	struct kind kind;
	size_t before = h->draft->n;
	if (h->options->name != NULL)
		return fail(h->err, EINVAL,
		            "%s: name=%s chooses from the whole data set, so no path can stand here",
		            h->source, h->options->name);
	out->base = length_in(h, h->path);
	if (pattern_is(h->path)) {
		char *folder = strndup(h->path, pattern_folder(h->path));
		const struct filter f = { .pattern = h->path, .below = "" };
		if (folder == NULL)
			return fail(h->err, ENOMEM, "out of memory");
		out->base = out->split = length_in(h, folder);
		out->folder = true;
		int r = add_tree(h, folder, &f);
		free(folder);
		return r;
	}
	if (kind_of_name(span_text(h->path), &kind)) {
		int r = add_named(h);
		if (r != 0 || h->draft->n > before)
			return r;
	}
	return add_folder(h, h->path, out);
}

int hub_list(struct draft *d, const char *source, const struct listing_options *options,
             const struct hubuser *user, struct hub_found *out, struct error *err)
{
	struct error local;
	struct hub h = { .draft = d,
		         .options = options,
		         .user = user,
		         .source = source,
		         .err = err != NULL ? err : &local };
	struct buffer pinned = { 0 };
	size_t before = d->n;
	*out = (struct hub_found){ 0 };
	int r = parse(&h);
	if (r == 0)
		r = find_commit(&h);
	if (r == 0)
		r = h.path[0] == '\0' ? add_whole(&h, out) : add_path(&h, out);
	if (r == 0 && d->n == before)
		r = fail(h.err, ENOENT, "%s: has no file of data, which would end in %s", source,
		         KIND_ENDINGS);
	if (r == 0 && buffer_printf(&pinned, SCHEME "%s@%s%s%s", h.id, h.commit, h.path[0] != '\0' ? "/" : "",
	                            h.path) != 0)
		r = fail(h.err, ENOMEM, "out of memory");
	if (r == 0)
		out->pinned = (char *)pinned.at;
	else
		buffer_free(&pinned);
	buffer_free(&h.text);
	free(h.id);
	free(h.revision);
	free(h.path);
	return r;
}
