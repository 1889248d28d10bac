// Tasks that each take a known processor time, for as long as others let them: by the trace, tasks
// without the times in which they had no processor have to take as long. Prints their microseconds.
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

enum { TASKS = 150, MICROSECONDS = 3000 };

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void work(void)
{
    double begin = processor_time();
    while (processor_time() - begin < MICROSECONDS) {
    }
}

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp task
        work();
    }
    printf("%d\n", TASKS * MICROSECONDS);
}
