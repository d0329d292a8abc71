/* tokenfile: files of token ids as others write them.
 *
 * Sources: llm.c's dataloader.h (magic 20240520 version 1 with uint16, 20240801 version 7 with uint32;
 * int32[256] header, [2] = number of tokens), NumPy's format.py (.npy 1.0, 2.0, 3.0). Pure, any thread.
 */
#ifndef FW_FORMAT_TOKENFILE_H
#define FW_FORMAT_TOKENFILE_H

#include <stdint.h>

#include "base/error.h"
#include "io/source.h"

struct tokenfile {
	uint64_t offset; /* of the first id, bytes */
	uint64_t tokens;
	uint8_t width;	/* bytes of an id in the file: 2, 4 or 8 */
	bool is_signed; /* '<i4', '<i8' */
};

/* Reads and checks the header. npy: of an .npy, else .bin (raw with ids of raw_width bytes, or an llm.c
 * header). -EBADMSG: a raw file whose size is no multiple of raw_width, a header that promises other than the
 * file has, an .npy that is damaged; -ENOTSUP: an .npy of another descr (named), of more than one dimension
 * or in Fortran order of more than one; an llm.c header of another version. Or what source_read says. */
int tokenfile_open(struct source *s, bool npy, unsigned raw_width, struct tokenfile *out, struct error *err);

/* Turns n ids as they are in the file into `to` bytes each (2 or 4), little-endian, and checks each against
 * the vocabulary. in and out may be the same memory when the widths are. 0, or -EBADMSG: then *bad is the
 * place of the first id that is negative or not below vocab, *id is it, and out is as it was. */
int tokenfile_convert(const struct tokenfile *t, const void *in, size_t n, uint32_t vocab, unsigned to,
		      void *out, size_t *bad, int64_t *id);

#endif
