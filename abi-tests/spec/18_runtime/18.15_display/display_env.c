// what: omp_display_env(@VERBOSE@) prints the control variables on stderr, @WHERE@
// languages: c, c++
// each: VERBOSE = 0 / 1
// each: WHERE ; OPEN = outside ; (void)0; / in a region, by one thread ; _Pragma("omp parallel num_threads(2)") _Pragma("omp single") / in a task ; _Pragma("omp task if(0)")
// threads: 3
// expect-stderr: OPENMP DISPLAY ENVIRONMENT BEGIN*_OPENMP*OMP_*OPENMP DISPLAY ENVIRONMENT END
// expect-stderr: OMP_NUM_THREADS*3
// expect-stderr: OMP_SCHEDULE
// expect-stderr: OMP_DYNAMIC
// expect-stderr: OMP_MAX_ACTIVE_LEVELS
// skip: clang<19 borrows a newer omp.h
#include "check.h"
int main(void)
{
    int count = 0;
    @OPEN@
    omp_display_env(@VERBOSE@);
#pragma omp parallel reduction(+ : count)
    count++;
    CHECK_EQ(count, 3);
    return check_result();
}
