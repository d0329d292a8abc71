#include "token/huge.h"

#include <sys/mman.h>

void *huge_make(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	/* A wish: without it the pages are small. */
	madvise(at, bytes, MADV_HUGEPAGE);
	return at;
}

void huge_free(void *at, size_t bytes)
{
	if (at != NULL)
		munmap(at, bytes);
}
