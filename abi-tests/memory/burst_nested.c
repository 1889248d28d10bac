// what: trees of tasks that wait for their children: what is resident after ten bursts of 100,000 tasks is what was after two
// threads: 2,4,8
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// opt: -O2
// ours: a bound on what this library keeps; other runtimes are not asked
#include "memory_burst.h"
/* 9 roots with 10 children each, four levels deep: 99,999 tasks. */
static void tree(int depth, int i)
{
    step(i);
    for (int child = 0; depth > 0 && child < 10; child++) {
#pragma omp task
        tree(depth - 1, 10 * i + child);
    }
    if (depth > 0) {
#pragma omp taskwait
    }
}
static void burst(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int root = 0; root < 9; root++) {
#pragma omp task
            tree(4, root);
        }
#pragma omp task
        step(0);
    }
}
int main(void)
{
    return burst_main(burst);
}
