// Each task uses 3 ms of processor time. In the trace, task time minus `runnable` time must equal that.
#define _GNU_SOURCE
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
}
