// what: error at execution: severity(warning) goes on, severity(fatal) stops
// compilers: gcc,clang>=19
// flags: clang -fopenmp-version=51
// expect-exit: failure
// expect-stderr: it goes on*it stops
// threads: 1,4
#include "check.h"
int main(void)
{
#pragma omp error at(execution) severity(warning) message("it goes on")
#pragma omp error at(execution) severity(fatal) message("it stops")
    return 0;
}
