#define _GNU_SOURCE
#include "io/s3user.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/secret.h"

#define FILE_MAX (1u << 20)

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span s)
{
	while (s.n > 0 && is_blank(s.at[0]))
		span_skip(&s, 1);
	while (s.n > 0 && is_blank(s.at[s.n - 1]))
		s.n--;
	return s;
}

static struct span take_line(struct span *s)
{
	const uint8_t *end = memchr(s->at, '\n', s->n);
	struct span line = { 0 };
	span_take(s, end == NULL ? s->n : (size_t)(end - s->at), &line);
	span_skip(s, 1);
	return line;
}

/* "name" of "[name]" and "[profile name]". */
static struct span section_of(struct span line)
{
	const uint8_t *end = memchr(line.at, ']', line.n);
	struct span name = span_of(line.at + 1, end == NULL ? 0 : (size_t)(end - line.at) - 1);
	name = trim(name);
	if (name.n > 8 && memcmp(name.at, "profile", 7) == 0 && is_blank(name.at[7])) {
		span_skip(&name, 8);
		name = trim(name);
	}
	return name;
}

static int take(char **to, struct span value)
{
	if (*to != NULL || value.n == 0 || memchr(value.at, '\0', value.n) != NULL)
		return 0;
	*to = strndup((const char *)value.at, value.n);
	return *to == NULL ? -ENOMEM : 0;
}

int s3user_read(struct s3user *u, struct span text, const char *name)
{
	bool inside = false, found = false, had_key = u->key != NULL;
	int r = 0;
	while (r == 0 && text.n > 0) {
		struct span raw = take_line(&text), line = trim(raw), key;
		const uint8_t *is;
		if (line.n == 0 || line.at[0] == '#' || line.at[0] == ';')
			continue;
		if (line.at[0] == '[') {
			inside = span_is(section_of(line), name);
			found |= inside;
			continue;
		}
		/* Lines that are set in belong to a setting of a setting ("s3 ="), which is none of ours. */
		if (!inside || is_blank(raw.at[0]) || (is = memchr(line.at, '=', line.n)) == NULL)
			continue;
		span_take(&line, (size_t)(is - line.at), &key);
		span_skip(&line, 1);
		key = trim(key);
		line = trim(line);
		if (span_is(key, "aws_access_key_id") && !had_key)
			r = take(&u->key, line);
		else if (span_is(key, "aws_secret_access_key") && !had_key)
			r = take(&u->secret, line);
		else if (span_is(key, "aws_session_token") && !had_key)
			r = take(&u->session, line);
		else if (span_is(key, "region"))
			r = take(&u->region, line);
		else if (span_is(key, "endpoint_url"))
			r = take(&u->endpoint, line);
	}
	return r != 0 ? r : found;
}

/* The text of a file, "" when it cannot be read. */
static int read_file(struct buffer *text, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
	ssize_t got = fd < 0 ? 0 : 1;
	while (r == 0 && got > 0) {
		r = buffer_reserve(text, 4096, FILE_MAX, err);
		got = r == 0 ? read(fd, text->at + text->n, 4096) : 0;
		text->n += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

/* One of the two files: of a variable, else below the home folder. */
static int use_file(struct s3user *u, const char *name, const char *usual, const char *profile,
                    struct error *err)
{
	struct buffer path = { 0 }, text = { 0 };
	const char *given = variable(name), *home = variable("HOME");
	const struct passwd *user = home == NULL ? getpwuid(geteuid()) : NULL;
	if (home == NULL)
		home = user != NULL ? user->pw_dir : "";
	int r = given != NULL ? buffer_printf(&path, "%s", given)
	                      : buffer_printf(&path, "%s/.aws/%s", home, usual);
	if (r == 0)
		r = read_file(&text, (const char *)path.at, err);
	if (r == 0 && text.n > 0)
		r = s3user_read(u, span_of(text.at, text.n), profile);
	if (text.at != NULL)
		explicit_bzero(text.at, text.n);
	buffer_free(&text);
	buffer_free(&path);
	return r;
}

static int copy(char **to, const char *value)
{
	if (value == NULL || *to != NULL)
		return 0;
	*to = strdup(value);
	return *to == NULL ? -ENOMEM : 0;
}

int s3user_find(struct s3user *u, struct error *err)
{
	const char *profile = variable("AWS_PROFILE"), *endpoint = variable("AWS_ENDPOINT_URL_S3");
	const char *region = variable("AWS_REGION");
	int r = 0, a = 0, b = 0;
	*u = (struct s3user){ 0 };
	if (variable("AWS_ACCESS_KEY_ID") != NULL && secret_get("AWS_SECRET_ACCESS_KEY") != NULL) {
		r |= copy(&u->key, variable("AWS_ACCESS_KEY_ID"));
		r |= copy(&u->secret, secret_get("AWS_SECRET_ACCESS_KEY"));
		r |= copy(&u->session, secret_get("AWS_SESSION_TOKEN"));
	}
	r |= copy(&u->region, region != NULL ? region : variable("AWS_DEFAULT_REGION"));
	r |= copy(&u->endpoint, endpoint != NULL ? endpoint : variable("AWS_ENDPOINT_URL"));
	if (r == 0)
		a = use_file(u, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
		             profile != NULL ? profile : "default", err);
	if (r == 0 && a >= 0)
		b = use_file(u, "AWS_CONFIG_FILE", "config", profile != NULL ? profile : "default", err);
	if (r != 0 || a < 0 || b < 0)
		r = fail(err, ENOMEM, "out of memory for the keys of a store");
	else if (profile != NULL && a == 0 && b == 0)
		r = fail(err, EINVAL, "AWS_PROFILE=%s: there is no such profile", profile);
	if (r == 0 && (u->key == NULL) != (u->secret == NULL))
		r = fail(err, EINVAL, "an access key without its secret, or a secret without its key");
	if (r != 0)
		s3user_free(u);
	return r;
}

static void wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void s3user_free(struct s3user *u)
{
	wipe(u->key);
	wipe(u->secret);
	wipe(u->session);
	free(u->region);
	free(u->endpoint);
	*u = (struct s3user){ 0 };
}
