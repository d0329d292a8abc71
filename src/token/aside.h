/* aside: something that goes on beside what its owner does meanwhile, where the system has a thread for it. */
#ifndef FW_TOKEN_ASIDE_H
#define FW_TOKEN_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

struct aside {
	pthread_t thread;
	bool own;
};

/* Runs run(arg), perhaps before it returns. What arg points to belongs to it until aside_end. */
static inline void aside_start(struct aside *a, void *(*run)(void *), void *arg)
{
	a->own = pthread_create(&a->thread, NULL, run, arg) == 0;
	if (!a->own)
		run(arg);
}

/* Waits until it has run. */
static inline void aside_end(struct aside *a)
{
	if (a->own)
		pthread_join(a->thread, NULL);
	a->own = false;
}

#endif
