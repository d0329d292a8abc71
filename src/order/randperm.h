/* randperm: torch.randperm(n) on the CPU, seeded as torch.Generator().manual_seed(seed) does.
 *
 * Source: PyTorch aten/src/ATen/native/TensorFactories.cpp (randperm_cpu, n < 2^32 / 20), MT19937
 * (Matsumoto and Nishimura 1998) of the low 32 bits of the seed. Pure, any thread.
 */
#ifndef FW_ORDER_RANDPERM_H
#define FW_ORDER_RANDPERM_H

#include <stdint.h>

#define RANDPERM_MAX 214748363u /* torch takes another path from 214,748,364 on */

/* Fills out[0 ... n-1], n <= RANDPERM_MAX. */
void torch_randperm(uint32_t n, uint64_t seed, uint32_t *out);

#endif
