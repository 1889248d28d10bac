/* A library that uses OpenMP, for hosts that do not: plugin_host.c, python.py, Host.java. */
#include "life.h"
static int kept = 3, ready;
#pragma omp threadprivate(kept)
__attribute__((constructor)) static void begins(void)
{
    ready = region();
}
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
/* Large, so that it is in no thread's static storage: every thread gets a block at its first use, and loses
 * it when the plugin is gone. */
static __thread long much[8000] = {[0] = 11, [7999] = 12};
int plugin_storage(int value)
{
    int right = 0, size = 0;
#pragma omp parallel num_threads(2 * TEAM) reduction(+ : right)
    {
        right += much[0] == 11 && much[1] == 0 && much[7999] == 12;
        for (int i = 0; i < 8000; i++)
            much[i] = value + omp_get_thread_num();
#pragma omp barrier
        right += much[0] == value + omp_get_thread_num() && much[7999] == much[0];
#pragma omp single
        size = omp_get_num_threads();
    }
    return right == 2 * size;
}
/* A thread of the plugin calls back, and from there the plugin again, where all of its threads meet. */
void plugin_meet(void)
{
#pragma omp barrier
}
int plugin_call_each(int (*back)(int), int threads)
{
    int sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    for (int round = 0; round < 3; round++)
        sum += back(omp_get_thread_num());
    return sum;
}
int plugin_call(int (*back)(int), int count)
{
    int sum = 0;
#pragma omp parallel for num_threads(TEAM) reduction(+ : sum)
    for (int i = 0; i < count; i++)
        sum += back(i);
    return sum;
}
int Java_Host_run(void *environment, void *class)
{
    return (void)environment, (void)class, plugin_run();
}
