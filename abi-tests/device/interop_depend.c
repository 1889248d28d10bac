// what: what is put on a stream behind interop use comes behind the tasks that the construct depends on, and before those that depend on it
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// offload: yes
// devices: 1,2
// only-gpu: other devices have no streams
// threads: 4
// mode: preload
// ours: interop objects
#include <unistd.h>
#include "cuda.h"
int main(void)
{
    for (int d = 0; d < omp_get_num_devices(); d++) {
        int x = 0, y = 0, *there = omp_target_alloc(sizeof x, d);
        omp_interop_t object = omp_interop_none;
#pragma omp interop init(targetsync : object) device(d)
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int round = 1; round <= 10; round++) {
#pragma omp task depend(out : x) shared(x) firstprivate(round)
            {
                usleep(1000);
                x = round;
            }
#pragma omp interop use(object) depend(inout : x) nowait
            CHECK_EQ(copy_in(object, there, &x, sizeof x, d), 0);
            CHECK_EQ(copy_out(object, &y, there, sizeof x, d), 0);
#pragma omp interop use(object) depend(inout : x) depend(out : y) nowait
#pragma omp task depend(inout : x, y) shared(x, y) firstprivate(round)
            {
                CHECK_EQ(y, round);
                x = y = -1;
            }
        }
#pragma omp interop destroy(object)
        omp_target_free(there, d);
    }
    return check_result();
}
