// what: an interop object that is none any more: @WHAT@
// each: WHAT ; CLAUSE = use ; use / destroy ; destroy
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// expect-exit: 1
// expect-stderr: gangway: interop @WHAT@: there is no object 0x*: it was not initialised, or was destroyed before; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 1,3
// threads: 4
// mode: preload
// ours: interop objects
#include "device.h"
int main(void)
{
    omp_interop_t object = omp_interop_none, other;
#pragma omp interop init(targetsync : object)
    other = object;
#pragma omp interop destroy(object)
#pragma omp interop @CLAUSE@(other)
    return 0;
}
