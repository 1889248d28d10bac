// what: omp_set_max_active_levels(@VALUE@): @RULE@
// languages: c, c++
// each: VALUE ; RULE ; WANT = -1 ; left alone ; before / -77 ; left alone ; before / 0 ; nothing is active ; 0 / 1 ; taken ; 1 / 3 ; taken ; 3 / most ; as it is ; most / 1000000 ; no more than is supported ; (most < 1000000 ? most : 1000000)
// each: BEFORE = 1 / 2 / 5
// expect-stderr: *
#include "check.h"
int main(void)
{
    int most = omp_get_supported_active_levels(), before = @BEFORE@, active = 0;
    CHECK(most >= 5);
    omp_set_max_active_levels(before);
    CHECK_EQ(omp_get_max_active_levels(), before);
    omp_set_max_active_levels(@VALUE@);
    CHECK_EQ(omp_get_max_active_levels(), @WANT@);
#pragma omp parallel num_threads(2) reduction(max : active)
#pragma omp parallel num_threads(2) reduction(max : active)
#pragma omp parallel num_threads(2) reduction(max : active)
    active = omp_get_active_level();
    CHECK_EQ(active, @WANT@ < 3 ? @WANT@ : 3);
    return check_result();
}
