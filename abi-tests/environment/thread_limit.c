// what: OMP_THREAD_LIMIT caps the threads of a contention group, nested regions included
// env: OMP_THREAD_LIMIT=6 OMP_MAX_ACTIVE_LEVELS=2
// threads: 4,17
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), most = 0;
    CHECK_EQ(omp_get_thread_limit(), 6);
#pragma omp parallel reduction(max : most)
    {
        CHECK(omp_get_num_threads() <= 6);
        CHECK(omp_get_num_threads() <= n);
        most = omp_get_num_threads();
    }
    CHECK(most >= 1 && most <= 6);
    int now = 0, highest = 0;
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(6)
    for (int i = 0; i < 20; i++) {
        int inside;
#pragma omp atomic capture
        inside = ++now;
#pragma omp critical
        highest = inside > highest ? inside : highest;
#pragma omp atomic
        now--;
    }
    CHECK(highest >= 1 && highest <= 6);
    return check_result();
}
