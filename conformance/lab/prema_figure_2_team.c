// waits: PREMA, Figure 2, with handlers that are regions: every task forks a team of two, whose second thread
//        waits for the acknowledgment of the next task while its first waits in the barrier of the inner
//        region
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads();
    int acknowledged[MOST + 1] = {0};
    omp_set_max_active_levels(2);
#pragma omp parallel shared(acknowledged)
#pragma omp single
    {
        acknowledged[n] = 1;
        for (int i = 0; i < n; i++)
#pragma omp task shared(acknowledged) firstprivate(i)
        {
#pragma omp parallel num_threads(2) shared(acknowledged)
            {
                if (omp_get_thread_num() == omp_get_num_threads() - 1)
                    SPIN_UNTIL(LOAD(acknowledged[i + 1]));
#pragma omp barrier
            }
            STORE(acknowledged[i], acknowledged[i + 1] + 2);
        }
    }
    return answer(acknowledged[0], 1 + 2 * n);
}
