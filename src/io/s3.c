#define _GNU_SOURCE
#include "io/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/http.h"
#include "io/pattern.h"
#include "io/s3page.h"
#include "io/url.h"

#define SCHEME "s3://"
#define PAGE_MAX (16u << 20)
#define PAGES 100000
#define STANDARD "us-east-1" /* where AWS says in which region a bucket is */

struct s3 {
	struct draft *draft;
	const struct listing_options *options;
	const struct s3user *user;
	struct error *err;
	const char *source;
	char *bucket, *key;
	char *base; /* URL of the bucket, without '/' at the end */
	char region[33];
};

bool s3_is(const char *source)
{
	return strncmp(source, SCHEME, sizeof SCHEME - 1) == 0;
}

/* Names as AWS allows them, and what other stores allow besides: no more than letters, digits, '-', '.', '_'.
 */
static bool is_bucket(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= 'A' && s[i] <= 'Z') &&
		    !(s[i] >= '0' && s[i] <= '9') && memchr("-._", s[i], 3) == NULL)
			return false;
	return n >= 1 && n <= 255 && s[0] != '.' && s[0] != '-';
}

static int parse(struct s3 *s)
{
	const char *at = s->source + sizeof SCHEME - 1;
	size_t n = strcspn(at, "/");
	if (!is_bucket(at, n))
		return fail(s->err, EINVAL,
		            "s3:// with a name that no bucket has, s3://BUCKET[/PREFIX] is expected");
	s->bucket = strndup(at, n);
	at += n;
	at += strspn(at, "/");
	n = strlen(at);
	while (n > 0 && at[n - 1] == '/')
		n--;
	if (n > S3_KEY_MAX)
		return fail(s->err, EINVAL, "%.100s...: a key of more than %d bytes", s->source, S3_KEY_MAX);
	s->key = strndup(at, n);
	if (s->bucket == NULL || s->key == NULL)
		return fail(s->err, ENOMEM, "out of memory");
	return s->options->http != NULL ? 0 : fail(s->err, ENOTSUP, "%s: a store cannot be read here", s->source);
}

static const char *endpoint_of(const struct s3 *s)
{
	return s->options->endpoint != NULL ? s->options->endpoint : s->user->endpoint;
}

