// what: a producer that has let others go first goes on although tasks follow each other without an end until it does
// threads: 2,3,8
// env: GANGWAY_WORKERS=1
#include "check.h"
static int stopped, ran;
static void respawns(void)
{
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&stopped, __ATOMIC_RELAXED)) {
#pragma omp task
        respawns();
    }
}
int main(void)
{
    double then = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 8; i++) {
#pragma omp task
            respawns();
        }
        /* Every so many looks at the clock, and each taskyield, lets others go first. */
        for (int i = 0; i < 20000; i++)
            then += omp_get_wtime();
        for (int i = 0; i < 100; i++) {
#pragma omp taskyield
        }
        __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    }
    CHECK(then > 0);
    CHECK(ran >= 8);
    return check_result();
}
