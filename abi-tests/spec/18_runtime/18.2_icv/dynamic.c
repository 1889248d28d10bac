// what: omp_set_dynamic(@VALUE@), @WHERE@: get says so; a team is @RULE@
// languages: c, c++
// each: VALUE ; ON ; RULE = 1 ; 1 ; no larger than asked for / 0 ; 0 ; as large as asked for / -3 ; 1 ; no larger than asked for
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(1)") / in a task ; _Pragma("omp task if(0)")
// each: SIZE = 2 / 9
#include "check.h"
int main(void)
{
    int size = 0;
    @OPEN@
    {
        omp_set_dynamic(@VALUE@);
        CHECK_EQ(!!omp_get_dynamic(), @ON@);
        omp_set_max_active_levels(3);
#pragma omp parallel num_threads(@SIZE@) reduction(max : size)
        {
            size = omp_get_num_threads();
            CHECK_EQ(!!omp_get_dynamic(), @ON@);
        }
        CHECK(@ON@ ? size >= 1 && size <= @SIZE@ : size == @SIZE@);
    }
    return check_result();
}
