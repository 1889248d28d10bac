// what: a stream that is held up: who waits for it, who goes on: @WHAT@
// each: WHAT ; WAIT = use with nowait goes on, taskwait waits ; _Pragma("omp interop use(object) nowait") / use with dependences and nowait ; _Pragma("omp interop use(object) depend(inout : x) nowait") / destroy with nowait ; _Pragma("omp interop destroy(object) nowait")
// each: WHERE ; OPEN = in a team ; _Pragma("omp parallel num_threads(2)") _Pragma("omp single") / alone ;
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// offload: yes
// devices: 1,2
// only-gpu: what holds a stream up is a call of the driver's
// threads: 1,4
// mode: preload
// ours: interop objects
#include "cuda.h"
int main(void)
{
    @OPEN@
    for (int d = 0; d < omp_get_num_devices(); d++) {
        omp_interop_t object = omp_interop_none;
        int gate = 0, over = 0, x = 0;
        (void)x;
#pragma omp interop init(targetsync : object) device(d)
        foreign_call(object, hold, &gate);
        @WAIT@
        /* Here already. Whoever waits for the tasks waits for the stream. */
        CHECK_EQ(gate, 0);
#pragma omp task shared(gate, over)
        {
            over = 1;
            __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
        }
#pragma omp task depend(inout : x) shared(over, x)
        CHECK(!strstr("@WHAT@", "dependences") || over);
#pragma omp taskwait
        CHECK_EQ(over, 1);
#pragma omp interop destroy(object)
    }
    return check_result();
}
