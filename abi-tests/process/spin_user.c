// what: threads of a region that wait for each other with sched_yield, invisibly to the runtime
// threads: 1,2,4,8
#include "check.h"
#include <sched.h>
int main(void)
{
    int turn = 0, n = omp_get_max_threads();
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        for (int round = 0; round < 20; round++) {
            while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != round * n + id)
                sched_yield();
            __atomic_store_n(&turn, round * n + id + 1, __ATOMIC_RELEASE);
        }
    }
    CHECK_EQ(turn, 20 * n);
    return check_result();
}
