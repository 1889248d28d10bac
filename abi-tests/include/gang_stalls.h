/* The body of gang/stalls_*.c: figure 1(a) of the ICS 2021 paper on a pool of the gangs' size, counted.
 * EXPECT_STALLS says whether the monitor is needed. A busy machine may deschedule a worker for longer than a
 * stall lasts, and a young process may find both its threads on one processor for some milliseconds; so with
 * gangs most turns of one batch have to pass without one. */
#include "check.h"
#include "spin.h"
#include "ompx.h"
#include <unistd.h>
enum { TURNS = 20, BATCHES = 50 };
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
/* How many of a batch of turns pass without a stall. */
static int quiet_turns(void)
{
    int quiet = 0;
    for (int turn = 0; turn < TURNS; turn++)
        quiet += stalls_of_a_turn() == 0;
    return quiet;
}
int main(void)
{
    int most = 0, fewest = TURNS;
    omp_set_max_active_levels(2);
    stalls_of_a_turn(); /* kernel threads start */
    for (int batch = 0; batch < BATCHES && most <= 3 * TURNS / 4; batch++) {
        int quiet = quiet_turns();
        most = quiet > most ? quiet : most;
        fewest = quiet < fewest ? quiet : fewest;
        usleep(2000);
    }
    if (EXPECT_STALLS)
        CHECK(fewest < TURNS);
    else
        CHECK(most > 3 * TURNS / 4);
    return check_result();
}
