// what: cancel of dynamic, guided and runtime loops leaves them fit for the next loop
// env: OMP_CANCELLATION=true
// peers: libomp fails, because its stealing schedule asserts when a loop is cancelled
#include "check.h"
#define CANCELLED(schedule_text) \
    do { \
        int iterations = 0; \
        PRAGMA(omp parallel) \
        { \
            PRAGMA(omp for schedule_text) \
            for (int i = 0; i < 100000; i++) { \
                PRAGMA(omp atomic) \
                iterations++; \
                PRAGMA(omp cancel for) \
            } \
        } \
        CHECK(iterations >= 1 && iterations <= omp_get_max_threads()); \
    } while (0)
#define PRAGMA(text) PRAGMA_(text)
#define PRAGMA_(text) _Pragma(#text)
int main(void)
{
    omp_set_schedule(omp_sched_dynamic, 2);
    for (int round = 0; round < 30; round++) {
        CANCELLED(schedule(dynamic));
        CANCELLED(schedule(guided));
        CANCELLED(schedule(runtime));
        long sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += i;
        CHECK_EQ(sum, 4950);
    }
    return check_result();
}
