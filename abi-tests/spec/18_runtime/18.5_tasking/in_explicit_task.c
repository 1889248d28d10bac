// what: omp_in_explicit_task here: @WHERE@
// languages: c, c++
// each: WHERE ; OPEN ; EXPLICIT = sequential ;  ; 0 / region ; _Pragma("omp parallel num_threads(3)") ; 0 / region of one ; _Pragma("omp parallel num_threads(1)") ; 0 / region if 0 ; _Pragma("omp parallel if(0) num_threads(4)") ; 0 / nested ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") ; 0 / three levels ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") ; 0 / one in many ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(1)") ; 0 / many in one ; _Pragma("omp parallel num_threads(1)") _Pragma("omp parallel num_threads(3)") ; 0 / task ; _Pragma("omp parallel num_threads(3)") _Pragma("omp task") ; 1 / task outside ; _Pragma("omp task if(0)") ; 1 / final task ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task final(1)") ; 1 / task of a final one ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task final(1)") _Pragma("omp task") ; 1 / region in a task ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task") _Pragma("omp parallel num_threads(2)") ; 0 / task in nested ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") _Pragma("omp task untied") ; 1
// ours: the library of gcc 12 does not have it, nor does its header
// mode: link
#include "check.h"
#include "newer.h"
int main(void)
{
    omp_set_max_active_levels(4);
    @OPEN@
    CHECK_EQ(!!omp_in_explicit_task(), @EXPLICIT@);
    CHECK_EQ(!!omp_in_explicit_task(), 0);
    return check_result();
}
