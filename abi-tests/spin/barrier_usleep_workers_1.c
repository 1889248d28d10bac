// what: the same as barrier_usleep.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 4,17
// compilers: gcc, clang>=19
// mode: preload
// timeout: 90
// ours: the variables are of this library alone
#include <unistd.h>
#define ROUNDS 8
#define SPIN_STEP usleep(50)
#include "spin_barrier_rounds.h"
