// what: a thread that overruns its stack ends the program with a message that names OMP_STACKSIZE
// env: OMP_STACKSIZE=512K
// threads: 2,4
// ours: peers end with a bare segmentation fault
// expect-exit: failure
// expect-stderr: OMP_STACKSIZE
// expect-stderr-lines: 1
#include "check.h"
static int recurse(int depth)
{
    volatile char frame[1000];
    frame[0] = (char)depth;
    return depth > 100000000 ? frame[0] : recurse(depth + 1) + frame[0];
}
int main(void)
{
    int result = 0;
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1)
        result = recurse(0);
    return result == -1;
}
