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

static int has_moved(void)
{
    ompx_counters_t counters = {0};
    ompx_get_counters(&counters, sizeof counters);
    return counters.moves > 0 && counters.worker_changes > 0 && counters.fewer_workers_us > 0;
}

int main(void)
{
    start_spinners();
    double begin = omp_get_wtime();
    do
        compute();
    while (!has_moved() && omp_get_wtime() < begin + 30);
    end_spinners();
    if (!has_moved())
        fprintf(stderr, "all workers have run all the time\n");
    return !has_moved();
}
