// what: dynamic and guided loops share uneven work among nested teams, several loops at once
// threads: 2,4,8
#include "check.h"
int main(void)
{
    omp_set_max_active_levels(2);
    long total = 0;
    int n = omp_get_max_threads();
#pragma omp parallel reduction(+ : total)
    {
        long mine = 0;
#pragma omp parallel num_threads(3) reduction(+ : mine)
        {
#pragma omp for schedule(dynamic, 2) nowait
            for (int i = 0; i < 60; i++) {
                for (volatile int spin = 0; spin < i * 20; spin++) {
                }
                mine += i;
            }
#pragma omp for schedule(guided)
            for (long i = 0; i < 60; i++)
                mine += i;
        }
        total += mine;
    }
    CHECK_EQ(total, 3540L * n);
    return check_result();
}
