/* For the programs in signals/: how long to wait for a signal that has been sent. */
#ifndef SIGNALS_H
#define SIGNALS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

enum { MOST_THREADS = 64, LONG_ENOUGH = 10 /* seconds */ };

static double signals_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Waits in a loop until `*word` is at least `wanted`; gives up after a time. */
static int comes_to(const int *word, int wanted)
{
    double end = signals_clock() + LONG_ENOUGH;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < wanted)
        if (signals_clock() > end)
            return 0;
    return 1;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, NULL);
}
#endif
