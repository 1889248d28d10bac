/* A library that uses OpenMP, for hosts that do not: plugin_host.c, python.py, Host.java. */
#include "life.h"
static int kept = 3, ready;
#pragma omp threadprivate(kept)
__attribute__((constructor)) static void begins(void) { ready = region(); }
__attribute__((destructor)) static void finishes(void)
{
    if (!region())
        abort();
}
int plugin_run(void)
{
    int right = 0, size = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : right)
    {
        right += kept == 3;
        kept = 4;
#pragma omp barrier
        right += kept == 4;
        kept = 3;
#pragma omp single
        size = omp_get_num_threads();
    }
    return ready && right == 2 * size && tasks() && nested();
}
int plugin_call(int (*back)(int), int count)
{
    int sum = 0;
#pragma omp parallel for num_threads(TEAM) reduction(+ : sum)
    for (int i = 0; i < count; i++)
        sum += back(i);
    return sum;
}
int Java_Host_run(void *environment, void *class) { return (void)environment, (void)class, plugin_run(); }
