/* A team of all workers beside programs that compute: runs until the library says that the number of running
 * workers has changed, and that a thread has moved. Then the other programs end. Fails after half a minute.
 */
#include "foreign_loops.h"
#include <stdio.h>

enum { BARRIERS = 100, STEPS = 50000 };

static void compute(void)
{
#pragma omp parallel
    for (int barrier = 0; barrier < BARRIERS; barrier++) {
        for (volatile int step = 0; step < STEPS; step++)
            ;
#pragma omp barrier
    }
}

static ompx_counters_t counters;

/* Has the number of workers followed the processors? */
static int has_followed(void)
{
    ompx_get_counters(&counters, sizeof counters);
    return counters.moves > 0 && counters.worker_changes > 0 && counters.fewer_workers_us > 0;
}

int main(void)
{
    start_spinners();
    double begin = omp_get_wtime();
    do
        compute();
    while (!has_followed() && omp_get_wtime() < begin + 30);
    end_spinners();
    if (!has_followed())
        fprintf(stderr, "%llu moves, %llu changes, %llu us with fewer workers: one is missing\n",
                (unsigned long long)counters.moves, (unsigned long long)counters.worker_changes,
                (unsigned long long)counters.fewer_workers_us);
    return !has_followed();
}
