/* What the tests of `priority` share: the order in which tasks start, and one thread that runs them all. */
#ifndef PRIORITY_H
#define PRIORITY_H
#include <sched.h>
#include <unistd.h>
#include "check.h"

static int started[256], starts;

/* Notes that task `id` has started. */
static inline void start(int id)
{
    started[__atomic_fetch_add(&starts, 1, __ATOMIC_SEQ_CST)] = id;
}

/* When did task `id` start? -1: never. */
static inline int place_of(int id)
{
    for (int i = 0; i < starts; i++)
        if (started[i] == id)
            return i;
    return -1;
}

/* Waits until `*flag` is at least `value`, without a task scheduling point; false after 20 seconds. */
static inline int await(int *flag, int value)
{
    double end = omp_get_wtime() + 20;
    while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) < value) {
        if (omp_get_wtime() > end)
            return 0;
        sched_yield();
    }
    return 1;
}

static inline void set(int *flag, int value)
{
    __atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

/* Runs `make`, which creates tasks, and all tasks it makes on one thread of a team of two: the other one is
 * held. In a team of one, tasks may be run as they are created, and their order would say nothing. */
static inline void on_one_thread(void (*make)(void))
{
    int over = 0;
    starts = 0;
#pragma omp parallel num_threads(2) shared(over)
    {
        if (omp_get_thread_num() == 0) {
            CHECK_EQ(omp_get_num_threads(), 2);
            make();
#pragma omp taskwait
            set(&over, 1);
        } else {
            CHECK(await(&over, 1));
        }
    }
}
#endif
