// what: the same as barrier_libc.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2
// threads: 4,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 90
// ours: the variables are of this library alone
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
