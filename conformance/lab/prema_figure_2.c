// waits: PREMA, Figure 2: T1 for an acknowledgment of T3, T2 for one of T1, T3 for none; they start in that order.
//        A runtime that runs T2 and T3 on the stack of the waiting T1 never comes back to T1.
// free: from 3
#include "lab.h"

int main(void)
{
    int a1 = 0, a3 = 0, seen = 0;
#pragma omp parallel shared(a1, a3, seen)
#pragma omp single
    {
#pragma omp task shared(a1, a3, seen)
        {
            SPIN_UNTIL(LOAD(a3));
            STORE(a1, LOAD(a3) + 1);
        }
#pragma omp task shared(a1, seen)
        {
            SPIN_UNTIL(LOAD(a1));
            ADD(seen, 10 * LOAD(a1));
        }
#pragma omp task shared(a3, seen)
        {
            ADD(seen, 3);
            STORE(a3, 1);
        }
    }
    return answer(seen, 23);
}
