/* Regions in regions: 8 threads, each the first of a team of 8. --threads has no say. */
#include "probe.h"

#include <omp.h>

enum { OUTER = 8, INNER = 8 };

static const double body_us = 10;

/* Bodies count their team: 64 threads are what the figure stands for. */
static void bodies(int *missing)
{
    if (omp_get_num_threads() != INNER)
        __atomic_store_n(missing, 1, __ATOMIC_RELAXED);
    work(body_us);
}

static void from_threads(long times, int empty)
{
    int missing = 0;
    for (long i = 0; i < times; ++i) {
#pragma omp parallel num_threads(OUTER)
        if (empty) {
#pragma omp parallel num_threads(INNER)
            NOTHING;
        } else {
            ran_here();
#pragma omp parallel num_threads(INNER)
            bodies(&missing);
        }
    }
    if (missing)
        wrong("an inner team was too small");
}

static void from_tasks(long times, int empty)
{
    int missing = 0;
    for (long i = 0; i < times; ++i) {
#pragma omp parallel num_threads(OUTER)
#pragma omp single
        for (int task = 0; task < OUTER; ++task) {
#pragma omp task shared(missing)
            if (empty) {
#pragma omp parallel num_threads(INNER)
                NOTHING;
            } else {
                ran_here();
#pragma omp parallel num_threads(INNER) shared(missing)
                bodies(&missing);
            }
        }
    }
    if (missing)
        wrong("an inner team was too small");
}

static void nested(long times)
{
    from_threads(times, 1);
}

static void nested_work(long times)
{
    from_threads(times, 0);
}

static void nested_tasks(long times)
{
    from_tasks(times, 1);
}

static void nested_tasks_work(long times)
{
    from_tasks(times, 0);
}

const struct probe nested_probes[] = {
    {"nested", nested, 1, 0, 0, 0},
    {"nested_work", nested_work, 1, 0, 0, 0},
    {"nested_tasks", nested_tasks, 1, 0, 0, 0},
    {"nested_tasks_work", nested_tasks_work, 1, 0, 0, 0},
    {0, 0, 0, 0, 0, 0},
};
