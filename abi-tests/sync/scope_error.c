// what: scope with reduction and nowait; error at execution with severity(warning) goes on
// compilers: gcc
// expect-stderr: a warning text
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), sum = 0, after = 0;
#pragma omp parallel
    {
#pragma omp scope reduction(+ : sum)
        sum += 1 + omp_get_thread_num();
        CHECK_EQ(sum, n * (n + 1) / 2);
#pragma omp scope nowait
        {
#pragma omp atomic
            after++;
        }
    }
    CHECK_EQ(after, n);
#pragma omp error at(execution) severity(warning) message("a warning text")
    return check_result();
}
