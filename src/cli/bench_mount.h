/* bench_mount: a mount of this program for the time of a measurement, where this user may mount. One thread.
 */
#ifndef FW_CLI_BENCH_MOUNT_H
#define FW_CLI_BENCH_MOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Mounts the token file `source` at `at`, an empty folder, with the options and the cache folder, and nothing
 * else of the environment; waits until it is ready. 0; or for what it cannot be: -ENODEV (no /dev/fuse),
 * -EACCES, -EIO: the program said why. */
int bench_mount(const char *source, const char *at, const char *cache, const char *options,
                struct error *err);
void bench_unmount(const char *at);

/* Reads batch `number` of rank 0 as a trainer does: open, read, close. */
int bench_read(const char *at, uint64_t number, void *buf, size_t n, struct error *err);

#endif
