// what: a tied task that waits inside a critical section's neighbourhood starts only its descendants
// threads: 1,2,4
#include "check.h"
/* While a tied task waits in taskwait, its thread may only start tied tasks that descend from it. */
static int depth_of[64];
int main(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 60; i++) {
#pragma omp task firstprivate(i)
        {
            int id = omp_get_thread_num();
            /* No other top-level task of ours may be suspended under this one on the same thread. */
            CHECK_EQ(depth_of[id], 0);
            depth_of[id]++;
            for (int k = 0; k < 4; k++) {
#pragma omp task firstprivate(k)
                for (volatile int spin = 0; spin < 300; spin++) {
                }
            }
#pragma omp taskwait
            CHECK_EQ(omp_get_thread_num(), id);
            depth_of[id]--;
        }
    }
    return check_result();
}
