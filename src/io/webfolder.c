#define _GNU_SOURCE
#include "io/webfolder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/http.h"
#include "io/indexpage.h"
#include "io/url.h"

#define PAGE_MAX (64u << 20)

/* A list is remembered as lines of the files' names below the folder, as they stand in URLs. */
struct web {
	struct draft *draft;
	const struct listing_options *options;
	const char *source;
	struct buffer lines;
	unsigned pages, depth;
	const char *below;     /* "" or "a/b/" */
	struct buffer folders; /* of the page that is read: names with their '/', each with a NUL */
	struct error *err;
};

bool webfolder_is(const char *source)
{
	size_t n = strlen(source);
	return url_is_http(source) && source[n - 1] == '/' && strpbrk(source, "?#") == NULL;
}

static int add_name(void *arg, const char *name, struct error *err)
{
	struct web *w = arg;
	struct kind kind;
	char plain[INDEXPAGE_NAME + 1];
	size_t n = strlen(name);
	url_decode(name, plain, sizeof plain);
	bool folder = name[n - 1] == '/';
	if (folder ? plain[0] == '.' || plain[0] == '_' : kind_hidden(plain))
		return 0;
	if (folder)
		return buffer_add(&w->folders, name, n + 1, PAGE_MAX, err);
	if (!kind_of_name(span_text(plain), &kind))
		return 0;
	return buffer_printf(&w->lines, "%s%s\n", w->below, name) == 0 ? 0
	                                                               : fail(err, ENOMEM, "out of memory");
}

static int read_page(struct web *w)
{
	struct buffer url = { 0 };
	struct http_page page = { 0 };
	int r = w->pages++ == WEBFOLDERS
	                ? fail(w->err, ENOTSUP, "%s: more than %d folders", w->source, WEBFOLDERS)
	                : 0;
	if (r == 0 && buffer_printf(&url, "%s%s", w->source, w->below) != 0)
		r = fail(w->err, ENOMEM, "out of memory for a URL");
	if (r == 0)
		r = http_page(w->options->http, (const char *)url.at, PAGE_MAX, w->options->patience_s, &page,
		              w->err);
	if (r == 0)
		r = indexpage_links(span_of(page.body, page.n), (const char *)url.at, add_name, w, w->err);
	http_page_free(&page);
	buffer_free(&url);
	return r;
}

/* The folder w->below and those in it. */
static int walk_web(struct web *w)
{
	struct buffer mine = { 0 };
	const char *below = w->below;
	if (w->depth == WEBFOLDER_DEPTH)
		return fail(w->err, ENOTSUP, "%s%s: lies more than %d folders deep", w->source, below,
		            WEBFOLDER_DEPTH);
	int r = read_page(w);
	mine = w->folders;
	w->folders = (struct buffer){ 0 };
	w->depth++;
	for (size_t at = 0; r == 0 && at < mine.n; at += strlen((const char *)mine.at + at) + 1) {
		struct buffer path = { 0 };
		r = buffer_printf(&path, "%s%s", below, (const char *)mine.at + at);
		w->below = (const char *)path.at;
		if (r == 0)
			r = walk_web(w);
		buffer_free(&path);
	}
	w->depth--;
	w->below = below;
	buffer_free(&mine);
	return r;
}

static int find_lines(struct web *w)
{
	const struct listing_memory *m = w->options->memory;
	struct buffer key = { 0 };
	if (buffer_printf(&key, "web 1 %s", w->source) != 0)
		return fail(w->err, ENOMEM, "out of memory");
	int r = 0;
	if (m == NULL || w->options->repin || !m->get(m->arg, (const char *)key.at, &w->lines)) {
		w->lines.n = 0;
		r = walk_web(w);
		if (r == 0 && m != NULL && w->lines.n > 0)
			m->put(m->arg, (const char *)key.at, w->lines.at, w->lines.n);
	} else {
		log_info("the list of files of a web folder is the one of the first mount; repin makes it "
		         "anew");
	}
	buffer_free(&key);
	return r;
}

static int add_line(struct web *w, const char *name, const char *plain)
{
	struct buffer where = { 0 }, given = { 0 };
	char *decoded = malloc(strlen(name) + 1);
	struct kind kind;
	int r = decoded == NULL ? -ENOMEM : 0;
	if (r == 0) {
		url_decode(name, decoded, strlen(name) + 1);
		r = buffer_printf(&where, "%s%s", w->source, name) |
		    buffer_printf(&given, "%s%s", plain, decoded);
	}
	if (r != 0)
		r = fail(w->err, ENOMEM, "out of memory for a list of files");
	else if (kind_of_name(span_text(decoded), &kind))
		r = draft_add_remote(w->draft,
		                     &(struct remote_file){ .where = (const char *)where.at,
		                                            .given = (const char *)given.at,
		                                            .kind = kind },
		                     w->err);
	free(decoded);
	buffer_free(&where);
	buffer_free(&given);
	return r;
}

int webfolder_list(struct draft *d, const char *source, const struct listing_options *options, size_t *base,
                   struct error *err)
{
	struct error local;
	struct web w = { .draft = d,
		         .options = options,
		         .source = source,
		         .below = "",
		         .err = err != NULL ? err : &local };
	char *plain = url_plain(source);
	int r = plain == NULL ? fail(err, ENOMEM, "out of memory for a URL") : find_lines(&w);
	for (size_t at = 0; r == 0 && at < w.lines.n;) {
		uint8_t *end = memchr(w.lines.at + at, '\n', w.lines.n - at);
		if (end == NULL)
			break;
		*end = '\0';
		r = add_line(&w, (const char *)w.lines.at + at, plain);
		at = (size_t)(end - w.lines.at) + 1;
	}
	*base = plain != NULL ? strlen(plain) : 0;
	free(plain);
	buffer_free(&w.lines);
	buffer_free(&w.folders);
	return r;
}
