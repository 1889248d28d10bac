/* Judges where threads start: a figure that many things disturb, and nothing but the policy raises above
 * chance. */
#ifndef NEARNESS_H
#define NEARNESS_H
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

/* Asks `share` for a percentage until one is `good`, at most `most` times. Who is awake at the moment may
 * take a thread from a worker that is not, the more the fewer processors there are: where no single try
 * tells, their mean has to be at least `mean`. */
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
/* The number of the kernel thread that runs the caller; `gettid` is the OpenMP thread's own. */
static int worker_thread(void)
{
    char target[64];
    long length = readlink("/proc/thread-self", target, sizeof target - 1);
    target[length < 0 ? 0 : length] = 0;
    const char *slash = strrchr(target, '/');
    return slash ? atoi(slash + 1) : -1;
}
#endif
