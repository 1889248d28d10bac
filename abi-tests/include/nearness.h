/* Judges where threads start: a figure that many things disturb, and nothing but the policy raises above chance. */
#ifndef NEARNESS_H
#define NEARNESS_H
#include "check.h"

/* Asks `share` for a percentage until one is `good`, at most `most` times. Who is awake at the moment may take a thread from a worker that is not, the
 * more the fewer processors there are: where no single try tells, their mean has to be at least `mean`. */
static void check_nearness(int (*share)(void), int most, int good, int mean)
{
    int best = 0, total = 0, tries = 0;
    while (tries < most && best < good) {
        int now = share();
        if (getenv("SHOW_HITS"))
            fprintf(stderr, "%d %%\n", now);
        total += now;
        tries++;
        if (now > best)
            best = now;
    }
    CHECK(best >= good || total >= mean * tries);
}
#endif
