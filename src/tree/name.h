/* name: the names of the tree, to and from numbers.
 *
 * Pure functions. What stands in which folder is the tree's business. The names in shards/ are the dataset's.
 */
#ifndef FW_TREE_NAME_H
#define FW_TREE_NAME_H

#include <stdint.h>

enum name_kind {
	NAME_OTHER, /* none of ours */
	NAME_README,
	NAME_DATASET,
	NAME_STATS,
	NAME_PROM,
	NAME_VAL,
	NAME_SHARDS,
	NAME_RANK,  /* rank_N, decimal without leading zeros, below INODE_RANKS */
	NAME_EPOCH, /* epoch_E, likewise, below INODE_EPOCHS */
	NAME_BIN,   /* batch_N.bin, any number of leading zeros, below INODE_NUMBERS */
	NAME_NPY,
	NAME_TEXT, /* .txt */
	NAME_JSON,
	NAME_EPOCH_BIN,
};

#define NAME_SIZE 64 /* room for any name that name_write makes, and its NUL */

/* Kind of a name (any bytes up to its NUL), and its number where the kind has one, else 0. */
enum name_kind name_parse(const char *name, uint32_t *number);

/* The one name that is listed for a kind (not NAME_OTHER) and number. */
void name_write(enum name_kind kind, uint32_t number, char out[NAME_SIZE]);

#endif
