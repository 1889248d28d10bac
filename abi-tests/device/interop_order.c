// what: interop use @FIRST@ and @SECOND@: tasks and what the program puts on a stream, in order
// each: FIRST ; BEFORE = waiting ;  / nowait ; nowait
// each: SECOND ; BEHIND = then waiting ;  / then nowait ; nowait
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// offload: yes
// devices: 0,1,2
// threads: 4
// mode: preload
// ours: interop objects
#include "cuda.h"
enum { COUNT = 64, ROUNDS = 12 };
static void round_of(omp_interop_t object, int d, int *a, int *b, int *there, int round)
{
    /* A task fills a, the stream takes it to the device and back to b, a task looks at b and spoils both. */
#pragma omp task depend(out : a[0]) firstprivate(a, round)
    for (int i = 0; i < COUNT; i++)
        a[i] = round * COUNT + i;
#pragma omp interop use(object) depend(inout : a[0], b[0]) @BEFORE@
    CHECK_EQ(copy_in(object, there, a, COUNT * sizeof *a, d), 0);
    CHECK_EQ(copy_out(object, b, there, COUNT * sizeof *a, d), 0);
#pragma omp interop use(object) depend(inout : a[0], b[0]) @BEHIND@
#pragma omp task depend(inout : b[0]) firstprivate(b, round)
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(b[i], round * COUNT + i);
        b[i] = -1;
    }
#pragma omp task depend(inout : a[0]) firstprivate(a)
    for (int i = 0; i < COUNT; i++)
        a[i] = -2;
}

int main(void)
{
    EACH_DEVICE(d)
    {
        int a[COUNT], b[COUNT], *there = omp_target_alloc(sizeof a, d);
        omp_interop_t object = omp_interop_none;
#pragma omp parallel num_threads(3)
#pragma omp single
        {
#pragma omp interop init(targetsync : object) device(d) depend(out : a[0])
            for (int round = 0; round < ROUNDS; round++)
                round_of(object, d, a, b, there, round);
#pragma omp taskwait
#pragma omp interop destroy(object) depend(inout : a[0])
        }
        for (int i = 0; i < COUNT; i++)
            CHECK(a[i] == -2 && b[i] == -1);
        omp_target_free(there, d);
    }
    return check_result();
}
