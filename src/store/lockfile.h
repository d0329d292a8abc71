/* lockfile: a lock that is a flock'ed file, held by an open file description and by nothing else.
 *
 * It ends with its holder however that dies, works between threads, processes, users and containers that see
 * the same folder, and does not depend on process ids.
 */
#ifndef FW_STORE_LOCKFILE_H
#define FW_STORE_LOCKFILE_H

/* Takes dir/name, polling for at most wait_ms. Returns the descriptor that holds it, or -EAGAIN (somebody
 * else has it), or another -errno: the file cannot be made or the filesystem knows no locks (-EOPNOTSUPP). */
int lockfile_take(int dir, const char *name, unsigned wait_ms);

/* Removes the file while it is held, then lets it go. fd < 0: does nothing. */
void lockfile_drop(int dir, const char *name, int fd);

#endif
