// what: threads that cannot be bound, because their processors do not exist, give one line and go on
// env: OMP_PLACES=threads OMP_PROC_BIND=close
// threads: 1,4
// mode: preload,link
// ours: only Gangway knows the variable
// expect-stderr: gangway: no thread can be bound to processors 6*: Invalid argument
// expect-stderr-lines: 1
#define _GNU_SOURCE
#include "machine.h"
#include <sched.h>
int main(void)
{
    int count = 0;
    describe_machine("cpus 60000-60007\n");
    int threads = omp_get_max_threads();
    machine_is_known();
    cpu_set_t before, mine;
    CHECK_EQ(sched_getaffinity(getppid(), sizeof before, &before), 0);
    for (int i = 0; i < 20; i++)
#pragma omp parallel reduction(+ : count)
    {
        count++;
        CHECK_EQ(omp_get_place_num(), omp_get_thread_num());
    }
    CHECK_EQ(count, 20 * threads);
    CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    CHECK(CPU_EQUAL(&mine, &before));
    return check_result();
}
