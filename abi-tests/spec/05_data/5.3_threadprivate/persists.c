// what: threadprivate @KIND@ persists from region to region of one size, copyin gives the primary's value
// languages: c, c++
// each: KIND ; DECLARE ; GET ; SET = int ; static int v ; v ; v = x / array ; static long v[9] ; v[8] ; v[8] = x / struct ; static struct { char a; double b; } v ; v.b ; v.b = x
#include "check.h"
@DECLARE@;
#pragma omp threadprivate(v)
int main(void)
{
    int n = omp_get_max_threads(), x = 0, sum = 0;
    omp_set_dynamic(0);
#pragma omp parallel private(x)
    {
        x = omp_get_thread_num() * 3 + 1;
        @SET@;
    }
#pragma omp parallel reduction(+ : sum)
    {
        CHECK_EQ(@GET@, omp_get_thread_num() * 3 + 1);
        sum++;
    }
    x = 500;
    @SET@;
#pragma omp parallel copyin(v) private(x) reduction(+ : sum)
    {
        CHECK_EQ(@GET@, 500);
#pragma omp barrier
        x = 600 + omp_get_thread_num();
        @SET@;
#pragma omp barrier
        CHECK_EQ(@GET@, 600 + omp_get_thread_num());
        sum++;
    }
    CHECK_EQ(@GET@, 600);
    CHECK_EQ(sum, 2 * n);
    return check_result();
}
