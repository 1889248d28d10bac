// what: without a number, OMP_DISPLAY_ENV=verbose says that the number of running workers follows the processors
// env: OMP_DISPLAY_ENV=verbose
// threads: 2
// mode: preload
// compilers: gcc,clang>=19
// ours: the variable is Gangway's
// expect-stderr: GANGWAY_WORKERS='auto'
#include "check.h"
int main(void)
{
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    CHECK_EQ(n, 2);
    return check_result();
}
