#include "token/classify.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Of letters alone: U+0100 ... U+02BF (first byte C4 ... CA), U+0400 ... U+047F (D0, D1), U+5000 ... U+9FFF
 * (E5 ... E9), U+B000 ... U+CFFF (EB, EC), and U+00C0 ... U+00FF (C3) but for two whose second byte is 97 or
 * B7. */

static void classify_scalar(const uint8_t *p, size_t blocks, struct masks *out)
{
	for (size_t b = 0; b < blocks; b++, p += 64) {
		struct masks m = { 0 };
		for (unsigned i = 0; i < 64; i++) {
			uint8_t c = p[i];
			m.letter |= (uint64_t)((uint8_t)((c | 0x20) - 'a') < 26) << i;
			m.upper |= (uint64_t)((uint8_t)(c - 'A') < 26) << i;
			m.slash |= (uint64_t)(c == '/') << i;
			m.number |= (uint64_t)((uint8_t)(c - '0') < 10) << i;
			m.blank |= (uint64_t)(c == ' ' || (uint8_t)(c - '\t') < 5) << i;
			m.space |= (uint64_t)(c == ' ') << i;
			m.newline |= (uint64_t)(c == '\n' || c == '\r') << i;
			m.quote |= (uint64_t)(c == '\'') << i;
			m.high |= (uint64_t)(c >> 7) << i;
			m.two |= (uint64_t)((uint8_t)(c - 0xC4) < 7 || (uint8_t)(c - 0xD0) < 2) << i;
			m.two |= (uint64_t)(c == 0xC3 && i < 63 && (p[i + 1] & 0xDF) != 0x97) << i;
			m.three |= (uint64_t)((uint8_t)(c - 0xE5) < 5 || (uint8_t)(c - 0xEB) < 2) << i;
		}
		out[b] = m;
	}
}

static inline size_t count_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	return (size_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

static size_t spread_scalar(const uint64_t *bits, size_t blocks, size_t at, size_t *out)
{
	size_t *start = out;
	for (size_t b = 0; b < blocks; b++, at += 64) {
		uint64_t left = bits[b];
		size_t n = count_bits(left);
		/* Eight at a time, so that the branch is foreseen. */
		for (size_t done = 0; done < n; done += 8) {
			for (size_t i = 0; i < 8; i++) {
				out[done + i] = at + (unsigned)__builtin_ctzll(left | (uint64_t)1 << 63);
				left &= left - 1;
			}
		}
		out += n;
	}
	return (size_t)(out - start);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Signed comparison after a shift of the range to the lowest numbers: bytes from `first` on, `n` of them. */
static inline __m128i range128(__m128i x, char first, int n)
{
	return _mm_cmplt_epi8(_mm_add_epi8(x, _mm_set1_epi8((char)(-128 - first))),
	                      _mm_set1_epi8((char)(-128 + n)));
}

static inline uint64_t bits128(__m128i x, unsigned shift)
{
	return (uint64_t)(uint32_t)_mm_movemask_epi8(x) << shift;
}

static void classify_sse2(const uint8_t *p, size_t blocks, struct masks *out)
{
	for (size_t b = 0; b < blocks; b++, p += 64) {
		struct masks m = { 0 };
		uint64_t latin = 0, sign = 0;
		for (unsigned i = 0; i < 64; i += 16) {
			__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
			__m128i space = _mm_cmpeq_epi8(x, _mm_set1_epi8(' '));
			__m128i line = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\n')),
			                            _mm_cmpeq_epi8(x, _mm_set1_epi8('\r')));
			m.letter |= bits128(range128(_mm_or_si128(x, _mm_set1_epi8(0x20)), 'a', 26), i);
			m.upper |= bits128(range128(x, 'A', 26), i);
			m.slash |= bits128(_mm_cmpeq_epi8(x, _mm_set1_epi8('/')), i);
			m.number |= bits128(range128(x, '0', 10), i);
			m.blank |= bits128(_mm_or_si128(space, range128(x, '\t', 5)), i);
			m.space |= bits128(space, i);
			m.newline |= bits128(line, i);
			m.quote |= bits128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\'')), i);
			m.high |= bits128(x, i);
			m.two |= bits128(_mm_or_si128(range128(x, (char)0xC4, 7), range128(x, (char)0xD0, 2)),
			                 i);
			m.three |= bits128(
			        _mm_or_si128(range128(x, (char)0xE5, 5), range128(x, (char)0xEB, 2)), i);
			latin |= bits128(_mm_cmpeq_epi8(x, _mm_set1_epi8((char)0xC3)), i);
			sign |= bits128(_mm_cmpeq_epi8(_mm_and_si128(x, _mm_set1_epi8((char)0xDF)),
			                               _mm_set1_epi8((char)0x97)),
			                i);
		}
		m.two |= latin & ~(sign >> 1) & UINT64_MAX >> 1;
		out[b] = m;
	}
}

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i range256(__m256i x, char first, int n)
{
	return _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(-128 + n)),
	                         _mm256_add_epi8(x, _mm256_set1_epi8((char)(-128 - first))));
}

AVX2 static inline uint64_t bits256(__m256i x, unsigned shift)
{
	return (uint64_t)(uint32_t)_mm256_movemask_epi8(x) << shift;
}

