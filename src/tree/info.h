/* info: the texts of README.txt and dataset.json.
 *
 * Any thread may call all but info_new and info_free at any time; only info_learn waits.
 */
#ifndef FW_TREE_INFO_H
#define FW_TREE_INFO_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "dataset/dataset.h"

struct info;

/* place: the absolute path of the mountpoint, for README.txt; copied. d must outlive it. 0 or -ENOMEM. */
int info_new(struct dataset *d, const char *place, struct info **out, struct error *err);
void info_free(struct info *i);

/* Makes sure of the fingerprint, which dataset.json has: may wait for disk and network. 0 or -errno of
 * dataset_fingerprint. Threads that call it together are served one after another. */
int info_learn(struct info *i, struct error *err);

/* Bytes of README.txt. It never changes. */
size_t info_readme_size(struct info *i);

/* Makes dataset.json anew when what is known has changed; *changed is the time of the last change. 0, -EAGAIN
 * (info_learn first) or -ENOMEM. */
int info_dataset_size(struct info *i, size_t *size, struct timespec *changed);

/* Copy at most n bytes from off on and return how many (0 at the end); of dataset.json what info_dataset_size
 * made last. -EAGAIN (it never did). */
int64_t info_read_readme(struct info *i, uint64_t off, void *buf, size_t n);
int64_t info_read_dataset(struct info *i, uint64_t off, void *buf, size_t n);

#endif
