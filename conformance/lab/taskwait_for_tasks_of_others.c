// waits: a taskwait in each of two inner teams for a child that spins until the child of the other team runs
// free: from 2
#include "lab.h"

int main(void)
{
    int flag[2] = {0, 0}, sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) shared(flag, sum)
    {
        int team = omp_get_thread_num();
#pragma omp parallel num_threads(2) shared(flag, sum) firstprivate(team)
#pragma omp single
        {
#pragma omp task shared(flag, sum) firstprivate(team)
            {
                STORE(flag[team], team + 1);
                SPIN_UNTIL(LOAD(flag[1 - team]));
                ADD(sum, LOAD(flag[1 - team]));
            }
#pragma omp taskwait
        }
    }
    return answer(sum, 3);
}
