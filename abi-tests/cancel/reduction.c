// what: a region with a reduction is cancelled by one thread: those that come to the reduction do not wait for it
// env: OMP_CANCELLATION=true
// timeout: 20
// peers: libomp fails, because threads wait in the reduction for the one that left
#include "check.h"
int main(void)
{
    int left = 0;
    for (int round = 0; round < 50; round++) {
        int sum = 0, ended = 0, other = 0;
        double product = 1;
#pragma omp parallel reduction(+ : sum) reduction(* : product) shared(ended, other)
        {
            if (omp_get_thread_num() == round % omp_get_num_threads()) {
#pragma omp cancel parallel
            }
            sum += 1;
            product *= 2;
#pragma omp for reduction(+ : other)
            for (int i = 0; i < 10; i++)
                other++;
#pragma omp atomic
            ended++;
        }
        left += ended == omp_get_max_threads();
    }
    CHECK_EQ(left, 0);
    return check_result();
}
