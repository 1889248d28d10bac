// waits: philosophers at a round table: each for two OpenMP locks, in the order of their numbers, and while eating for a child task
// free: from 2
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), eaten = 0, at[MOST] = {0}, wrong = 0;
    omp_lock_t fork[MOST];
    for (int i = 0; i < n; i++)
        omp_init_lock(&fork[i]);
#pragma omp parallel shared(eaten, at, wrong, fork)
    {
        int me = omp_get_thread_num(), other = (me + 1) % n, low = me < other ? me : other,
            high = me + other - low;
        for (int meal = 0; meal < 5; meal++) {
            omp_set_lock(&fork[low]);
            omp_set_lock(&fork[high]);
            ADD(wrong, at[low]++ + at[high]++);
#pragma omp task shared(eaten)
            ADD(eaten, 1);
#pragma omp taskwait
            at[low]--;
            at[high]--;
            omp_unset_lock(&fork[high]);
            omp_unset_lock(&fork[low]);
        }
    }
    return answer(eaten + 1000 * wrong, 5 * n);
}
