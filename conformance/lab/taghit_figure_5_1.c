// waits: TagHit, Figure 5.1: Task 1 in a taskwait for its child Task 3, which stands in the queue behind Task 2; Task 2 for Task 1.
//        A queue that runs its tasks in order, on the stack of who waits, never comes to Task 3.
// free: from 2
#include "lab.h"

int main(void)
{
    int pairs = omp_get_max_threads() / 2, child[MOST] = {0}, first[MOST] = {0}, sum = 0;
#pragma omp parallel shared(child, first, sum)
#pragma omp single
    for (int i = 0; i < pairs; i++) {
#pragma omp task shared(child, first) firstprivate(i)
        {
#pragma omp task shared(child) firstprivate(i)
            STORE(child[i], i + 1);
#pragma omp taskwait
            STORE(first[i], LOAD(child[i]) + 1);
        }
#pragma omp task shared(first, sum) firstprivate(i)
        {
            SPIN_UNTIL(LOAD(first[i]));
            ADD(sum, LOAD(first[i]));
        }
    }
    return answer(sum, pairs * (pairs + 3) / 2);
}
