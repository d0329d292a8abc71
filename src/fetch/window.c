#include "fetch/window.h"

#include <string.h>

#include "base/checked.h"

#define FILL_GAIN 2.0
#define GAIN 1.25
#define GROWS 1.25 /* a rate so many times as high is a higher one */
#define FLAT_ROUNDS 3

void window_init(struct window *w, uint64_t most)
{
	*w = (struct window){ .most = max_u64(most, WINDOW_FIRST), .size = WINDOW_FIRST, .filling = true };
}

bool window_may(struct window *w)
{
	if (w->flight < max_u64(w->size, w->mean + 1))
		return true;
	w->full = w->turned_full = true;
	return false;
}

void window_begin(struct window *w, struct window_transfer *t, uint64_t bytes, int64_t now_ns)
{
	*t = (struct window_transfer){ .begun_ns = now_ns, .bytes = bytes, .delivered = w->delivered };
	w->flight += bytes;
	if (w->turn_ns == 0)
		w->turn_ns = now_ns;
}

static double highest(const struct window *w)
{
	return w->rate[0] > w->rate[1] ? w->rate[0] : w->rate[1];
}

static int64_t shortest(const struct window *w)
{
	if (w->quick[0] == 0 || w->quick[1] == 0)
		return w->quick[0] + w->quick[1];
	return w->quick[0] < w->quick[1] ? w->quick[0] : w->quick[1];
}

/* What was measured two turns ago is forgotten; but where the window held nothing back, little came because
 * little was wanted. */
static void turn(struct window *w, int64_t now_ns)
{
	if (now_ns - w->turn_ns < WINDOW_TURN_NS)
		return;
	w->turn_ns = now_ns;
	if (!w->turned_full || w->filling)
		return;
	w->turned_full = false;
	w->rate[1] = w->rate[0];
	w->quick[1] = w->quick[0];
	w->rate[0] = 0;
	w->quick[0] = 0;
	w->drain_at = w->delivered + w->size;
}

static void end_round(struct window *w)
{
	w->round_at = w->delivered + w->flight;
	if (!w->filling || !w->full)
		return;
	w->full = false;
	if (highest(w) >= w->grown * GROWS) {
		w->grown = highest(w);
		w->flat = 0;
	} else if (++w->flat == FLAT_ROUNDS) {
		w->filling = false;
	}
}

static void resize(struct window *w)
{
	double product = highest(w) * (double)shortest(w) / 1e9;
	double size = product * (w->filling ? FILL_GAIN : GAIN);
	if (w->delivered < w->drain_at)
		size = product / 2;
	w->size = size >= (double)w->most ? w->most : max_u64((uint64_t)size, WINDOW_FIRST);
}

void window_end(struct window *w, const struct window_transfer *t, bool came, int64_t now_ns)
{
	w->flight -= t->bytes;
	if (!came || t->bytes == 0 || now_ns <= t->begun_ns)
		return;
	int64_t took = now_ns - t->begun_ns;
	w->delivered += t->bytes;
	w->mean = w->mean == 0 ? t->bytes : (w->mean * 7 + t->bytes) / 8;
	turn(w, now_ns);
	double rate = (double)(w->delivered - t->delivered) * 1e9 / (double)took;
	if (rate > w->rate[0])
		w->rate[0] = rate;
	/* A small one is quicker than those which the window is for. */
	if (t->bytes >= w->mean / 2 && (w->quick[0] == 0 || took < w->quick[0]))
		w->quick[0] = took;
	if (w->delivered >= w->round_at)
		end_round(w);
	resize(w);
}
