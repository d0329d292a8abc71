/* The data file of an LMDB environment, as it may be found on a disk. */
#include "store/lmdbfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	lmdbfile_validate(span_of(bytes, n));
	return 0;
}
