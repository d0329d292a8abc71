/* s3user: keys, region and endpoint of S3 stores, as this user's environment has them. Each struct belongs to
 * one thread.
 *
 * AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else the profile AWS_PROFILE (default)
 * of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config); else none.
 * AWS_REGION, AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; else those of the profile.
 * Reference: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".
 */
#ifndef FW_IO_S3USER_H
#define FW_IO_S3USER_H

#include "base/error.h"
#include "base/span.h"

struct s3user {
	char *key, *secret, *session; /* NULL: none, anonymous */
	char *region;                 /* NULL: not said */
	char *endpoint;               /* NULL: AWS itself */
};

/* 0; -EINVAL (a profile that is asked for is not there), -ENOMEM. */
int s3user_find(struct s3user *u, struct error *err);
void s3user_free(struct s3user *u); /* wipes the keys */

/* Takes what section [name] of a file's text says of what *u does not know yet. 1: there is such a section,
 * 0: there is none, -ENOMEM. */
int s3user_read(struct s3user *u, struct span text, const char *name);

#endif
