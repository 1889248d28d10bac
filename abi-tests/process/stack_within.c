// what: automatic arrays of 6 MiB fit an OMP_STACKSIZE of 16 MiB on every thread and in nested regions
// env: OMP_STACKSIZE=16M
#include "check.h"
static long touch(int id)
{
    volatile char big[6 << 20];
    long sum = 0;
    for (long i = 0; i < (long)sizeof big; i += 4096) {
        big[i] = (char)id;
        sum += big[i];
    }
    return sum;
}
int main(void)
{
    int n = omp_get_max_threads();
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += touch(1 + omp_get_thread_num());
    CHECK_EQ(sum, 1536L * n * (n + 1) / 2);
    omp_set_max_active_levels(2);
    sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += touch(1);
    CHECK_EQ(sum, 1536L * 4);
    return check_result();
}
