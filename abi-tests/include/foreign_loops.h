/* Programs that compute beside this one, and how often threads of this one have moved to another worker. */
#ifndef FOREIGN_LOOPS_H
#define FOREIGN_LOOPS_H
#include "ompx.h"
#include <omp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SPINNERS = 64 };

static pid_t spinners[MOST_SPINNERS];
static int started;

#pragma weak ompx_get_counters

/* Other runtimes have no such counter: -1. */
static long moves(void)
{
    ompx_counters_t counters = {0};
    if (!ompx_get_counters)
        return -1;
    ompx_get_counters(&counters, sizeof counters);
    return (long)counters.moves;
}

static void start_spinners(void)
{
    for (started = 0; started < omp_get_num_procs() && started < MOST_SPINNERS; started++) {
        spinners[started] = fork();
        if (spinners[started] == 0)
            for (;;)
                ;
    }
}

static void end_spinners(void)
{
    while (started-- > 0) {
        kill(spinners[started], SIGKILL);
        waitpid(spinners[started], NULL, 0);
    }
}
#endif
