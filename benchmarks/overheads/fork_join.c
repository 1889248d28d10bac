/* Regions and what all threads of a team do together. */
#include "probe.h"

#include <omp.h>

static void parallel(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
        NOTHING;
    }
}

/* The arguments make the compilers' ways of passing them count: three shared variables, one of them written.
 */
static void parallel_shared(long times)
{
    long a = 1, b = 2, c = 0;
    for (long i = 0; i < times; ++i) {
#pragma omp parallel shared(a, b, c)
        if (omp_get_thread_num() == 0)
            c = a + b;
    }
    if (c != 3)
        wrong("a shared variable was not written");
}

static void barrier(long times)
{
#pragma omp parallel
    for (long i = 0; i < times; ++i) {
#pragma omp barrier
    }
}

static void reduction(long times)
{
    for (long i = 0; i < times; ++i) {
        double sum = 0;
#pragma omp parallel reduction(+ : sum)
        sum += 1;
        if (sum != team_size)
            wrong("reduction");
    }
}

static void single(long times)
{
    long count = 0;
#pragma omp parallel
    for (long i = 0; i < times; ++i) {
#pragma omp single
        ++count;
    }
    if (count != times)
        wrong("single");
}

static void single_nowait(long times)
{
    long count = 0;
#pragma omp parallel
    for (long i = 0; i < times; ++i) {
#pragma omp single nowait
        __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    }
    if (count != times)
        wrong("single nowait");
}

static void copyprivate(long times)
{
    int fine = 1;
#pragma omp parallel reduction(&& : fine)
    for (long i = 0; i < times; ++i) {
        long seen = -1;
#pragma omp single copyprivate(seen)
        seen = i;
        fine = fine && seen == i;
    }
    if (!fine)
        wrong("copyprivate");
}

static void masked(long times)
{
    long count = 0;
#pragma omp parallel
    for (long i = 0; i < times; ++i) {
#pragma omp master
        ++count;
        NOTHING;
    }
    if (count != times)
        wrong("master");
}

/* As in EPCC's array benchmarks: 729 doubles for each thread. */
enum { ARRAY = 729 };

static void firstprivate(long times)
{
    double array[ARRAY] = {1};
    for (long i = 0; i < times; ++i) {
#pragma omp parallel firstprivate(array)
        __asm__ volatile("" : : "r"(array) : "memory");
    }
}

static double own[ARRAY];
#pragma omp threadprivate(own)

static void copyin(long times)
{
    own[ARRAY - 1] = 5;
    int fine = 1;
    for (long i = 0; i < times; ++i) {
#pragma omp parallel copyin(own) reduction(&& : fine)
        fine = fine && own[ARRAY - 1] == 5;
    }
    if (!fine)
        wrong("copyin");
}

const struct probe fork_join_probes[] = {
    {"parallel", parallel, 1, 0, 0, 0},
    {"parallel_shared", parallel_shared, 1, 0, 0, 0},
    {"barrier", barrier, 1, 0, 0, 0},
    {"reduction", reduction, 1, 0, 0, 0},
    {"single", single, 1, 0, 0, 0},
    {"single_nowait", single_nowait, 1, 0, 0, 0},
    {"copyprivate", copyprivate, 1, 0, 0, 0},
    {"master", masked, 1, 0, 0, 0},
    {"firstprivate", firstprivate, 1, 0, 0, 0},
    {"copyin", copyin, 1, 0, 0, 0},
    {0, 0, 0, 0, 0, 0},
};
