// what: nothing, @WHERE@
// languages: c, c++
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(3)") / in a task ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task")
// skip: clang<19 it comes with later compilers
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    @OPEN@
    {
        int x = omp_get_thread_num();
#pragma omp nothing
        CHECK_EQ(x, omp_get_thread_num());
    }
    return check_result();
}
