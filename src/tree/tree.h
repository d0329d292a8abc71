/* tree: the mounted tree; what each inode number is, has and contains, over one dataset.
 *
 * Any thread may call any function at any time, but for tree_new and tree_free. No function waits but
 * tree_wait_facts and tree_wait_text: where something has to be counted or found first they return -EAGAIN
 * and say in a struct tree_wait for what; after that has come the same call is made again. Every inode is a
 * number that this tree gave out; for any other number the answer is -ENOENT.
 */
#ifndef FW_TREE_TREE_H
#define FW_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "dataset/dataset.h"
#include "tree/name.h"

struct tree;

struct tree_wait {
	bool facts;     /* tree_wait_facts, else dataset_cover of the object */
	bool text;      /* tree_wait_text of the inode */
	bool only_size; /* as in struct dataset_request */
	uint64_t inode;
	struct dataset_object object;
};

struct tree_attributes {
	uint64_t inode;
	bool directory;
	bool constant; /* never changes: may be kept without a time limit */
	uint64_t size; /* bytes */
	struct timespec mtime;
	/* That of stats.json never changes, whatever its text does: tar tells by it whether a file was changed
	 * while it was read. */
	struct timespec ctime;
};

/* place: absolute path of the mountpoint, for README.txt; copied. d must outlive the tree. 0; -EINVAL (more
 * batches than inodes have room for), -ENOMEM. */
int tree_new(struct dataset *d, const char *place, struct tree **out, struct error *err);
void tree_free(struct tree *t);

/* Waits, perhaps for the network, for what dataset.json needs. 0 or -errno. */
int tree_wait_facts(struct tree *t, struct error *err);
/* Waits until the text of a batch (.txt, .json) is made. 0 or -errno of readables_make. */
int tree_wait_text(struct tree *t, uint64_t inode, struct error *err);
/* Whether it can be made without waiting for the network. page: room for `room` bytes, which are overwritten. */
bool tree_text_at_hand(struct tree *t, uint64_t inode, void *page, size_t room);
/* A read of a file was answered with n bytes or failed with -errno, ns after it was asked for; waited: it was
 * not at hand. */
void tree_note_read(struct tree *t, uint64_t inode, int64_t n, int64_t ns, bool waited);
/* A look-up failed with -errno. */
void tree_note_error(struct tree *t, int r);
/* Bytes that nobody has asked for so far were read; and a read that was answered from such. */
void tree_note_ahead(struct tree *t, size_t n);
void tree_note_ahead_read(struct tree *t);

/* The object of a name in a folder. 0; -ENOENT (also: the data ends before it), -ENOTDIR, -EAGAIN, or the
 * errno of a piece that can not be counted. */
int tree_lookup(struct tree *t, uint64_t folder, const char *name, struct tree_attributes *out,
                struct tree_wait *wait);

/* 0, -ENOENT, -EAGAIN or -errno as above. */
int tree_attributes(struct tree *t, uint64_t inode, struct tree_attributes *out, struct tree_wait *wait);

/* What is left of a read that has to wait: n bytes at off of the object, into buf + skip. */
struct tree_rest {
	bool text; /* all of it: tree_wait_text of the inode first */
	struct dataset_object object;
	uint64_t off;
	size_t skip, n;
};
/* Reads at most n bytes at off into buf, short only at the end of the file: bytes read; -EAGAIN (the first
 * rest->skip bytes of buf are there, dataset_read gets the others), -EISDIR, -ENOENT, or -errno of
 * dataset_read. */
int64_t tree_read(struct tree *t, uint64_t inode, uint64_t off, void *buf, size_t n, struct tree_rest *rest);

/* Bytes of a batch. */
size_t tree_batch_bytes(const struct tree *t);
/* What a sequential reader asks for after it has read up to *off of *inode: the same file further on, or the
 * next batch. False when that is not known to be there. */
bool tree_next(struct tree *t, uint64_t *inode, uint64_t *off);

/* Takes an entry: name, inode number, and the offset that stands behind it. False: no room, it was not taken.
 */
typedef bool tree_emit(void *arg, const char *name, uint64_t inode, bool directory, uint64_t next);
/* Emits the entries of a folder from offset off on (0, or a `next` of before) until there is no room or they
 * end. 0; -ENOTDIR, -ENOENT; where nothing was emitted also -EAGAIN, and under list=all the errno of a
 * piece that can not be counted. */
int tree_list(struct tree *t, uint64_t folder, uint64_t off, tree_emit *emit, void *arg,
              struct tree_wait *wait);
/* True when the listing of a folder will never change. */
bool tree_list_is_final(struct tree *t, uint64_t folder);

/* Value of an extended attribute, without a NUL: its length, or -ENODATA. out has room for NAME_SIZE bytes.
 */
int tree_xattr(struct tree *t, uint64_t inode, const char *name, char out[NAME_SIZE]);
/* The names of all attributes of an inode, each with its NUL; *n bytes, 0 for none. Static. */
const char *tree_xattrs(uint64_t inode, size_t *n);

/* Bytes of the tokens counted so far, and the number of batch files of the mounted epoch known so far. */
void tree_size(struct tree *t, uint64_t *bytes, uint64_t *files);

#endif
