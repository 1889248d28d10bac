/* Tasks that hold locks: what is left of the machine while others wait for them?
 *
 *   contention [--threads T] [--tasks N] [--locks L] [--hold-ms H] [--share P] [--mutex 1]
 *
 * Each of N tasks computes for H milliseconds inside a lock. P per cent of them take one of L common locks,
 * the others one that nobody else wants. Which task takes which is drawn with a fixed seed. A thread that
 * waits for a lock should leave its processor to one that holds one: the ideal is N × H over the processors.
 * --mutex 1 takes pthread_mutex_t instead of omp_lock_t. Prints milliseconds, and the ideal. */
#define _GNU_SOURCE
#include "probe.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    int threads, tasks, locks, share, mutex;
    double hold_ms;
};

union lock {
    omp_lock_t omp;
    pthread_mutex_t posix;
};

static union lock *all;

/* What is inside each lock: two holders at once would be seen. */
static int *inside;

static void hold(const struct options *o, int at)
{
    if (o->mutex)
        pthread_mutex_lock(&all[at].posix);
    else
        omp_set_lock(&all[at].omp);
    if (__atomic_exchange_n(&inside[at], 1, __ATOMIC_RELAXED))
        wrong("a lock let two tasks in");
    work(o->hold_ms * 1e3);
    __atomic_store_n(&inside[at], 0, __ATOMIC_RELAXED);
    if (o->mutex)
        pthread_mutex_unlock(&all[at].posix);
    else
        omp_unset_lock(&all[at].omp);
}

/* Numerical Recipes' generator: the same tasks in every run. */
static unsigned draw(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static double run(const struct options *o)
{
    unsigned state = 7;
    const double start = now();
#pragma omp parallel num_threads(o->threads)
#pragma omp single
    for (int i = 0; i < o->tasks; ++i) {
        const int contends = (int)(draw(&state) % 100) < o->share;
        const int at = contends ? (int)(draw(&state) % (unsigned)o->locks) : o->locks + i;
#pragma omp task firstprivate(at)
        {
            ran_here();
            hold(o, at);
        }
    }
    return (now() - start) * 1e3;
}

static void prepare(const struct options *o)
{
    const size_t count = (size_t)(o->locks + o->tasks);
    all = calloc(count, sizeof *all);
    inside = calloc(count, sizeof *inside);
    if (all == NULL || inside == NULL)
        wrong("no memory");
    for (size_t i = 0; i < count; ++i) {
        if (o->mutex)
            pthread_mutex_init(&all[i].posix, NULL);
        else
            omp_init_lock(&all[i].omp);
    }
}

int main(int argc, char **argv)
{
    struct options o = {2, 100, 10, 50, 0, 50};
    for (int i = 1; i < argc; i += 2) {
        const double value = i + 1 < argc ? atof(argv[i + 1]) : -1;
        if (strcmp(argv[i], "--threads") == 0)
            o.threads = (int)value;
        else if (strcmp(argv[i], "--tasks") == 0)
            o.tasks = (int)value;
        else if (strcmp(argv[i], "--locks") == 0)
            o.locks = (int)value;
        else if (strcmp(argv[i], "--share") == 0)
            o.share = (int)value;
        else if (strcmp(argv[i], "--hold-ms") == 0)
            o.hold_ms = value;
        else if (strcmp(argv[i], "--mutex") == 0)
            o.mutex = value > 0;
        else
            o.threads = 0;
    }
    if (o.threads < 1 || o.tasks < 1 || o.locks < 1 || o.share < 0 || o.share > 100 || o.hold_ms <= 0) {
        fprintf(
            stderr,
            "usage: contention [--threads T] [--tasks N] [--locks L] [--hold-ms H] [--share P] [--mutex 1]\n");
        return 2;
    }
    omp_set_dynamic(0);
    work_calibrate();
    prepare(&o);
    const double took = run(&o), cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    const double ideal = o.tasks * o.hold_ms / (cores < o.threads ? cores : o.threads);
    printf("# least\tmedian\tunit\tideal\tthreads_seen\n%.3f\t%.3f\tms\t%.3f\t%d\n", took, took, ideal,
           threads_seen());
    return 0;
}
