// what: the same as barrier_yield.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 4,17
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include <sched.h>
#define SPIN_STEP sched_yield()
#include "spin_barrier_rounds.h"
