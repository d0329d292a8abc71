/* Pages of listings: the Hub's JSON, S3's XML, a web server's index, Link headers, profiles of keys. The first byte
 * chooses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/hubpage.h"
#include "io/indexpage.h"
#include "io/link.h"
#include "io/redirect.h"
#include "io/s3page.h"
#include "io/s3user.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int hub_file(void *arg, const char *path, uint64_t size, const char *oid, struct error *err)
{
	(void)arg;
	(void)size;
	(void)err;
	if (path[0] == '/' || path[0] == '\0' || strstr(path, "//") != NULL || strlen(path) > HUB_PATH ||
	    !hubpage_is_commit(oid))
		abort();
	for (const char *at = path; at != NULL; at = strchr(at + 1, '/'))
		if (strcmp(at, "/..") == 0 || strncmp(at, "/../", 4) == 0)
			abort();
	return 0;
}

static int object(void *arg, const char *key, uint64_t size, const char *etag, struct error *err)
{
	(void)arg;
	(void)err;
	if (key[0] == '\0' || strlen(key) > S3_KEY_MAX || size > INT64_MAX || strlen(etag) > 255)
		abort();
	return 0;
}

static int name(void *arg, const char *text, struct error *err)
{
	const char *slash = strchr(text, '/');
	(void)arg;
	(void)err;
	if (text[0] == '\0' || text[0] == '/' || (slash != NULL && slash[1] != '\0') || strpbrk(text, "?#\n") != NULL)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char commit[HUB_COMMIT], next[S3_TOKEN_MAX + 1];
	struct s3user user = { 0 };
	struct span all = span_of(bytes, n), url;
	if (n == 0)
		return 0;
	span_skip(&all, 1);
	switch (bytes[0] % 6) {
	case 0:
		hubpage_tree(all, hub_file, NULL, NULL);
		break;
	case 1:
		if (hubpage_commit(all, commit, NULL) == 0 && !hubpage_is_commit(commit))
			abort();
		break;
	case 2:
		s3page_read(all, object, NULL, next, NULL);
		break;
	case 3:
		indexpage_links(all, "http://h/d/", name, NULL, NULL);
		break;
	case 4:
		if (link_next(all, &url) && (url.at < all.at || url.at + url.n > all.at + all.n))
			abort();
		break;
	default:
		s3user_read(&user, all, "default");
		s3user_free(&user);
	}
	if (n < 4096) {
		char text[4096];
		memcpy(text, all.at, all.n);
		text[all.n] = '\0';
		if (redirect_lifetime(text, 1767323045) < -1)
			abort();
	}
	return 0;
}
