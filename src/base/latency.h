/* latency: how long things take, as a histogram of constant size. Any thread.
 *
 * Buckets are quarters of powers of two of a microsecond, so that a percentile is right to 25 %, from 1 us to
 * 2^36 us; what is longer counts as the last.
 */
#ifndef FW_BASE_LATENCY_H
#define FW_BASE_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_BUCKETS (36 * 4)

struct latency { /* zeroed: empty */
	atomic_uint_fast64_t count[LATENCY_BUCKETS];
	atomic_uint_fast64_t sum_us, max_us;
};

void latency_note(struct latency *l, int64_t ns);
/* Upper end of the bucket that has the percentile (0 ... 100), or the longest if that is less, in
 * microseconds; 0 when nothing was noted. */
uint64_t latency_percentile(struct latency *l, unsigned percent);
/* The longest, in microseconds, exactly. */
uint64_t latency_max(const struct latency *l);
/* How many were noted, and how long they took together, in microseconds. */
uint64_t latency_count(struct latency *l, uint64_t *sum_us);

#endif
