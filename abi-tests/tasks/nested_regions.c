// what: regions inside tasks, tasks inside them, and what omp_get_* say there
// threads: 1,2,4
#include "check.h"
int main(void)
{
    omp_set_max_active_levels(3);
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 12; i++) {
#pragma omp task firstprivate(i) shared(sum)
        {
            long mine = 0;
            int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) shared(mine)
            {
                CHECK_EQ(omp_get_level(), 2);
                CHECK_EQ(omp_get_ancestor_thread_num(1), outer);
                for (int k = 0; k < 5; k++) {
#pragma omp task shared(mine)
                    {
#pragma omp atomic
                        mine += i + 1;
                    }
                }
            }
            CHECK_EQ(mine, 10 * (i + 1));
#pragma omp atomic
            sum += mine;
        }
    }
    CHECK_EQ(sum, 780);
    return check_result();
}
