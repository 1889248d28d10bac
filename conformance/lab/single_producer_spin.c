// waits: threads past a single nowait, spinning outside any scheduling point, for the thread in it, which waits for the tasks it has created there
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), sum = 0, ready = 0, seen = 0;
#pragma omp parallel shared(sum, ready, seen)
    {
#pragma omp single nowait
        {
            for (int i = 1; i <= 10; i++)
#pragma omp task shared(sum) firstprivate(i)
                ADD(sum, i);
#pragma omp taskwait
            STORE(ready, LOAD(sum));
        }
        SPIN_UNTIL(LOAD(ready));
        ADD(seen, LOAD(ready));
    }
    return answer(seen, 55 * n);
}
