#define _GNU_SOURCE
#include "base/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local struct {
	volatile uintptr_t at;
	volatile size_t n;
} guards[GUARDS];
static _Thread_local volatile sig_atomic_t lost;
static long page;

static void on_bus(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	(void)context;
	for (unsigned i = 0; i < GUARDS; i++) {
		if (at - guards[i].at >= guards[i].n)
			continue;
		void *from = (void *)(at & ~((uintptr_t)page - 1));
		if (mmap(from, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		         -1, 0) == MAP_FAILED)
			break;
		lost = 1;
		return;
	}
	/* It comes once more, and ends the process. */
	signal(number, SIG_DFL);
}

static void start(void)
{
	struct sigaction a = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_RESTART };
	page = sysconf(_SC_PAGESIZE);
	sigemptyset(&a.sa_mask);
	sigaction(SIGBUS, &a, NULL);
}

void guard_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, start);
}

bool guard_add(const void *at, size_t n)
{
	for (unsigned i = 0; i < GUARDS; i++) {
		if (guards[i].n > 0)
			continue;
		guards[i].at = (uintptr_t)at;
		guards[i].n = n;
		return true;
	}
	return false;
}

void guard_drop(const void *at)
{
	for (unsigned i = 0; i < GUARDS; i++)
		if (guards[i].n > 0 && guards[i].at == (uintptr_t)at)
			guards[i].n = 0;
}

bool guard_lost(void)
{
	bool was = lost != 0;
	lost = 0;
	return was;
}
