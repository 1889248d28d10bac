// what: all threads make some: what is resident after ten bursts of 100,000 tasks is what was after two
// threads: 2,4,8
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// opt: -O2
// ours: a bound on what this library keeps; other runtimes are not asked
#include "memory_burst.h"
static void burst(void)
{
#pragma omp parallel
    {
        int n = omp_get_num_threads();
        for (int i = omp_get_thread_num(); i < TASKS; i += n) {
#pragma omp task
            step(i);
        }
    }
}
int main(void)
{
    return burst_main(burst);
}
