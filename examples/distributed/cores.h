/* cores.h: what the threads of a rank have done, and cores that only take the time of work.
 *
 * Where ranks have more threads than the machine has processors, computing shows how threads share
 * processors, not how ranks share work. Work can therefore be a nap
 * instead: no processor is needed for it, and it has a core of its rank for itself all the same. There are as
 * many of these as the rank has threads. */
#ifndef CORES_H
#define CORES_H

#include "example.h"
#include <time.h>

enum { MOST_CORES = 16 };

struct cores {
    int count, is_busy[MOST_CORES];
    double seconds[MOST_CORES]; /* of naps */
    long units;                 /* of work */
};
static struct cores cores;

/* Nobody works while this is called. */
static inline void begin_cores(void)
{
    int threads = omp_get_max_threads();
    cores = (struct cores){.count = threads < MOST_CORES ? threads : MOST_CORES};
}

static inline void nap(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* Naps on a core that nobody else naps on. */
static inline void nap_on_a_core(double seconds)
{
    int core = 0;
    while (__atomic_exchange_n(&cores.is_busy[core], 1, __ATOMIC_ACQUIRE)) {
        core = (core + 1) % cores.count;
        if (core == 0)
            nap(50e-6); /* the library has added a thread, where others sleep */
    }
    double begin = omp_get_wtime();
    nap(seconds);
    cores.seconds[core] += omp_get_wtime() - begin;
    __atomic_store_n(&cores.is_busy[core], 0, __ATOMIC_RELEASE);
}

/* Some work has been done. */
static inline void count_units(long units)
{
    __atomic_add_fetch(&cores.units, units, __ATOMIC_RELAXED);
}

/* What a core has done: of each, on average, and of that with most to do. */
static inline double mean_of(const struct cores *all, double *most)
{
    double sum = 0;
    for (int c = 0; c < all->count; c++) {
        sum += all->seconds[c];
        *most = all->seconds[c] > *most ? all->seconds[c] : *most;
    }
    return sum / all->count;
}

#endif
