/* page: the entries of a folder from an offset on, computed and never kept.
 *
 * Offset 0 is ".", 1 is "..", then one for each entry: what is listed at an offset never changes, new entries
 * only come behind. Any thread at any time; nothing waits.
 */
#ifndef FW_TREE_PAGE_H
#define FW_TREE_PAGE_H

#include "tree/inode.h"
#include "tree/tree.h"

/* What a tree lists. */
struct page_scope {
	struct dataset *d;
	uint32_t ranks, epoch, epochs;
	bool val, list_all;
};

/* As tree_list; folder is a folder of the scope. */
int page_list(const struct page_scope *s, struct inode folder, uint64_t off, tree_emit *emit, void *arg,
              struct tree_wait *wait);
bool page_is_final(const struct page_scope *s, struct inode folder);

#endif
