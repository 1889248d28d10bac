// waits: the threads of an inner team, forked by a task, for one another in a spinning barrier; more inner teams than threads
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), tasks = n + 2, seen = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel shared(seen)
#pragma omp single
    for (int i = 0; i < tasks; i++)
#pragma omp task shared(seen)
    {
        struct meeting mine = {0, 0};
#pragma omp parallel num_threads(3) shared(seen, mine)
        {
            meet(&mine, omp_get_num_threads());
            ADD(seen, 1);
            meet(&mine, omp_get_num_threads());
        }
    }
    return answer(seen, 3 * tasks);
}
