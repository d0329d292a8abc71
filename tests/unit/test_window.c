/* The window against a simulated path: a link of some bandwidth that all transfers share in the order in which they
 * were asked for, a delay, and a rate that one transfer cannot exceed. */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "fetch/window.h"

#define MB 1e6
#define MOST (512u << 20)
#define FLYING 4096

struct path {
	double bandwidth, delay, alone; /* bytes a second, seconds, bytes a second of one transfer; 0: no limit */
};

struct flying {
	struct window_transfer transfer;
	double there;
};

struct simulation {
	struct window w;
	struct path path;
	double now, link_free;
	struct flying flying[FLYING];
	unsigned n, most;
	uint64_t state;
};

static int64_t ns(double seconds)
{
	return (int64_t)(seconds * 1e9) + 1;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

static void begin(struct simulation *s, double bytes)
{
	struct flying *f = &s->flying[s->n++];
	double asked = s->now + s->path.delay / 2;
	s->link_free = later(s->link_free, asked) + bytes / s->path.bandwidth;
	f->there = s->link_free + s->path.delay / 2;
	if (s->path.alone > 0)
		f->there = later(f->there, s->now + s->path.delay + bytes / s->path.alone);
	window_begin(&s->w, &f->transfer, (uint64_t)bytes, ns(s->now));
}

static void end_first(struct simulation *s)
{
	unsigned first = 0;
	for (unsigned i = 1; i < s->n; i++)
		if (s->flying[i].there < s->flying[first].there)
			first = i;
	struct flying f = s->flying[first];
	s->flying[first] = s->flying[--s->n];
	s->now = f.there;
	window_end(&s->w, &f.transfer, true, ns(s->now));
}

/* Fetches for some seconds. Returns bytes a second. wanted: who uses the bytes takes so many a second at most. */
static double run(struct simulation *s, double seconds, double bytes, double wanted)
{
	double from = s->now, until = s->now + seconds;
	uint64_t before = s->w.delivered;
	while (s->now < until) {
		double lag = (double)(s->w.delivered + s->w.flight - before) - wanted * (s->now - from);
		while (s->n < FLYING && (wanted == 0 || lag < 20 * MB) && window_may(&s->w)) {
			s->state = s->state * 6364136223846793005u + 1442695040888963407u;
			double size = bytes * (0.8 + 0.4 * (double)(s->state >> 40) / (1 << 24));
			begin(s, size);
			lag += size;
		}
		if (s->n > s->most)
			s->most = s->n;
		if (s->n > 0)
			end_first(s);
		else
			s->now += 0.001;
	}
	return (double)(s->w.delivered - before) / (s->now - from);
}

static struct simulation start(struct path path)
{
	struct simulation s = { .path = path };
	window_init(&s.w, MOST);
	return s;
}

static bool within(const char *what, const struct path *p, double size, double rate, double limit, double flight)
{
	double product = limit * (p->delay + (p->alone > 0 ? size / p->alone : 0));
	bool good = rate >= 0.88 * limit && flight <= 2.5 * product + 4 * size + 2 * WINDOW_FIRST;
	if (!good)
		printf("# %s: %.1f MB/s of %.1f, %.0f ms, pieces of %.1f MB: %.1f MB under way, product %.1f MB\n", what,
		       rate / MB, limit / MB, p->delay * 1e3, size / MB, flight / MB, product / MB);
	return good;
}

static void fills_paths(void)
{
	static const double bandwidths[] = { 1 * MB, 10 * MB, 100 * MB, 500 * MB };
	static const double delays[] = { 0.001, 0.03, 0.1, 0.3 };
	static const double sizes[] = { 0.3 * MB, 1.5 * MB, 3 * MB };
	for (unsigned i = 0; i < 4 * 4 * 3; i++) {
		struct path p = { bandwidths[i / 12], delays[i / 3 % 4], 0 };
		double size = sizes[i % 3];
		struct simulation s = start(p);
		run(&s, 5, size, 0);
		s.most = 0;
		double rate = run(&s, 40, size, 0);
		CU_ASSERT(within("steady", &p, size, rate, p.bandwidth, s.most * size));
	}
}

static void starts_slowly_and_soon(void)
{
	struct path p = { 250 * MB, 0.1, 0 };
	struct simulation s = start(p);
	CU_ASSERT(window_may(&s.w));
	begin(&s, 3 * MB);
	CU_ASSERT(!window_may(&s.w));
	/* The product is 25 MB: from 2 it takes four doublings, each a round trip. */
	run(&s, 1.5, 3 * MB, 0);
	double rate = run(&s, 1, 3 * MB, 0);
	CU_ASSERT(rate >= 0.88 * p.bandwidth);
	if (rate < 0.88 * p.bandwidth)
		printf("# %.1f MB/s\n", rate / MB);
}

static void takes_many_slow_connections(void)
{
	struct path p = { 200 * MB, 0.05, 10 * MB };
	struct simulation s = start(p);
	run(&s, 10, 3 * MB, 0);
	s.most = 0;
	double rate = run(&s, 40, 3 * MB, 0);
	CU_ASSERT(within("many", &p, 3 * MB, rate, p.bandwidth, s.most * 3 * MB));
}

static void follows_the_path(void)
{
	struct path p = { 200 * MB, 0.2, 0 };
	struct simulation s = start(p);
	run(&s, 10, 3 * MB, 0);
	uint64_t large = s.w.size;
	s.path.bandwidth = p.bandwidth = 5 * MB;
	run(&s, 60, 3 * MB, 0);
	s.most = 0;
	double rate = run(&s, 20, 3 * MB, 0);
	CU_ASSERT(within("slower", &p, 3 * MB, rate, p.bandwidth, s.most * 3 * MB));
	CU_ASSERT(s.w.size < large / 2);
	s.path.bandwidth = p.bandwidth = 200 * MB;
	run(&s, 20, 3 * MB, 0);
	s.most = 0;
	rate = run(&s, 20, 3 * MB, 0);
	CU_ASSERT(within("faster", &p, 3 * MB, rate, p.bandwidth, s.most * 3 * MB));
}

static void asks_for_no_more_than_is_used(void)
{
	/* Who tokenises takes 50 MB a second of a path that has 500: the window stays near what that needs. */
	struct path p = { 500 * MB, 0.1, 0 };
	struct simulation s = start(p);
	run(&s, 10, 3 * MB, 50 * MB);
	double rate = run(&s, 30, 3 * MB, 50 * MB);
	CU_ASSERT(rate >= 0.88 * 50 * MB);
	CU_ASSERT((double)s.w.size <= 60 * MB);
	if ((double)s.w.size > 60 * MB)
		printf("# %.1f MB/s, size %.1f MB\n", rate / MB, (double)s.w.size / MB);
}

static void keeps_its_bound(void)
{
	struct simulation s = start((struct path){ 5000 * MB, 0.3, 0 });
	window_init(&s.w, 32u << 20);
	run(&s, 20, 3 * MB, 0);
	CU_ASSERT(s.w.size == 32u << 20);
	CU_ASSERT(s.most <= 15);
	/* What failed gives its bytes back, and says nothing. */
	struct window w;
	struct window_transfer t;
	window_init(&w, MOST);
	window_begin(&w, &t, 1000, 5);
	CU_ASSERT_EQUAL(w.flight, 1000);
	window_end(&w, &t, false, 6);
	CU_ASSERT_EQUAL(w.flight, 0);
	CU_ASSERT_EQUAL(w.size, WINDOW_FIRST);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "fills paths of any length and bandwidth, and no more", fills_paths },
		{ "starts slowly and is soon there", starts_slowly_and_soon },
		{ "takes as many transfers as slow connections need", takes_many_slow_connections },
		{ "follows a path that becomes slower and faster", follows_the_path },
		{ "asks for no more than is used", asks_for_no_more_than_is_used },
		{ "keeps its bound", keeps_its_bound },
		CU_TEST_INFO_NULL,
	};
	return unit_main("window", tests);
}
