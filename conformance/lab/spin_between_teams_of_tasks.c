// waits: the inner team of one task for the inner team of another, thread by thread, and between the waits all threads of each team in its barrier
// free: from 2
#include "lab.h"

int main(void)
{
    int turn[2][3] = {{0}}, sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel shared(turn, sum)
#pragma omp single
    for (int team = 0; team < 2; team++)
#pragma omp task shared(turn, sum) firstprivate(team)
    {
#pragma omp parallel num_threads(3) shared(turn, sum)
        {
            int me = omp_get_thread_num();
            for (int round = 1; round <= 2; round++) {
                STORE(turn[team][me], round);
                SPIN_UNTIL(LOAD(turn[1 - team][me]) >= round);
#pragma omp barrier
            }
            ADD(sum, LOAD(turn[1 - team][me]));
        }
    }
    return answer(sum, 12);
}
