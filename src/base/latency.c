#include "base/latency.h"

#include "base/checked.h"

/* Bucket of a value of at least 1: the power of two and the two bits below the first. */
static unsigned bucket_of(uint64_t us)
{
	unsigned power = 63u - (unsigned)__builtin_clzll(us);
	unsigned quarter = (unsigned)(power >= 2 ? us >> (power - 2) : us << (2 - power)) & 3;
	unsigned b = power * 4 + quarter;
	return b < LATENCY_BUCKETS ? b : LATENCY_BUCKETS - 1;
}

/* First value behind a bucket, rounded up. */
static uint64_t end_of(unsigned bucket)
{
	uint64_t quarters = (UINT64_C(1) << (bucket / 4)) * (4 + bucket % 4 + 1);
	return (quarters + 3) / 4;
}

void latency_note(struct latency *l, int64_t ns)
{
	uint64_t us = ns < 1000 ? 1 : (uint64_t)ns / 1000;
	atomic_fetch_add_explicit(&l->count[bucket_of(us)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&l->sum_us, us, memory_order_relaxed);
	uint_fast64_t max = atomic_load_explicit(&l->max_us, memory_order_relaxed);
	while (us > max && !atomic_compare_exchange_weak_explicit(&l->max_us, &max, us, memory_order_relaxed,
	                                                          memory_order_relaxed))
		;
}

uint64_t latency_count(struct latency *l, uint64_t *sum_us)
{
	uint64_t all = 0;
	for (unsigned b = 0; b < LATENCY_BUCKETS; b++)
		all += atomic_load_explicit(&l->count[b], memory_order_relaxed);
	*sum_us = atomic_load_explicit(&l->sum_us, memory_order_relaxed);
	return all;
}

uint64_t latency_max(const struct latency *l)
{
	return atomic_load_explicit(&l->max_us, memory_order_relaxed);
}

uint64_t latency_percentile(struct latency *l, unsigned percent)
{
	uint64_t sum, all = latency_count(l, &sum), seen = 0;
	for (unsigned b = 0; b < LATENCY_BUCKETS; b++) {
		seen += atomic_load_explicit(&l->count[b], memory_order_relaxed);
		if (all > 0 && seen * 100 >= all * percent && seen > 0)
			return min_u64(end_of(b), latency_max(l));
	}
	return 0;
}
