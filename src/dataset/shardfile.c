#include "dataset/shardfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/span.h"

size_t shardfile_header_size(enum shards_form form)
{
	return form == SHARDS_LLMC ? 1024 : form == SHARDS_NPY ? 128 : 0;
}

void shardfile_header(enum shards_form form, unsigned width, uint64_t tokens, uint8_t out[SHARDFILE_HEADER])
{
	memset(out, 0, SHARDFILE_HEADER);
	if (form == SHARDS_LLMC) {
		store_u32(out, width == 2 ? 20240520 : 20240801);
		store_u32(out + 4, width == 2 ? 1 : 7);
		store_u32(out + 8, (uint32_t)tokens);
	} else if (form == SHARDS_NPY) {
		char *text = (char *)out + 10;
		memcpy(out, "\x93NUMPY\x01", 8);
		store_u16(out + 8, 118);
		int n = snprintf(text, 118,
		                 "{'descr': '<u%u', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
		                 width, tokens);
		memset(text + n, ' ', (size_t)(117 - n));
		text[117] = '\n';
	}
}

void shardfile_name(enum shards_form form, bool val, uint64_t number, char out[SHARDFILE_NAME])
{
	if (form == SHARDS_NANOGPT)
		snprintf(out, SHARDFILE_NAME, "%s.bin", val ? "val" : "train");
	else
		snprintf(out, SHARDFILE_NAME, "%s_%s_%06" PRIu64 ".%s",
		         form == SHARDS_NPY ? "edufineweb" : "fineweb", val ? "val" : "train",
		         val ? 0 : number, form == SHARDS_NPY ? "npy" : "bin");
}
