/* huge: zeroed memory for tables that are looked into at random, in large pages where the system has them:
 * then a look-up does not miss the TLB too, and the first touch takes a fault for 2 MiB instead of 4 KiB.
 */
#ifndef FW_TOKEN_HUGE_H
#define FW_TOKEN_HUGE_H

#include <stddef.h>

/* NULL: out of memory. The owner frees it with the same number of bytes. */
void *huge_make(size_t bytes);
void huge_free(void *at, size_t bytes);

#endif
