/* Mutual exclusion. Nanoseconds from one acquisition to the next, over all threads. */
#include "probe.h"

#include <omp.h>

enum { PAIRS = 1000 };

static void lock(long times)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    long count = 0;
#pragma omp parallel
    for (long i = 0; i < times * PAIRS; ++i) {
        omp_set_lock(&lock);
        ++count;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    if (count != times * PAIRS * team_size)
        wrong("a lock let two threads in");
}

static void nest_lock(long times)
{
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    long count = 0;
#pragma omp parallel
    for (long i = 0; i < times * PAIRS; ++i) {
        omp_set_nest_lock(&lock);
        ++count;
        omp_unset_nest_lock(&lock);
    }
    omp_destroy_nest_lock(&lock);
    if (count != times * PAIRS * team_size)
        wrong("a nest lock let two threads in");
}

static void critical(long times)
{
    long count = 0;
#pragma omp parallel
    for (long i = 0; i < times * PAIRS; ++i) {
#pragma omp critical
        ++count;
    }
    if (count != times * PAIRS * team_size)
        wrong("critical let two threads in");
}

static void atomic(long times)
{
    long count = 0;
#pragma omp parallel
    for (long i = 0; i < times * PAIRS; ++i) {
#pragma omp atomic
        ++count;
    }
    if (count != times * PAIRS * team_size)
        wrong("atomic");
}

/* Every thread has a lock of its own: what a lock costs when nobody else wants it. */
static void own_lock(long times)
{
#pragma omp parallel
    {
        omp_lock_t lock;
        omp_init_lock(&lock);
        for (long i = 0; i < times * PAIRS; ++i) {
            omp_set_lock(&lock);
            NOTHING;
            omp_unset_lock(&lock);
        }
        omp_destroy_lock(&lock);
    }
}

const struct probe lock_probes[] = {
    {"lock", lock, PAIRS, 1, 0, 0},           {"critical", critical, PAIRS, 1, 0, 0},
    {"nest_lock", nest_lock, PAIRS, 1, 0, 0}, {"own_lock", own_lock, PAIRS, 1, 0, 0},
    {"atomic", atomic, PAIRS, 1, 0, 0},       {0, 0, 0, 0, 0, 0},
};
