#include "tree/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/span.h"

void npy_header(unsigned width, uint32_t rows, uint32_t columns, uint8_t out[NPY_HEADER])
{
	char text[NPY_HEADER];
	int n = snprintf(text, sizeof text,
	                 "{'descr': '<u%u', 'fortran_order': False, 'shape': (%" PRIu32 ", %" PRIu32 "), }",
	                 width % 10, rows, columns);
	memset(out, ' ', NPY_HEADER);
	memcpy(out, "\x93NUMPY\x01\x00", 8);
	store_u16(out + 8, NPY_HEADER - 10);
	memcpy(out + 10, text, (size_t)n);
	out[NPY_HEADER - 1] = '\n';
}
