// what: none can begin before all have been made, so that the burst is in memory as a whole: what is resident after ten bursts of 100,000 tasks is what was after two
// threads: 2,4,8
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// timeout: 120
// opt: -O2
// ours: a bound on what this library keeps; other runtimes are not asked
// All become ready at once, on a thread's deque, whose room (1 MiB, and as much that it has outgrown) stays
// that thread's. So what is resident grows a little when another thread makes the tasks.
#define GROWTH 10
#include "memory_burst.h"
static void burst(void)
{
    int gate = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t open;
#pragma omp task detach(open) depend(out : gate)
        gate = 1;
        for (int i = 0; i < TASKS; i++) {
#pragma omp task depend(in : gate) depend(inout : cell[i])
            step(i);
        }
        omp_fulfill_event(open);
    }
}
int main(void)
{
    return burst_main(burst);
}