AVX2 static void classify_avx2(const uint8_t *p, size_t blocks, struct masks *out)
{
	for (size_t b = 0; b < blocks; b++, p += 64) {
		struct masks m = { 0 };
		uint64_t latin = 0, sign = 0;
		for (unsigned i = 0; i < 64; i += 32) {
			__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
			__m256i space = _mm256_cmpeq_epi8(x, _mm256_set1_epi8(' '));
			__m256i line = _mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('\n')),
			                               _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\r')));
			m.letter |= bits256(range256(_mm256_or_si256(x, _mm256_set1_epi8(0x20)), 'a', 26), i);
			m.upper |= bits256(range256(x, 'A', 26), i);
			m.slash |= bits256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('/')), i);
			m.number |= bits256(range256(x, '0', 10), i);
			m.blank |= bits256(_mm256_or_si256(space, range256(x, '\t', 5)), i);
			m.space |= bits256(space, i);
			m.newline |= bits256(line, i);
			m.quote |= bits256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('\'')), i);
			m.high |= bits256(x, i);
			m.two |= bits256(
			        _mm256_or_si256(range256(x, (char)0xC4, 7), range256(x, (char)0xD0, 2)), i);
			m.three |= bits256(
			        _mm256_or_si256(range256(x, (char)0xE5, 5), range256(x, (char)0xEB, 2)), i);
			latin |= bits256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8((char)0xC3)), i);
			sign |= bits256(_mm256_cmpeq_epi8(_mm256_and_si256(x, _mm256_set1_epi8((char)0xDF)),
			                                  _mm256_set1_epi8((char)0x97)),
			                i);
		}
		m.two |= latin & ~(sign >> 1) & UINT64_MAX >> 1;
		out[b] = m;
	}
}

#define AVX512 __attribute__((target("avx512f,avx512bw")))

AVX512 static inline uint64_t range512(__m512i x, char first, int n)
{
	return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(first)), _mm512_set1_epi8((char)n));
}

AVX512 static void classify_avx512(const uint8_t *p, size_t blocks, struct masks *out)
{
	for (size_t b = 0; b < blocks; b++, p += 64) {
		__m512i x = _mm512_loadu_si512(p);
		uint64_t space = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(' '));
		uint64_t latin = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8((char)0xC3));
		uint64_t sign = _mm512_cmpeq_epi8_mask(_mm512_and_si512(x, _mm512_set1_epi8((char)0xDF)),
		                                       _mm512_set1_epi8((char)0x97));
		out[b] = (struct masks){
			.letter = range512(_mm512_or_si512(x, _mm512_set1_epi8(0x20)), 'a', 26),
			.upper = range512(x, 'A', 26),
			.slash = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('/')),
			.number = range512(x, '0', 10),
			.blank = space | range512(x, '\t', 5),
			.space = space,
			.newline = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\n')) |
			           _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\r')),
			.quote = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\'')),
			.high = _mm512_movepi8_mask(x),
			.two = range512(x, (char)0xC4, 7) | range512(x, (char)0xD0, 2) |
			       (latin & ~(sign >> 1) & UINT64_MAX >> 1),
			.three = range512(x, (char)0xE5, 5) | range512(x, (char)0xEB, 2),
		};
	}
}

#define VBMI2 __attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt")))

/* Packs the numbers of the bits of a block side by side, and widens them. */
VBMI2 static size_t spread_vbmi2(const uint64_t *bits, size_t blocks, size_t at, size_t *out)
{
	static const uint8_t number[64] = {
		0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
		22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
		44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
	};
	const __m512i numbers = _mm512_loadu_si512(number);
	size_t *start = out;
	for (size_t b = 0; b < blocks; b++, at += 64) {
		__m512i first = _mm512_set1_epi64((long long)at);
		__m512i set = _mm512_maskz_compress_epi8(bits[b], numbers);
		__m128i low = _mm512_castsi512_si128(set), next = _mm512_extracti32x4_epi32(set, 1);
		size_t n = (size_t)__builtin_popcountll(bits[b]);
		_mm512_storeu_si512(out, _mm512_add_epi64(_mm512_cvtepu8_epi64(low), first));
		_mm512_storeu_si512(out + 8,
		                    _mm512_add_epi64(_mm512_cvtepu8_epi64(_mm_srli_si128(low, 8)), first));
		_mm512_storeu_si512(out + 16, _mm512_add_epi64(_mm512_cvtepu8_epi64(next), first));
		/* In few texts have 64 bytes more than 24 words. */
		if (n > SPREAD_MORE)
			spread_scalar(&bits[b], 1, at, out);
		out += n;
	}
	return (size_t)(out - start);
}
#endif

static struct classify_path paths[7];
static const char *names[7];

static void find_paths(void)
{
	size_t n = 0;
#if defined(__x86_64__)
	__builtin_cpu_init();
	bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
	if (wide && __builtin_cpu_supports("avx512vbmi2"))
		paths[n++] = (struct classify_path){ "vbmi2", classify_avx512, spread_vbmi2 };
	if (wide)
		paths[n++] = (struct classify_path){ "avx512", classify_avx512, spread_scalar };
	if (__builtin_cpu_supports("avx2"))
		paths[n++] = (struct classify_path){ "avx2", classify_avx2, spread_scalar };
	paths[n++] = (struct classify_path){ "sse2", classify_sse2, spread_scalar };
#endif
	paths[n++] = (struct classify_path){ "scalar", classify_scalar, spread_scalar };
	paths[n] = (struct classify_path){ "plain", NULL, NULL };
	for (size_t i = 0; i <= n; i++)
		names[i] = paths[i].name;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const struct classify_path *classify_paths(void)
{
	pthread_once(&once, find_paths);
	return paths;
}

const char *const *classify_names(void)
{
	pthread_once(&once, find_paths);
	return names;
}
