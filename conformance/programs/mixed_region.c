/* Regions of one compiler inside regions of the other. Built twice, as a library each: -DPREFIX=by_gcc with
   gcc, -DPREFIX=by_clang with clang. Both have a threadprivate variable and tasks of their own. */
#include "mixed_region.h"
#include <omp.h>
#include <stdio.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

static int mine;
#pragma omp threadprivate(mine)

static long tasks_of(int n)
{
    long left = 0, right = 0;
    if (n < 2)
        return n;
#pragma omp task shared(left) if (n > 6)
    left = tasks_of(n - 1);
    right = tasks_of(n - 2);
#pragma omp taskwait
    return left + right;
}

static long kernel_threads(void)
{
    char line[256];
    long threads = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "Threads: %ld", &threads);
    if (status)
        fclose(status);
    return threads;
}

/* Two threads: a loop with a reduction and a task tree. */
long JOIN(PREFIX, _inner)(int seed)
{
    long sum = 0, tasks = 0, wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum, wrong)
    {
        int here = seed * 2 + omp_get_thread_num();
        mine = here;
#pragma omp for schedule(dynamic, 8)
        for (int i = 0; i < 200; i++)
            sum += i ^ seed;
#pragma omp single
        tasks = tasks_of(10);
        wrong += mine != here || omp_get_num_threads() != 2;
    }
    return sum + tasks - 1000000 * wrong;
}

struct mixed_result JOIN(PREFIX, _outer)(int threads, int rounds, inner_region *inner)
{
    struct mixed_result all = {0, 0, 0};
    for (int round = 0; round < rounds; round++) {
        long sum = 0, wrong = 0, workers = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum, wrong) reduction(max : workers)
        {
            int me = omp_get_thread_num(), team = omp_get_num_threads();
            mine = 100 + me;
            sum += inner(me + round);
#pragma omp barrier
#pragma omp for schedule(static, 1)
            for (int k = 0; k < 2 * threads; k++)
                sum += inner(k);
#pragma omp single
            for (int k = 0; k < 4; k++) {
#pragma omp task firstprivate(k)
                {
                    long got = inner(k);
#pragma omp atomic
                    all.sum += got;
                }
            }
            /* The inner regions write the other library's variable. */
            wrong += mine != 100 + me || team != threads || omp_get_level() != 1;
            workers = kernel_threads();
        }
        all.sum += sum, all.wrong += wrong;
        if (workers > all.workers)
            all.workers = workers;
    }
    return all;
}
