// waits: all threads of two inner teams, forked by two threads of an outer one, for all others, in one spinning barrier
// free: from 1
#include "lab.h"

int main(void)
{
    int inner = (omp_get_max_threads() + 1) / 2, seen = 0, outer = 0;
    struct meeting all = {0, 0};
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) shared(all, seen, outer)
    {
#pragma omp parallel num_threads(inner) shared(all, seen)
        {
            for (int round = 0; round < 2; round++) {
                meet(&all, 2 * inner);
                ADD(seen, 1);
            }
        }
#pragma omp barrier
        ADD(outer, LOAD(seen));
    }
    return answer(outer, 8 * inner);
}
