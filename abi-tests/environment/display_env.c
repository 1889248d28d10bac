// what: OMP_DISPLAY_ENV prints the variables between the two lines the standard asks for
// env: OMP_DISPLAY_ENV=true OMP_SCHEDULE=dynamic,4
// threads: 3
// expect-stderr: OPENMP DISPLAY ENVIRONMENT BEGIN*_OPENMP*OPENMP DISPLAY ENVIRONMENT END
// expect-stderr: OMP_NUM_THREADS*3
// expect-stderr: OMP_SCHEDULE*4
// expect-stderr: OMP_STACKSIZE
// expect-stderr: OMP_WAIT_POLICY
#include "check.h"
int main(void)
{
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    CHECK_EQ(n, 3);
    return check_result();
}
