/* npy: the header of NumPy's .npy files.
 *
 * Source: numpy/lib/format.py (versions 1.0, 2.0, 3.0): "\x93NUMPY", major u8, minor u8, length of the header
 * u16 (1.0) or u32, then a Python dict of descr, fortran_order and shape in ASCII (3.0: UTF-8), padded with
 * spaces and a newline. Pure, any thread.
 */
#ifndef FW_FORMAT_NPY_H
#define FW_FORMAT_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define NPY_MOST 65536 /* bytes of a header, with its first 12, that is read */
#define NPY_DESCR 32

struct npy {
	uint64_t offset;   /* of the first element, bytes */
	uint64_t elements; /* of the first dimension; 0 when there is none */
	unsigned dimensions;
	bool fortran;
	char descr[NPY_DESCR]; /* as it stands, without quotes; cut when longer */
};

/* Reads the header from the first bytes of a file (NPY_MOST, or all of it). Untrusted. 0; -EBADMSG with what
 * is wrong; -ENOTSUP: another version, a header that is longer, a descr that is no string. */
int npy_parse(struct span in, struct npy *out, struct error *err);

#endif
