/* hubuser: the Hub as this user's environment has it: address, token, offline. Call before other threads
 * change the environment; each struct belongs to one thread.
 *
 * HF_ENDPOINT (a mirror), HF_HUB_OFFLINE, and the token of HF_TOKEN, the file HF_TOKEN_PATH, $HF_HOME/token,
 * $XDG_CACHE_HOME/huggingface/token or ~/.cache/huggingface/token: as the Python library huggingface_hub.
 */
#ifndef FW_IO_HUBUSER_H
#define FW_IO_HUBUSER_H

#include <stdbool.h>

#include "base/error.h"

struct http;

struct hubuser {
	char *endpoint; /* "https://huggingface.co", without '/' at the end */
	bool offline;   /* nothing may be asked */
	bool has_token; /* it has been given to the client, and is kept nowhere else */
};

/* 0; -EINVAL (HF_ENDPOINT is no http(s) URL, the token has odd bytes), -ENOMEM. */
int hubuser_find(struct hubuser *u, struct http *http, struct error *err);
void hubuser_free(struct hubuser *u);

#endif
