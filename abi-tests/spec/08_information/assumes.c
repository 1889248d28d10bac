// what: @DIRECTIVE@ changes nothing that is true
// languages: c, c++
// each: DIRECTIVE ; FIRST ; ENDS = assumes ; assumes @CLAUSE@ ; 0 / begin assumes ; begin assumes @CLAUSE@ ; 1
// each: CLAUSE = ext_here / absent(target) / contains(parallel)
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// flags: clang -Wno-unknown-assumption
#include "check.h"
#pragma omp @FIRST@
static int twice(int x) { return 2 * x; }
#if @ENDS@
#pragma omp end assumes
#endif
int main(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += twice(omp_get_thread_num());
    CHECK_EQ(sum, 6);
    return check_result();
}
