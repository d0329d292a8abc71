#include "token/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/span.h"

/* The bytes of the sequence at p when it is valid; else minus those of its maximal subpart. */
static int sequence(const uint8_t *p, size_t n)
{
	uint8_t lead = p[0], low = 0x80, high = 0xBF;
	int length = lead < 0x80   ? 1
	             : lead < 0xC2 ? 0
	             : lead < 0xE0 ? 2
	             : lead < 0xF0 ? 3
	             : lead < 0xF5 ? 4
	                           : 0;
	if (length == 0)
		return -1;
	if (lead == 0xE0)
		low = 0xA0;
	else if (lead == 0xED)
		high = 0x9F;
	else if (lead == 0xF0)
		low = 0x90;
	else if (lead == 0xF4)
		high = 0x8F;
	for (int i = 1; i < length; i++) {
		if ((size_t)i >= n || p[i] < low || p[i] > high)
			return -i;
		low = 0x80;
		high = 0xBF;
	}
	return length;
}

static inline bool goes_on(uint8_t c)
{
	return (c & 0xC0) == 0x80;
}

/* Sixteen bytes in a vector, where the machine has those. */
typedef uint64_t two_words __attribute__((vector_size(16)));

static inline bool ascii64(const uint8_t *p)
{
	two_words four[4];
	memcpy(four, p, sizeof four);
	two_words all = (four[0] | four[1]) | (four[2] | four[3]);
	return ((all[0] | all[1]) & UINT64_C(0x8080808080808080)) == 0;
}

size_t utf8_valid(const uint8_t *p, size_t n)
{
	size_t i = 0;
	while (i < n) {
		while (n - i >= 64 && ascii64(p + i))
			i += 64;
		if (i == n)
			break;
		if (n - i >= 8 && (load_u64(p + i) & UINT64_C(0x8080808080808080)) == 0) {
			i += 8;
			continue;
		}
		uint8_t lead = p[i];
		/* What most of them are needs no more than this. */
		if (lead < 0x80) {
			i++;
			continue;
		}
		if (n - i >= 3 && lead >= 0xE1 && lead < 0xF0 && lead != 0xED && goes_on(p[i + 1]) &&
		    goes_on(p[i + 2])) {
			i += 3;
			continue;
		}
		if (n - i >= 2 && lead >= 0xC2 && lead < 0xE0 && goes_on(p[i + 1])) {
			i += 2;
			continue;
		}
		int length = sequence(p + i, n - i);
		if (length < 0)
			break;
		i += (size_t)length;
	}
	return i;
}

size_t utf8_tail(const uint8_t *p, size_t n)
{
	for (size_t k = 1; k <= 3 && k <= n; k++) {
		const uint8_t *lead = p + n - k;
		if ((*lead & 0xC0) == 0x80)
			continue;
		size_t whole = *lead < 0xC2 ? 1 : *lead < 0xE0 ? 2 : *lead < 0xF0 ? 3 : *lead < 0xF5 ? 4 : 1;
		return whole > k && sequence(lead, k) == -(int)k ? k : 0;
	}
	return 0;
}

size_t utf8_replace(const uint8_t *p, size_t n, uint8_t *out)
{
	uint8_t *o = out;
	while (n > 0) {
		size_t good = utf8_valid(p, n);
		if (good > 0)
			memcpy(o, p, good);
		o += good;
		p += good;
		n -= good;
		if (n == 0)
			break;
		size_t bad = (size_t)-sequence(p, n);
		memcpy(o, "\xEF\xBF\xBD", 3);
		o += 3;
		p += bad;
		n -= bad;
	}
	return (size_t)(o - out);
}
