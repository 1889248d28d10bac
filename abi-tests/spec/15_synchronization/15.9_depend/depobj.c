// what: depobj of @KIND@, @LATER@: the task waits as with the clause itself
// languages: c, c++
// each: KIND = in / out / inout / mutexinoutset
// each: LATER ; CHANGE = as made ; nothing / after update ; depobj(object) update(inout) / after another update ; depobj(object) update(in)
// skip: clang<19 it comes with later compilers
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    int x = 0;
#pragma omp parallel num_threads(3) shared(x)
#pragma omp single
    for (int round = 1; round <= 10; round++) {
        omp_depend_t object;
#pragma omp depobj(object) depend(@KIND@ : x)
#pragma omp @CHANGE@
#pragma omp task depend(out : x) shared(x)
        x = round;
#pragma omp task depend(depobj : object) shared(x)
        CHECK_EQ(x, round);
#pragma omp taskwait
#pragma omp depobj(object) destroy
    }
    return check_result();
}
