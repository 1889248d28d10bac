// what: 10,000 nested regions of 4 x 4, repeated ten times
// stress: yes
// alone: yes
// mode: preload
// threads: 4
// compilers: gcc,clang>=19
// opt: -O2
// timeout: 300
/* Each of the sixteen threads may need a parked kernel thread whose storage it borrows, and no more than
 * that. */
#define STEADY_LATE 16
#include "steady.h"
static long total;
static void work(void)
{
    for (int i = 0; i < 10000; i++) {
#pragma omp parallel num_threads(4)
#pragma omp parallel num_threads(4)
        {
#pragma omp atomic
            total++;
        }
    }
}
int main(void)
{
    omp_set_max_active_levels(2);
    steady(work);
    CHECK_EQ(total, 1600000);
    return check_result();
}
