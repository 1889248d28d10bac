// what: regions whose team size changes from one to the next, and threads that are reused
#include "check.h"
int main(void)
{
    long total = 0, want = 0;
    for (int round = 0; round < 300; round++) {
        int n = 1 + (round * 7) % 11;
#pragma omp parallel num_threads(n) reduction(+ : total)
        {
            CHECK_EQ(omp_get_num_threads(), n);
            total += omp_get_thread_num() + 1;
        }
        want += (long)n * (n + 1) / 2;
    }
    CHECK_EQ(total, want);
    omp_set_num_threads(3);
    CHECK_EQ(omp_get_max_threads(), 3);
#pragma omp parallel
    CHECK_EQ(omp_get_num_threads(), 3);
    return check_result();
}
