// what: omp_set_schedule decides schedule(runtime); static chunks fall on the threads the standard says
#include "check.h"
static int owner[1000];
static void run(int n)
{
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 1000; i++)
        owner[i] += omp_get_thread_num() + 1;
    for (int i = 0; i < 1000; i++)
        if (owner[i] < 1 || owner[i] > n)
            CHECK_EQ(owner[i], 1);
}
int main(void)
{
    int n = omp_get_max_threads();
    omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int k = 0; k < 4; k++)
        for (int chunk = 0; chunk < 12; chunk += 3) {
            omp_sched_t kind;
            int got;
            omp_set_schedule(kinds[k], chunk);
            omp_get_schedule(&kind, &got);
            CHECK_EQ(kind & 7, kinds[k]);
            if (chunk > 0 && k < 3)
                CHECK_EQ(got, chunk);
            memset(owner, 0, sizeof owner);
            run(n);
            if (k == 0 && chunk > 0)
                for (int i = 0; i < 1000; i++)
                    if (owner[i] != i / chunk % n + 1)
                        CHECK_EQ(owner[i], i / chunk % n + 1);
        }
    omp_set_schedule((omp_sched_t)(omp_sched_dynamic | 0x80000000u), 2);
    memset(owner, 0, sizeof owner);
    run(n);
    CHECK(owner[999] > 0);
    return check_result();
}
