// what: with KMP_AFFINITY=reset the initial thread is bound in regions only; without OpenMP nobody is
// env: KMP_AFFINITY=reset,granularity=fine,compact
// threads: 2,3
// mode: preload,symlink
// compilers: gcc,clang>=19
// ours: libgomp does not know the variable, and old ones of libomp do not know the modifier
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sched.h>
static cpu_set_t all;
static int is_free(void)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_EQUAL(&mine, &all);
}
static void *not_forking(void *unused)
{
    (void)unused;
    omp_set_num_threads(3);
    CHECK(is_free());
    return NULL;
}
int main(void)
{
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) == 1)
        return 0;
    omp_set_max_active_levels(2);
    for (int round = 0; round < 5; round++) {
#pragma omp parallel
        {
            CHECK(!is_free());
#pragma omp parallel num_threads(2)
#pragma omp master
            CHECK(!is_free());
        }
        CHECK(is_free());
    }
    pthread_t other;
    pthread_create(&other, NULL, not_forking, NULL);
    pthread_join(other, NULL);
    return check_result();
}
