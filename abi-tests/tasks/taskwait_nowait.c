// what: taskwait depend nowait does not wait, and orders the tasks before and after it
// compilers: clang>=19
// peers: libomp fails, because it waits all the same
// flags: clang -fopenmp-version=60
#include "check.h"
int main(void)
{
    for (int round = 0; round < 50; round++) {
        int x = 0, y = 0, z = 0, go = 0;
#pragma omp parallel
#pragma omp single
        {
            omp_event_handle_t event;
#pragma omp task depend(out : x) shared(x) detach(event)
            x = 1;
#pragma omp task depend(out : y) shared(y)
            y = 2;
#pragma omp taskwait depend(in : x, y) depend(out : z) nowait
            go = 1; // reached although x's task cannot complete yet
#pragma omp task depend(in : z) shared(x, y, z)
            z = x + y;
            omp_fulfill_event(event);
        }
        CHECK_EQ(go, 1);
        CHECK_EQ(z, 3);
    }
    return check_result();
}
