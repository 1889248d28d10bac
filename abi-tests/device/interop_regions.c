// what: target regions and what the program puts on a stream, in order, @HOW@
// each: HOW ; NOWAIT = waiting ;  / nowait ; nowait
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// offload: yes
// devices: 0,1,2
// threads: 4
// mode: preload
// ours: interop objects
#include "cuda.h"
enum { COUNT = 100 };
static int v[COUNT], w[COUNT];
int main(void)
{
    EACH_DEVICE(d)
    {
        omp_interop_t object = omp_interop_none;
#pragma omp interop init(targetsync : object) device(d)
#pragma omp target enter data map(alloc : v, w) device(d)
        int *at_v = is_apart(d) ? omp_get_mapped_ptr(v, d) : v, *at_w = is_apart(d) ? omp_get_mapped_ptr(w, d) : w;
#pragma omp parallel num_threads(3)
#pragma omp single
        for (int round = 1; round <= 10; round++) {
#pragma omp target nowait depend(out : v) device(d) firstprivate(round)
            for (int i = 0; i < COUNT; i++)
                v[i] = round * i;
#pragma omp interop use(object) depend(inout : v, w) @NOWAIT@
            CHECK_EQ(copy_within(object, at_w, at_v, sizeof v, d), 0);
#pragma omp interop use(object) depend(inout : v, w) @NOWAIT@
#pragma omp target nowait depend(inout : w) device(d)
            for (int i = 0; i < COUNT; i++)
                w[i]++;
#pragma omp task depend(in : w) firstprivate(round)
            {
#pragma omp target update from(w) device(d)
                for (int i = 0; i < COUNT; i++)
                    CHECK_EQ(w[i], round * i + 1);
            }
        }
#pragma omp interop destroy(object)
#pragma omp target exit data map(delete : v, w) device(d)
    }
    return check_result();
}
