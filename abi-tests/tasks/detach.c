// what: detach with omp_fulfill_event: from the task, from another task, before the body ends, with depend
// skip: clang<19 needs a later omp.h
#include "check.h"
int main(void)
{
    for (int round = 0; round < 20; round++) {
        int done = 0, after = 0, gate = 0, x = 0;
#pragma omp parallel
#pragma omp single
        {
            omp_event_handle_t inside, outside, chained;
#pragma omp task detach(inside) shared(done)
            {
#pragma omp atomic
                done++;
                omp_fulfill_event(inside);
            }
#pragma omp taskwait
            CHECK_EQ(done, 1);
#pragma omp task detach(outside) shared(done)
            {
#pragma omp atomic
                done++;
            }
#pragma omp task firstprivate(outside) shared(done)
            {
#pragma omp atomic
                done++;
                omp_fulfill_event(outside);
            }
#pragma omp taskwait
            CHECK_EQ(done, 3);
#pragma omp task detach(chained) depend(out : x) shared(x)
            x = 1;
#pragma omp task depend(in : x) shared(x, after, gate)
            {
                CHECK_EQ(x, 1);
                CHECK_EQ(gate, 1);
                after = 1;
            }
            for (int i = 0; i < 10; i++) {
#pragma omp taskyield
            }
            gate = 1;
            omp_fulfill_event(chained);
        }
        CHECK_EQ(after, 1);
    }
    return check_result();
}
