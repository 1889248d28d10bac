// what: target nowait on the host does not hold the construct up: the region may wait for what comes after it
// compilers: gcc
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    for (int round = 0; round < 30; round++) {
        int go = 0, order = 0, copy = 5, seen = 0, last = 0;
#pragma omp parallel
#pragma omp single
        {
            omp_event_handle_t event;
#pragma omp task depend(out : order) shared(order) detach(event)
            order = 1;
#pragma omp target enter data map(to : order) depend(inout : order) nowait
#pragma omp target nowait depend(inout : order) map(tofrom : order, seen) firstprivate(copy) thread_limit(3)
            {
                order = order * 10 + 2;
                seen = copy * 10 + (omp_get_thread_limit() == 3);
            }
            copy = 7;
#pragma omp target update from(order) depend(inout : order) nowait
#pragma omp task depend(in : order) shared(order, last)
            last = order;
            omp_fulfill_event(event); // none of the above can have run
#pragma omp taskwait
            CHECK_EQ(order, 12);
            CHECK_EQ(last, 12);
            CHECK_EQ(seen, 51);
            if (n > 1) {
#pragma omp target nowait map(tofrom : go)
                {
                    int now;
                    do {
#pragma omp atomic read
                        now = go;
                    } while (now == 0);
                }
#pragma omp atomic write
                go = 1;
#pragma omp taskwait
            }
        }
    }
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < 300; i++) {
#pragma omp target nowait map(tofrom : sum) firstprivate(i)
            {
#pragma omp atomic
                sum += i;
            }
        }
        CHECK_EQ(sum, 44850);
    }
    return check_result();
}
