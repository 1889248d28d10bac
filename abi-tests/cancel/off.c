// what: without OMP_CANCELLATION cancel does nothing
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), past = 0, iterations = 0;
    CHECK_EQ(omp_get_cancellation(), 0);
#pragma omp parallel
    {
#pragma omp cancel parallel
#pragma omp atomic
        past++;
    }
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < 100; i++) {
#pragma omp cancel for
#pragma omp atomic
            iterations++;
        }
    }
    CHECK_EQ(past, n);
    CHECK_EQ(iterations, 100);
    return check_result();
}
