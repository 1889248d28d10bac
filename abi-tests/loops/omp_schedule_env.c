// what: OMP_SCHEDULE with a modifier reaches omp_get_schedule and schedule(runtime)
// env: OMP_SCHEDULE=monotonic:dynamic,6
#include "check.h"
int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind & 7, omp_sched_dynamic);
    CHECK_EQ(chunk, 6);
    /* Kinds that go without a chunk size say 1, but for static. */
    omp_set_schedule(omp_sched_dynamic, 0);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(chunk, 1);
    omp_set_schedule(omp_sched_auto, 1);
    omp_get_schedule(&kind, &chunk);
    CHECK(kind == omp_sched_auto && chunk == 1);
    omp_set_schedule((omp_sched_t)(omp_sched_dynamic | 0x80000000u), 6);
    long sum = 0;
    static int first[600];
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (int i = 0; i < 600; i++) {
        first[i] = omp_get_thread_num();
        sum += i;
    }
    CHECK_EQ(sum, 179700);
    for (int i = 0; i < 600; i++)
        if (first[i] != first[i - i % 6])
            CHECK_EQ(first[i], first[i - i % 6]);
    return check_result();
}
