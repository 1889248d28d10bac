// what: threads that wait in an explicit barrier of a cancelled region leave it
// env: OMP_CANCELLATION=true
#include "check.h"
int main(void)
{
    for (int round = 0; round < 30; round++) {
        int past = 0, n = omp_get_max_threads();
#pragma omp parallel
        {
            if (omp_get_thread_num() == n - 1) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            past++;
        }
        CHECK_EQ(past, 0);
        int again = 0;
#pragma omp parallel
        {
#pragma omp barrier
#pragma omp atomic
            again++;
        }
        CHECK_EQ(again, n);
    }
    return check_result();
}
