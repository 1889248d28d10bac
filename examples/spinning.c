/* Threads that wait for each other in a loop of their own, more of them than cores. No runtime sees such a
   wait: each round ends when the kernel has given every thread its turn, unless the runtime finds the loop
   and switches. Prints milliseconds per meeting.

   Under libgomp it takes milliseconds per meeting here, under Gangway tens of microseconds; GANGWAY_STATS=1
   counts the interrupts. */
#include <omp.h>
#include <stdio.h>

enum { THREADS = 8, MEETINGS = 50 };

static int arrived, round_now;

static void meet(void)
{
    int mine, last;
#pragma omp atomic read seq_cst
    mine = round_now;
#pragma omp atomic capture seq_cst
    last = ++arrived;
    if (last == THREADS) {
#pragma omp atomic write seq_cst
        arrived = 0;
#pragma omp atomic update seq_cst
        round_now++;
        return;
    }
    for (int now = mine; now == mine;) {
#pragma omp atomic read seq_cst
        now = round_now;
    }
}

int main(void)
{
    double start = 0;
    int got = 0;
    omp_set_dynamic(0);
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp single
        {
            start = omp_get_wtime();
            got = omp_get_num_threads();
        }
        if (got == THREADS)
            for (int i = 0; i < MEETINGS; i++)
                meet();
    }
    double ms = (omp_get_wtime() - start) * 1e3;
    printf("%d threads, %d meetings, %.3f ms each\n", got, round_now, ms / MEETINGS);
    return round_now != MEETINGS;
}
