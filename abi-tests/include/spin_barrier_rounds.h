/* The body of spin/barrier*.c: SPIN_STEP, if any, is set by the program. */
#include "check.h"
#include "spin.h"
#ifndef ROUNDS
#define ROUNDS 25
#endif
int main(void)
{
    struct spin_barrier barrier = {0, 0};
    int n = omp_get_max_threads(), last = -1;
#pragma omp parallel shared(barrier, last)
    for (int round = 0; round < ROUNDS; round++) {
        if (omp_get_thread_num() == round % n)
            last = round; /* ordered by the barriers alone */
        spin_wait(&barrier, n);
        CHECK_EQ(last, round);
        spin_wait(&barrier, n);
    }
    CHECK_EQ(barrier.round, 2 * ROUNDS);
    return check_result();
}