/* The bucket's URL, and what is shown there. */
static int make_base(struct s3 *s)
{
	struct buffer b = { 0 };
	const char *endpoint = endpoint_of(s);
	const char *domain = strncmp(s->region, "cn-", 3) == 0 ? "amazonaws.com.cn" : "amazonaws.com";
	int r;
	if (endpoint != NULL &&
	    (!url_is_http(endpoint) || strlen(endpoint) > URL_MAX / 4 || strpbrk(endpoint, "@?# ") != NULL))
		return fail(s->err, EINVAL, "endpoint=%s: is no plain http or https URL", endpoint);
	if (endpoint != NULL) {
		size_t n = strlen(endpoint);
		while (n > 0 && endpoint[n - 1] == '/')
			n--;
		r = buffer_printf(&b, "%.*s/%s", (int)n, endpoint, s->bucket);
	} else if (s->bucket[strspn(s->bucket, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0') {
		r = buffer_printf(&b, "https://s3.%s.%s/%s", s->region, domain, s->bucket);
	} else {
		r = buffer_printf(&b, "https://%s.s3.%s.%s", s->bucket, s->region, domain);
	}
	if (r != 0)
		return fail(s->err, ENOMEM, "out of memory");
	free(s->base);
	s->base = (char *)b.at;
	if (s->user->key == NULL)
		return 0;
	const struct http_access access = {
		.prefix = s->base,
		.key = s->user->key,
		.secret = s->user->secret,
		.session = s->user->session,
		.region = s->region,
	};
	return http_access(s->options->http, &access, s->err);
}

static int explain(struct s3 *s, int r)
{
	struct error cause = *s->err;
	if (r == -EACCES)
		fail(s->err, EACCES, "%s: %s: %s", s->source, cause.text,
		     s->user->key != NULL ? "the key that it is signed with does not give access"
		                          : "it was not signed, AWS_ACCESS_KEY_ID or a profile gives a key");
	else
		fail_in(s->err, "%s", s->source);
	s->err->again = cause.again;
	s->err->wait_ms = cause.wait_ms;
	return r;
}

/* The list's URL: its parameters in order, as the signature has them. */
static int list_url(struct s3 *s, struct buffer *b, const char *prefix, const char *token)
{
	int r = 0;
	b->n = 0;
	r |= buffer_printf(b, "%s/?", s->base);
	if (token[0] != '\0') {
		r |= buffer_printf(b, "continuation-token=");
		r |= url_add_encoded(b, token, "", NULL);
		r |= buffer_printf(b, "&");
	}
	r |= buffer_printf(b, "encoding-type=url&list-type=2&prefix=");
	r |= url_add_encoded(b, prefix, "", NULL);
	r |= buffer_add(b, "", 1, 0, NULL);
	return r == 0 ? 0 : fail(s->err, ENOMEM, "out of memory for a URL");
}

/* A list as it is remembered: the region, then lines of size, ETag ("-": none) and key. */
static int write_line(void *arg, const char *key, uint64_t size, const char *etag, struct error *err)
{
	(void)err;
	return buffer_printf(arg, "%" PRIu64 " %s %s\n", size, etag[0] != '\0' ? etag : "-", key);
}

static int ask_page(struct s3 *s, const char *prefix, const char *token, struct http_page *page)
{
	struct buffer url = { 0 };
	int r = list_url(s, &url, prefix, token);
	if (r == 0)
		r = http_page(s->options->http, (const char *)url.at, PAGE_MAX, s->options->patience_s, page,
		              s->err);
	buffer_free(&url);
	return r;
}

static int ask_list(struct s3 *s, const char *prefix, struct buffer *lines)
{
	char token[S3_TOKEN_MAX + 1] = "";
	int r = 0;
	size_t n = 0;
	do {
		struct http_page page = { 0 };
		r = n++ == PAGES ? fail(s->err, ENOTSUP, "a list of more than %d pages", PAGES)
		                 : ask_page(s, prefix, token, &page);
		/* AWS says where the bucket is when another region is asked. */
		if (r != 0 && endpoint_of(s) == NULL && page.region[0] != '\0' &&
		    strcmp(page.region, s->region) != 0) {
			strcpy(s->region, page.region);
			http_page_free(&page);
			r = make_base(s);
			if (r == 0)
				r = ask_page(s, prefix, token, &page);
		}
		if (r == 0)
			r = s3page_read(span_of(page.body, page.n), write_line, lines, token, s->err);
		http_page_free(&page);
	} while (r == 0 && token[0] != '\0');
	return r == 0 ? 0 : explain(s, r);
}

/* The list of the keys that begin with prefix: as it was first made. */
static int find_list(struct s3 *s, const char *prefix, struct buffer *lines)
{
	const struct listing_memory *m = s->options->memory;
	const char *endpoint = endpoint_of(s);
	struct buffer key = { 0 };
	int r = buffer_printf(&key, "s3 1 %s %s/%s", endpoint != NULL ? endpoint : "", s->bucket, prefix);
	if (r != 0)
		return fail(s->err, ENOMEM, "out of memory");
	if (m != NULL && !s->options->repin && m->get(m->arg, (const char *)key.at, lines)) {
		size_t n = lines->n == 0 ? 0 : strcspn((const char *)lines->at, "\n");
		if (n > 0 && n < sizeof s->region && n < lines->n) {
			memcpy(s->region, lines->at, n);
			s->region[n] = '\0';
			log_info("%s: the list of objects is the one of the first mount; repin makes it anew",
			         s->source);
			r = make_base(s);
			goto out;
		}
		lines->n = 0;
	}
	struct buffer found = { 0 };
	r = ask_list(s, prefix, &found);
	if (r == 0)
		r = buffer_printf(lines, "%s\n", s->region);
	if (r == 0)
		r = buffer_add(lines, found.at, found.n, 0, s->err);
	if (r == 0 && m != NULL && found.n > 0)
		m->put(m->arg, (const char *)key.at, lines->at, lines->n);
	buffer_free(&found);
out:
	buffer_free(&key);
	return r;
}

static int add_object(struct s3 *s, const char *key, uint64_t size, const char *etag, struct kind kind)
{
	struct buffer where = { 0 }, given = { 0 };
	int r = buffer_printf(&where, "%s/", s->base);
	r |= url_add_encoded(&where, key, "/", NULL);
	r |= buffer_add(&where, "", 1, 0, NULL);
	r |= buffer_printf(&given, SCHEME "%s/%s", s->bucket, key);
	const struct remote_file f = {
		.where = (const char *)where.at,
		.given = (const char *)given.at,
		.kind = kind,
		.size = size,
		.etag = strcmp(etag, "-") == 0 ? NULL : etag,
	};
	r = r != 0 ? fail(s->err, ENOMEM, "out of memory for a list of objects")
	           : draft_add_remote(s->draft, &f, s->err);
	buffer_free(&where);
	buffer_free(&given);
	return r;
}

/* Adds the objects of a list that are meant: the one that is the key, those that match it, or those below. */
static int add_lines(struct s3 *s, struct buffer *lines, bool exactly, size_t folder)
{
	char *at = (char *)lines->at, *end = at + lines->n;
	int r = 0;
	at += strcspn(at, "\n") + 1;
	while (r == 0 && at < end) {
		char etag[256], *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
		uint64_t size;
		int n = 0;
		struct kind kind;
		if (stop == NULL)
			break;
		*stop = '\0';
		at = stop + 1;
		if (sscanf(line, "%" SCNu64 " %255s%n", &size, etag, &n) != 2 || line[n] != ' ')
			continue;
		const char *key = line + n + 1;
		bool wanted = exactly              ? strcmp(key, s->key) == 0
		              : pattern_is(s->key) ? pattern_matches(s->key, key)
		                                   : strlen(key) > folder && !kind_hidden(key + folder);
		if (wanted && kind_of_name(span_text(key), &kind))
			r = add_object(s, key, size, etag, kind);
	}
	return r;
}

static int add_below(struct s3 *s, const char *prefix, bool exactly, size_t folder)
{
	struct buffer lines = { 0 };
	int r = find_list(s, prefix, &lines);
	if (r == 0)
		r = add_lines(s, &lines, exactly, folder);
	buffer_free(&lines);
	return r;
}

static int add(struct s3 *s, struct s3_found *out)
{
	struct kind kind;
	size_t before = s->draft->n, n = strlen(s->key);
	bool pattern = pattern_is(s->key);
	int r = 0;
	char *prefix = malloc(n + 2);
	if (prefix == NULL)
		return fail(s->err, ENOMEM, "out of memory");
	strcpy(prefix, s->key);
	if (!pattern && n > 0 && kind_of_name(span_text(s->key), &kind))
		r = add_below(s, prefix, true, 0);
	if (r == 0 && s->draft->n == before) {
		size_t folder = pattern ? pattern_folder(s->key) : n;
		if (pattern)
			prefix[strcspn(prefix, "*?[")] = '\0';
		else if (n > 0)
			strcat(prefix, "/");
		folder += folder > 0;
		out->folder = true;
		out->base = sizeof SCHEME - 1 + strlen(s->bucket) + 1 + folder;
		r = add_below(s, prefix, false, folder);
	}
	free(prefix);
	return r;
}

int s3_list(struct draft *d, const char *source, const struct listing_options *options,
            const struct s3user *user, struct s3_found *out, struct error *err)
{
	struct error local;
	struct s3 s = { .draft = d,
		        .options = options,
		        .user = user,
		        .source = source,
		        .err = err != NULL ? err : &local };
	size_t before = d->n;
	const char *region = user->region != NULL ? user->region : STANDARD;
	*out = (struct s3_found){ 0 };
	int r = parse(&s);
	if (r == 0 && (strlen(region) >= sizeof s.region ||
	               strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(region)))
		r = fail(s.err, EINVAL, "%s: a region of another form than us-east-1", source);
	if (r == 0) {
		strcpy(s.region, region);
		r = make_base(&s);
	}
	if (r == 0)
		r = add(&s, out);
	if (r == 0 && d->n == before)
		r = fail(s.err, ENOENT, "%s: no object of data, whose key would end in %s, is there", source,
		         KIND_ENDINGS);
	free(s.bucket);
	free(s.key);
	free(s.base);
	return r;
}
