// what: what the program puts on a stream fails: @WHAT@ says so
// each: WHAT ; CLAUSE ; BEHIND = use ; use ; / destroy ; destroy ; / use with nowait ; use ; nowait
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// expect-exit: 1
// expect-stderr: gangway: interop * on device 0: CUDA_ERROR_ILLEGAL_ADDRESS; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 1,2
// only-gpu: other devices have no streams
// threads: 4
// mode: preload
// ours: interop objects
#include "cuda.h"
int main(void)
{
    omp_interop_t object = omp_interop_none;
    int x = 1, code;
#pragma omp interop init(targetsync : object) device(0)
    code = copy_in(object, &x, &x, sizeof x, 0); /* to the host's own */
    CHECK(code == 0 || code == 700);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp interop @CLAUSE@(object) @BEHIND@
#pragma omp taskwait
    }
    return 0;
}
