/* A program without a parallel region, on all cores: tasks that free agents may run (OpenMP 6.0,
   `threadset(omp_pool)`; here said by a routine, for compilers that do not know the clause, include/ompx.h).
   It integrates a function by halving intervals until they are fine enough: plain recursion, with a task for
   the left half. Prints how much faster that is than without tasks, and how many tasks free agents ran.

       gcc -O2 -fopenmp -Iinclude examples/free_agents.c -o free_agents -lm */
#include "ompx.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>

#pragma weak ompx_set_task_pool
#pragma weak omp_is_free_agent
int omp_is_free_agent(void);

static long by_agents;

static double f(double x)
{
    return sin(1 / x) * exp(-x);
}

/* The integral from a to b, whose trapezium is `whole`. Intervals below `grain` are worth no task. */
static double integrate(double a, double b, double whole, double grain)
{
    double middle = (a + b) / 2, left = (middle - a) * (f(a) + f(middle)) / 2,
           right = (b - middle) * (f(middle) + f(b)) / 2;
    if (fabs(left + right - whole) < 3e-10 * (b - a))
        return left + right;
    double first, second;
    if (b - a < grain)
        return integrate(a, middle, left, grain) + integrate(middle, b, right, grain);
    if (ompx_set_task_pool)
        ompx_set_task_pool(); /* #pragma omp task threadset(omp_pool) shared(first) */
#pragma omp task shared(first)
    {
        if (omp_is_free_agent && omp_is_free_agent()) {
#pragma omp atomic
            by_agents++;
        }
        first = integrate(a, middle, left, grain);
    }
    second = integrate(middle, b, right, grain);
#pragma omp taskwait
    return first + second;
}

static double timed(double grain, double *result)
{
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double start = omp_get_wtime(), a = 0.02, b = 4;
        *result = integrate(a, b, (b - a) * (f(a) + f(b)) / 2, grain);
        double time = omp_get_wtime() - start;
        best = time < best ? time : best;
    }
    return best;
}

int main(void)
{
    double plain, tasks, alone = timed(1e9, &plain), together = timed(0.001, &tasks);
    printf(
        "%.9f in %.1f ms, without tasks in %.1f ms: %.2f times as fast, by %d thread and its free agents, which ran %ld tasks\n",
        tasks, together * 1e3, alone * 1e3, alone / together, omp_get_num_threads(), by_agents);
    return fabs(plain - tasks) > 1e-9;
}
