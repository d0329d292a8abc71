/* span: a bounded view of bytes that nobody vouches for.
 *
 * A span never owns its bytes; they live as long as the buffer they are in.
 * Every take checks the bound first and leaves the span as it was when it
 * fails, so a parser can not read outside. Little-endian throughout.
 */
#ifndef FW_BASE_SPAN_H
#define FW_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const uint8_t *at;
	size_t n;
};

static inline struct span span_of(const void *at, size_t n)
{
	return (struct span){ .at = at, .n = n };
}

/* The bytes of a NUL-terminated string, without the NUL. */
static inline struct span span_text(const char *text)
{
	return span_of(text, strlen(text));
}

/* Moves the first n bytes into *out; false when there are fewer. */
static inline bool span_take(struct span *s, size_t n, struct span *out)
{
	if (n > s->n)
		return false;
	*out = span_of(s->at, n);
	s->at += n;
	s->n -= n;
	return true;
}

static inline bool span_skip(struct span *s, size_t n)
{
	struct span gone;
	return span_take(s, n, &gone);
}

static inline bool span_u8(struct span *s, uint8_t *out)
{
	if (s->n < 1)
		return false;
	*out = *s->at++;
	s->n--;
	return true;
}

static inline uint16_t load_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t load_u32(const uint8_t *p)
{
	return (uint32_t)load_u16(p) | (uint32_t)load_u16(p + 2) << 16;
}

static inline uint64_t load_u64(const uint8_t *p)
{
	return (uint64_t)load_u32(p) | (uint64_t)load_u32(p + 4) << 32;
}

static inline void store_u16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void store_u32(uint8_t *p, uint32_t v)
{
	store_u16(p, (uint16_t)v);
	store_u16(p + 2, (uint16_t)(v >> 16));
}

static inline void store_u64(uint8_t *p, uint64_t v)
{
	store_u32(p, (uint32_t)v);
	store_u32(p + 4, (uint32_t)(v >> 32));
}

static inline bool span_u32(struct span *s, uint32_t *out)
{
	if (s->n < 4)
		return false;
	*out = load_u32(s->at);
	return span_skip(s, 4);
}

static inline bool span_u64(struct span *s, uint64_t *out)
{
	if (s->n < 8)
		return false;
	*out = load_u64(s->at);
	return span_skip(s, 8);
}

/* Moves an unsigned LEB128 number (7 bits a byte, the low ones first) into *out; false when the bytes end
 * inside it or it has more than 64 bits: it is the former when fewer than 10 bytes are left. */
static inline bool span_uleb(struct span *s, uint64_t *out)
{
	uint64_t v = 0;
	for (size_t i = 0; i < s->n && i < 10; i++) {
		uint8_t b = s->at[i];
		if (i == 9 && b > 1)
			return false;
		v |= (uint64_t)(b & 0x7f) << 7 * i;
		if (b < 0x80) {
			*out = v;
			return span_skip(s, i + 1);
		}
	}
	return false;
}

static inline bool span_is(struct span s, const char *text)
{
	size_t n = strlen(text);
	return s.n == n && (n == 0 || memcmp(s.at, text, n) == 0);
}

#endif
