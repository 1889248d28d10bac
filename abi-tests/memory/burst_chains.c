// what: chains of dependences that cross: what is resident after ten bursts of 100,000 tasks is what was after two
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
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
        int mine = i % 1000, other = (i + 64) % 1000;
#pragma omp task depend(inout : cell[mine]) depend(in : cell[other])
        step(mine);
    }
}
int main(void)
{
    return burst_main(burst);
}
