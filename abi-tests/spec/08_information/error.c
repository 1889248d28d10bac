// what: error at(execution) severity(@SEVERITY@), @WHERE@: the text is on stderr, and the program @ENDING@
// languages: c, c++
// each: SEVERITY ; ENDING ; STATUS = warning ; goes on ; 0 / fatal ; ends ; failure
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(2)") _Pragma("omp single") / in a task ; _Pragma("omp task if(0)")
// expect-exit: @STATUS@
// expect-stderr: mind the gap
// skip: clang<19 it comes with later compilers
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    static int after;
    @OPEN@
    {
#pragma omp error at(execution) severity(@SEVERITY@) message("mind the gap")
        after = 1;
    }
    CHECK_EQ(after, 1);
    return check_result();
}
