/* What the program tells the policy of policy.c, and what that tells the program. */
#ifndef POLICY_H
#define POLICY_H
#include "ompx.h"

enum { MOST_REGIONS = 1 << 20, MOST_GPUS = 64 };
struct wishes {
    uint64_t made;             /* so many regions were created, whichever policy was asked for them */
    int of[MOST_REGIONS];      /* the GPU of each */
    uint64_t asked[MOST_GPUS]; /* how many regions each was given; one call at a time */
    uint64_t unknown;          /* regions that the program knows nothing of: 0 */
};
#endif
