// waits: the leaves of three levels of regions for each other: 2 x 2 x 3 threads in one spinning barrier, while their parents wait in theirs
// free: from 1
#include "lab.h"

int main(void)
{
    struct meeting all = {0, 0};
    int leaves = 0, middle = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2) shared(all, leaves, middle)
    {
#pragma omp parallel num_threads(2) shared(all, leaves, middle)
        {
#pragma omp parallel num_threads(3) shared(all, leaves)
            {
                ADD(leaves, 1);
                meet(&all, 12);
            }
            ADD(middle, LOAD(leaves));
        }
    }
    return answer(middle, 48);
}
