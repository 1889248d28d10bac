/* A loop whose iteration `held_up` does not end before all others have run. */
#ifndef HELD_UP_H
#define HELD_UP_H

#include "check.h"
#include <unistd.h>

enum { ITERATIONS = 4000, TURNS = 6 };
static unsigned char ran[ITERATIONS];

static int all_but(int one)
{
    for (int i = 0; i < ITERATIONS; i++)
        if (i != one && !__atomic_load_n(&ran[i], __ATOMIC_RELAXED))
            return 0;
    return 1;
}

/* Up to 10 s. */
static int wait_for_the_others(int one)
{
    for (int look = 0; look < 50000; look++) {
        if (all_but(one))
            return 1;
        usleep(200);
    }
    return 0;
}

/* The iteration that is held up in this turn. */
static int held_up_in(int turn)
{
    memset(ran, 0, sizeof ran);
    return ITERATIONS / 2 + 137 * turn;
}

#endif
