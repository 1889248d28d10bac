// what: omp_set_nested(@VALUE@) after omp_set_max_active_levels(@LEVELS@)
// languages: c, c++
// each: VALUE ; NESTED = 1 ; 1 / 0 ; 0 / 7 ; 1
// each: LEVELS = 1 / 3
// flags: all -Wno-deprecated-declarations
// expect-stderr: *
#include "check.h"
int main(void)
{
    int inner = 0;
    omp_set_max_active_levels(@LEVELS@);
    CHECK_EQ(!!omp_get_nested(), @LEVELS@ > 1);
    omp_set_nested(@VALUE@);
    CHECK_EQ(!!omp_get_nested(), @NESTED@);
    CHECK_EQ(omp_get_max_active_levels() > 1, @NESTED@);
#pragma omp parallel num_threads(2) reduction(max : inner)
#pragma omp parallel num_threads(2) reduction(max : inner)
    inner = omp_get_num_threads();
    CHECK_EQ(inner, 1 + @NESTED@);
    return check_result();
}
