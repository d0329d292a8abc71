/* shardfile: names and headers of the files of shards/, which `prepare` writes. Pure.
 *
 * Sources: the course guide's raw uint16, llm.c's dataloader.h (int32[256] header: magic 20240520 version 1,
 * or 20240801 version 7 with uint32), NumPy's format.py (.npy 1.0), nanoGPT's train.bin and val.bin.
 */
#ifndef FW_DATASET_SHARDFILE_H
#define FW_DATASET_SHARDFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataset/options.h"

#define SHARDFILE_HEADER 1024 /* bytes at most */
#define SHARDFILE_NAME 64     /* bytes, with the NUL */

/* Bytes before the first token. */
size_t shardfile_header_size(enum shards_form form);
/* Writes them for a file of so many tokens of `width` (2 or 4) bytes; the rest of out becomes zero. */
void shardfile_header(enum shards_form form, unsigned width, uint64_t tokens, uint8_t out[SHARDFILE_HEADER]);
/* The name of training file `number`, or of the held-out one. */
void shardfile_name(enum shards_form form, bool val, uint64_t number, char out[SHARDFILE_NAME]);

#endif
