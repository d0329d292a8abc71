#define _GNU_SOURCE
#include "io/hubuser.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/secret.h"
#include "io/http.h"
#include "io/url.h"

#define TOKEN_MAX 4096

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool is_on(const char *name)
{
	static const char *const words[] = { "1", "on", "yes", "true" };
	const char *value = variable(name);
	for (size_t i = 0; value != NULL && i < sizeof words / sizeof *words; i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

static int path_of_token(struct buffer *path)
{
	const char *given = variable("HF_TOKEN_PATH"), *hub = variable("HF_HOME"),
	           *cache = variable("XDG_CACHE_HOME");
	const char *home = variable("HOME");
	const struct passwd *user = home == NULL ? getpwuid(geteuid()) : NULL;
	if (home == NULL)
		home = user != NULL ? user->pw_dir : "";
	if (given != NULL)
		return buffer_printf(path, "%s", given);
	if (hub != NULL)
		return buffer_printf(path, "%s/token", hub);
	if (cache != NULL)
		return buffer_printf(path, "%s/huggingface/token", cache);
	return buffer_printf(path, "%s/.cache/huggingface/token", home);
}

/* The token without the blanks around it, "" for none. */
static int read_token(char token[TOKEN_MAX + 1], struct error *err)
{
	struct buffer path = { 0 };
	const char *given = secret_get("HF_TOKEN");
	size_t n = 0;
	token[0] = '\0';
	if (given != NULL) {
		n = strlen(given);
		if (n > TOKEN_MAX)
			return fail(err, EINVAL, "HF_TOKEN has more than %d bytes", TOKEN_MAX);
		memcpy(token, given, n);
	} else {
		if (path_of_token(&path) != 0)
			return fail(err, ENOMEM, "out of memory");
		int fd = open((const char *)path.at, O_RDONLY | O_CLOEXEC);
		ssize_t got = fd < 0 ? 0 : read(fd, token, TOKEN_MAX);
		if (fd >= 0)
			close(fd);
		buffer_free(&path);
		n = got > 0 ? (size_t)got : 0;
	}
	while (n > 0 && strchr(" \t\r\n", token[n - 1]) != NULL)
		n--;
	token[n] = '\0';
	size_t blanks = strspn(token, " \t\r\n");
	memmove(token, token + blanks, n - blanks + 1);
	return 0;
}

int hubuser_find(struct hubuser *u, struct http *http, struct error *err)
{
	char token[TOKEN_MAX + 1];
	const char *endpoint = variable("HF_ENDPOINT");
	*u = (struct hubuser){ .offline = is_on("HF_HUB_OFFLINE") };
	u->endpoint = strdup(endpoint != NULL ? endpoint : "https://huggingface.co");
	if (u->endpoint == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (size_t n = strlen(u->endpoint); n > 0 && u->endpoint[n - 1] == '/'; n--)
		u->endpoint[n - 1] = '\0';
	if (!url_is_http(u->endpoint) || strlen(u->endpoint) > URL_MAX / 4 ||
	    strpbrk(u->endpoint, "@?# ") != NULL) {
		int r = fail(err, EINVAL, "HF_ENDPOINT is no plain http or https URL");
		hubuser_free(u);
		return r;
	}
	struct http_access access = { .prefix = u->endpoint };
	int r = read_token(token, err);
	if (r == 0 && u->offline)
		access.refused = "HF_HUB_OFFLINE is set";
	if (r == 0 && token[0] != '\0') {
		access.bearer = token;
		u->has_token = true;
	}
	if (r == 0 && (u->offline || u->has_token))
		r = http_access(http, &access, err);
	explicit_bzero(token, sizeof token);
	if (r != 0)
		hubuser_free(u);
	return r;
}

void hubuser_free(struct hubuser *u)
{
	free(u->endpoint);
	*u = (struct hubuser){ 0 };
}
