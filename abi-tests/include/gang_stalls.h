/* The body of gang/stalls_*.c: figure 1(a) of the ICS 2021 paper on a pool of the gangs' size, counted. EXPECT_STALLS says
 * whether the monitor is needed. A busy machine may deschedule a worker for longer than a stall lasts, so with gangs most
 * turns have to pass without one, not all. */
#include "check.h"
#include "spin.h"
#include "ompx.h"
enum { TURNS = 20 };
static void gang(void)
{
    struct spin_barrier barrier = {0, 0};
#pragma omp parallel num_threads(2) shared(barrier)
    for (int round = 0; round < 3; round++)
        spin_wait(&barrier, 2);
}
static unsigned long long stalls_of_a_turn(void)
{
    ompx_counters_t before, after;
    ompx_get_counters(&before, sizeof before);
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 2; i++) {
#pragma omp task
        gang();
    }
    ompx_get_counters(&after, sizeof after);
    return after.stalls - before.stalls;
}
int main(void)
{
    int quiet = 0, rescued = 0;
    omp_set_max_active_levels(2);
    stalls_of_a_turn(); /* kernel threads start */
    for (int turn = 0; turn < TURNS; turn++) {
        if (stalls_of_a_turn() == 0)
            quiet++;
        else
            rescued++;
    }
    if (EXPECT_STALLS)
        CHECK(rescued > 0);
    else
        CHECK(quiet > 3 * TURNS / 4);
    return check_result();
}
