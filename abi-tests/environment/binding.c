// what: OMP_PLACES=threads and OMP_PROC_BIND=spread bind each thread to one processor, and use all the process has
// env: OMP_PLACES=threads OMP_PROC_BIND=spread
// threads: 1,2,4
// mode: preload,symlink
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>
#include <unistd.h>
int main(void)
{
    /* The parent has not been bound by any runtime: its mask is what this process may use. */
    cpu_set_t all, used;
    CHECK_EQ(sched_getaffinity(getppid(), sizeof all, &all), 0);
    CPU_ZERO(&used);
    CHECK_EQ(omp_get_num_places(), CPU_COUNT(&all));
    CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_spread);
    int size = 0;
#pragma omp parallel
    {
        cpu_set_t mine;
        CPU_ZERO(&mine);
        sched_getaffinity(0, sizeof mine, &mine);
#pragma omp critical
        {
            size = omp_get_num_threads();
            CHECK_EQ(CPU_COUNT(&mine), 1);
            CHECK(omp_get_place_num() >= 0);
            CPU_OR(&used, &used, &mine);
        }
    }
    int places = CPU_COUNT(&all);
    CHECK_EQ(CPU_COUNT(&used), size < places ? size : places);
    return check_result();
}
