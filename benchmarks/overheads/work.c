/* The work of bodies, the clock, and what else probes call. */
#define _GNU_SOURCE
#include "probe.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_THREADS = 4096, TRIALS = 40, TRIAL_STEPS = 100000 };

static double steps_per_us;

/* One mark per thread number, each on a line of its own. */
static struct {
    int seen;
    char pad[60];
} marks[MOST_THREADS];

static void steps(long count)
{
    unsigned long x = (unsigned long)count;
    for (long i = 0; i < count; ++i) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        __asm__ volatile("" : "+r"(x));
    }
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void work_calibrate(void)
{
    double least = 1e9;
    for (int i = 0; i < TRIALS; ++i) {
        const double start = now();
        steps(TRIAL_STEPS);
        const double took = now() - start;
        if (took < least)
            least = took;
    }
    steps_per_us = TRIAL_STEPS / (least * 1e6);
}

void work(double us)
{
    steps((long)(us * steps_per_us));
}

void ran_here(void)
{
    const int me = omp_get_thread_num();
    if (me < MOST_THREADS)
        __atomic_store_n(&marks[me].seen, 1, __ATOMIC_RELAXED);
}

int threads_seen(void)
{
    int count = 0;
    for (int i = 0; i < MOST_THREADS; ++i)
        count += __atomic_load_n(&marks[i].seen, __ATOMIC_RELAXED);
    return count;
}

void wrong(const char *what)
{
    fprintf(stderr, "wrong result: %s\n", what);
    exit(1);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
