// what: masked with and without filter
// compilers: gcc,clang>=19
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), zero = 0, last = 0, each = 0, none = 0;
#pragma omp parallel
    {
#pragma omp masked
        zero += 1 + omp_get_thread_num();
#pragma omp masked filter(n - 1)
        last += 1 + omp_get_thread_num();
#pragma omp masked filter(omp_get_thread_num())
        {
#pragma omp atomic
            each++;
        }
#pragma omp masked filter(n)
        none++;
    }
    CHECK_EQ(zero, 1);
    CHECK_EQ(last, n);
    CHECK_EQ(each, n);
    CHECK_EQ(none, 0);
    return check_result();
}
