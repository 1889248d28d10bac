// what: a barrier of the program whose waiters call into libc, and hold its locks, between looks
// timeout: 90
// threads: 2,8
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define ROUNDS 4
static void step(void)
{
    char text[64];
    int *block = (int *)malloc(sizeof *block);
    *block = snprintf(text, sizeof text, "%d %g", getppid(), 0.1);
    free(block);
}
#define SPIN_STEP step()
#include "spin_barrier_rounds.h"
