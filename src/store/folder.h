/* folder: the directories of the cache, and the names in them.
 *
 * DIR/v1/pieces/ab/<62 hex>.tok, DIR/v1/counts/ab/<62 hex>.cnt, DIR/v1/locks/<64 hex>.lock and locks/evict.
 * A file in work is DIR/v1/{pieces,counts}/tmp.<16 hex>. Directories take the mode of DIR, files what of 0644
 * that allows, so that a folder made for a group stays the group's. Any thread, but for open and close.
 */
#ifndef FW_STORE_FOLDER_H
#define FW_STORE_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/hash.h"

enum folder_kind { FOLDER_PIECES, FOLDER_COUNTS, FOLDER_LOCKS, FOLDER_KINDS };

struct folder {
	char *path;	      /* DIR, absolute */
	int at[FOLDER_KINDS]; /* open directories */
	mode_t mode;	      /* of directories */
};

#define FOLDER_NAME 72 /* bytes of a name in a kind's directory, NUL included */
#define FOLDER_PATH PATH_MAX

/* Makes path and the folders above it: 0777 & ~umask, as root 0755. 0, or -errno with a text. */
int folder_make(const char *path, struct error *err);

/* Opens or makes the folders, and removes what dead writers left more than a day ago. 0, or -EACCES, -EROFS,
 * -ENOSPC, -ENAMETOOLONG, -ENOMEM, -EIO. */
int folder_open(const char *dir, struct folder *out, struct error *err);
void folder_close(struct folder *f);

/* "ab/<62 hex>.tok", "ab/<62 hex>.cnt", "<64 hex>.lock". */
void folder_name(enum folder_kind kind, const uint8_t key[HASH_SIZE], char out[FOLDER_NAME]);
/* The whole path of a name. */
void folder_full(const struct folder *f, enum folder_kind kind, const char *name, char out[FOLDER_PATH]);
/* The key of a name in directory `ab` (two hex digits) of FOLDER_PIECES; false: it is not one of ours. */
bool folder_key(const char *ab, const char *name, uint8_t out[HASH_SIZE]);

/* Makes a file in work; its name is left in `name`. Returns the descriptor, or -errno with a text. */
int folder_temp(const struct folder *f, enum folder_kind kind, char name[FOLDER_NAME], struct error *err);
/* Gives a file in work its name. first: what stands there already stays, and the file in work goes. 0, or
 * -errno with a text: then it still is under its old name. */
int folder_publish(const struct folder *f, enum folder_kind kind, const char *temp,
		   const uint8_t key[HASH_SIZE], bool first, struct error *err);

#endif
