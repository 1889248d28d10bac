// what: KMP_HW_SUBSET leaves a part of the machine: places are made of it, and there are as many threads
// env: KMP_HW_SUBSET=1s,1c,1t OMP_PLACES=threads
// threads: 2
// mode: preload,symlink
// compilers: gcc,clang>=19
// ours: libgomp does not know the variable, and libomp takes hardware threads from the whole machine
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>
int main(void)
{
    CHECK_EQ(omp_get_num_places(), 1);
    CHECK_EQ(omp_get_num_procs(), 1);
    CHECK_EQ(omp_get_place_num_procs(0), 1);
    int proc;
    omp_get_place_proc_ids(0, &proc);
#pragma omp parallel
    {
        cpu_set_t mine;
        CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
        CHECK(CPU_COUNT(&mine) == 1 && CPU_ISSET(proc, &mine));
    }
    return check_result();
}
