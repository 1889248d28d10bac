/* A process that meets the runtime cold. Prints the microseconds of its first region, of its second one, and
 * of the first tasks. May not live here: anything that runs before the first region, or that another probe
 * needs. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

enum { THREADS_AT_MOST = 1024, TASKS = 32 };

static int visits[THREADS_AT_MOST], runs[TASKS];

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void region(void)
{
#pragma omp parallel
    ++visits[omp_get_thread_num() % THREADS_AT_MOST];
}

static void tasks(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; ++i) {
#pragma omp task firstprivate(i)
        ++runs[i];
    }
}

int main(void)
{
    const double start = now_us();
    region();
    const double first = now_us();
    region();
    const double second = now_us();
    tasks();
    const double third = now_us();
    for (int i = 0; i < TASKS; ++i)
        if (runs[i] != 1)
            return 1;
    printf("%.3f %.3f %.3f\n", first - start, second - first, third - second);
    return visits[0] != 2;
}
