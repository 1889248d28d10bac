// what: @CALL@ is refused @WHERE@
// languages: c, c++
// each: CALL ; OPEN ; WHERE = omp_pause_resource_all(omp_pause_soft) ; _Pragma("omp parallel num_threads(2)") ; inside a region / omp_pause_resource(omp_pause_hard, omp_get_initial_device()) ; _Pragma("omp parallel num_threads(2)") ; inside a region / omp_pause_resource(omp_pause_soft, omp_get_initial_device() + 5) ; (void)0; ; for a device that is not there / omp_pause_resource(omp_pause_hard, -7) ; (void)0; ; for a negative device / omp_pause_resource((omp_pause_resource_t)99, omp_get_initial_device()) ; (void)0; ; for a kind that is none
// peers: libomp fails, because it pauses inside a region as well
// peers: libgomp fails, because it takes some of these
// skip: clang<19 borrows a newer omp.h
#include "check.h"
int main(void)
{
    int count = 0;
    @OPEN@
    CHECK(@CALL@ != 0);
#pragma omp parallel num_threads(3) reduction(+ : count)
    count++;
    CHECK_EQ(count, 3);
    return check_result();
}
