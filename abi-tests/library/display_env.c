// what: omp_display_env prints the control variables as they are, verbose or not
// skip: clang<19 borrows a newer omp.h
// threads: 3
// env: OMP_CANCELLATION=true
// expect-stderr: OPENMP DISPLAY ENVIRONMENT BEGIN*_OPENMP*OMP_CANCELLATION*TRUE*OPENMP DISPLAY ENVIRONMENT END
// expect-stderr: OPENMP DISPLAY ENVIRONMENT BEGIN*GANGWAY_TLS*OPENMP DISPLAY ENVIRONMENT END
#include "check.h"
int main(void)
{
    omp_display_env(0);
#pragma omp parallel
#pragma omp single
    omp_display_env(1);
    CHECK_EQ(omp_get_cancellation(), 1);
    return check_result();
}
